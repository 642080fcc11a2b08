import type { SigningKey } from '../auth/signing-keys.ts'
import { writeAudit } from '../db/audit.ts'
import { commandOf, refuseUse, type ValuesOf } from './command.ts'
import { type OperatorAccess, openOperatorAccess } from './operator.ts'
import { rotateSecret } from './rotate-secret.ts'
import { currentSettings, report } from './surroundings.ts'

const options = {
  now: { type: 'boolean' },
  'wait-seconds': { type: 'string' },
  json: { type: 'boolean' },
} as const

export const keys = commandOf({
  name: 'keys',
  summary: 'List or rotate the keys that sign tokens, or replace the secret key',
  help: `
Usage: masquerade keys list
       masquerade keys rotate [--now]
       masquerade keys rotate-secret [--wait-seconds N]

The service rotates its keys by itself (MASQUERADE_KEY_ROTATION_DAYS). 'rotate' does it out of turn: a new key is
published at once and signs after ten minutes, when every node and client has had the time to fetch it; with --now it
signs at once. Tokens signed with the old key stay good until they expire. It works for the user who can read the data
directory, while the database runs.

'rotate-secret' replaces the secret key, which seals secrets in the database, while the nodes run. It adds a new key to the
key file of this machine and waits until every node knows it: copy the file to the other machines. From then on the new key
seals, and what the old one sealed is sealed anew. When every bound database has been checked under the new key, the old
one is removed from the file. Each step waits for N seconds at most (60) and then says what is missing, with exit code 4; the
same command goes on from there, also after it was killed.`,
  options,
  verbs: {
    list: { run: (values) => perform(values, false) },
    rotate: { run: (values) => perform(values, true) },
    'rotate-secret': { run: rotateSecretKey },
  },
})

async function rotateSecretKey(values: ValuesOf<typeof options>): Promise<number> {
  if (values.now) return refuseUse('keys', '--now is for rotate')
  const seconds = Number(values['wait-seconds'] ?? 60)
  if (!Number.isInteger(seconds) || seconds < 0)
    return refuseUse('keys', '--wait-seconds takes a whole number')
  return rotateSecret(values, seconds * 1000)
}

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
