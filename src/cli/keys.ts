import type { SigningKey } from '../auth/signing-keys.ts'
import { writeAudit } from '../db/audit.ts'
import { commandOf, refuseUse, type ValuesOf } from './command.ts'
import { type OperatorAccess, openOperatorAccess } from './operator.ts'
import { currentSettings, report } from './surroundings.ts'

const options = { now: { type: 'boolean' }, json: { type: 'boolean' } } as const

export const keys = commandOf({
  name: 'keys',
  summary: 'List or rotate the keys that sign tokens',
  help: `
Usage: masquerade keys list
       masquerade keys rotate [--now]

The service rotates its keys by itself (MASQUERADE_KEY_ROTATION_DAYS). 'rotate' does it out of turn: a new key is
published at once and signs after ten minutes, when every node and client has had the time to fetch it; with --now it
signs at once. Tokens signed with the old key stay good until they expire. It works for the user who can read the data
directory, while the database runs.`,
  options,
  verbs: {
    list: { run: (values) => perform(values, false) },
    rotate: { run: (values) => perform(values, true) },
  },
})

async function perform(values: ValuesOf<typeof options>, isRotation: boolean): Promise<number> {
  if (values.now && !isRotation) return refuseUse('keys', '--now is for rotate')
  await using access = await openOperatorAccess(currentSettings())
  if (isRotation) await rotate(access, values.now ?? false)
  const { kid: current } = access.signingKeys.current()
  const found = access.signingKeys.list()
  const shown = found.map((key) => ({ ...key, signsNow: key.kid === current }))
  const lines = shown.map((key) => `${key.kid}  ${key.signsNow ? 'signs now' : describeTimes(key)}\n`)
  const data = shown.map(({ kid, activeFrom, expiresAt, signsNow }) => ({
    kid,
    activeFrom,
    expiresAt,
    signsNow,
  }))
  report(values, data, lines.join(''))
  return 0
}

async function rotate({ signingKeys, database, tenantId }: OperatorAccess, now: boolean): Promise<void> {
  const { kid, activeFrom } = await signingKeys.rotate(now ? 0 : undefined)
  const actor = { kind: 'operator', tenantId, objectId: '', applicationId: '' }
  const after = { kid, activeFrom: activeFrom.toISOString() }
  await writeAudit(database.sql, actor, 'masquerade keys', { action: 'rotateKeys', target: '/keys', after })
}

function describeTimes({ activeFrom, expiresAt }: SigningKey): string {
  if (activeFrom.getTime() > Date.now()) return `signs from ${activeFrom.toISOString()}`
  return `verifies until ${expiresAt?.toISOString() ?? 'the next rotation'}`
}
