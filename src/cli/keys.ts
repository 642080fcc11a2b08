import type { SigningKey, SigningKeys } from '../auth/signing-keys.ts'
import { writeAudit } from '../db/audit.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { readSettings } from '../settings.ts'
import { type Command, readArgs } from './command.ts'
import { type OperatorAccess, openOperatorAccess } from './operator.ts'

export const keys: Command = {
  name: 'keys',
  summary: 'List or rotate the keys that sign tokens',
  help: `
Usage: masquerade keys list
       masquerade keys rotate [--now]

The service rotates its keys by itself (MASQUERADE_KEY_ROTATION_DAYS). 'rotate' does it out of turn: a new key is
published at once and signs after ten minutes, when every node and client has had the time to fetch it; with --now it
signs at once. Tokens signed with the old key stay good until they expire. It works for the user who can read the data
directory, while the database runs.`,
  async run(args) {
    const { values, positionals } = readArgs('keys', args, {
      options: { now: { type: 'boolean' } },
      allowPositionals: true,
    })
    const [action, ...more] = positionals
    if ((action !== 'list' && action !== 'rotate') || more.length > 0 || (values.now && action === 'list'))
      throw new OperatorError("Say 'list' or 'rotate'. See 'masquerade help keys'.", { exitCode: 2 })
    await using access = await openOperatorAccess(readSettings(process.env))
    if (action === 'rotate') await rotate(access, values.now ?? false)
    process.stdout.write(`${describeKeys(access.signingKeys)}\n`)
    return 0
  },
}

async function rotate({ signingKeys, database, tenantId }: OperatorAccess, now: boolean): Promise<void> {
  const { kid, activeFrom } = await signingKeys.rotate(now ? 0 : undefined)
  const actor = { kind: 'operator', tenantId, objectId: '', applicationId: '' }
  const after = { kid, activeFrom: activeFrom.toISOString() }
  await writeAudit(database.sql, actor, 'masquerade keys', { action: 'rotateKeys', target: '/keys', after })
}

function describeKeys(signingKeys: SigningKeys): string {
  const { kid: current } = signingKeys.current()
  return signingKeys
    .list()
    .map((key) => `${key.kid}  ${key.kid === current ? 'signs now' : describeTimes(key)}`)
    .join('\n')
}

function describeTimes({ activeFrom, expiresAt }: SigningKey): string {
  if (activeFrom.getTime() > Date.now()) return `signs from ${activeFrom.toISOString()}`
  return `verifies until ${expiresAt?.toISOString() ?? 'the next rotation'}`
}
