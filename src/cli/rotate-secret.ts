import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { readSecretKeys, secretKeyPath, writeSecretKeys } from '../auth/secret-key.ts'
import { sealedSigningKeys } from '../auth/signing-keys.ts'
import { writeAudit } from '../db/audit.ts'
import { readSealingKey, writeSealingKey } from '../db/instance.ts'
import { listKnownKeys } from '../db/nodes.ts'
import { type Resealed, resealColumn } from '../db/reseal.ts'
import { sealedClientStates } from '../directory/notifications/subscription.ts'
import { sealedSignIns } from '../issuer/issuer-secret.ts'
import { countOf } from '../kernel/count-of.ts'
import { nameKey, secretKeyBytes } from '../kernel/secret-box.ts'
import { sealedBindings } from '../masking/binding/bound-catalog.ts'
import { listUnenforced, requestChecks } from '../masking/states/list-states.ts'
import type { Settings } from '../settings.ts'
import { exitCodes } from './exit-codes.ts'
import { type OperatorAccess, openOperatorAccess } from './operator.ts'
import { currentSettings, report, warn } from './surroundings.ts'

const columns = [sealedSigningKeys, sealedSignIns, sealedBindings, sealedClientStates]
const pollMs = 500

interface Rotation {
  readonly access: OperatorAccess
  readonly file: string
  /** The key that goes, and the one that comes. */
  readonly old: Buffer
  readonly fresh: Buffer
  readonly freshId: string
  readonly waitMs: number
}

/**
 * Replaces the secret key, step by step; what was done is seen from the key file and the store, so the command can be
 * killed and run again. Returns 4 when a step waits for a node or for the operator.
 */
export async function rotateSecret(
  values: { readonly json?: boolean | undefined },
  waitMs: number,
): Promise<number> {
  const settings = currentSettings()
  await using access = await openOperatorAccess(settings)
  const rotation = { access, waitMs, ...(await begin(access, settings)) }
  const missing = await run(rotation)
  const { freshId, file } = rotation
  const state = { key: freshId, file, done: missing === undefined }
  if (missing !== undefined) {
    report(values, { ...state, waitsFor: missing }, `${missing}\nThen run the same command again.\n`)
    return exitCodes.unsettled
  }
  report(
    values,
    state,
    `The secret key is ${freshId}. Copy ${file} to the machines of other nodes: the old key is not needed there any more.\n`,
  )
  return exitCodes.done
}

/** Two keys are in the file while a rotation is under way; else it begins with a new one. */
async function begin({ database }: OperatorAccess, { dataDir, secretKeyFile }: Settings) {
  const file = secretKeyPath(dataDir, secretKeyFile)
  const [old = Buffer.alloc(0), known] = readSecretKeys(dataDir, secretKeyFile)
  const fresh = known ?? randomBytes(secretKeyBytes)
  if (!known) {
    // The old key seals until every node knows the new one, wherever the file is copied first.
    if ((await readSealingKey(database.sql)) === undefined) await writeSealingKey(database.sql, nameKey(old))
    writeSecretKeys(file, [old, fresh])
  }
  return { file, old, fresh, freshId: nameKey(fresh) }
}

/** Returns the step that is missing; undefined: the old key is gone. */
async function run(rotation: Rotation): Promise<string | undefined> {
  const { access, file, old, fresh, freshId } = rotation
  const { database, secrets, tenantId } = access
  const ignorant = await waitFor(rotation, async () =>
    namesOf(await listKnownKeys(database.sql), ({ keyIds }) => !keyIds.includes(freshId)),
  )
  if (ignorant) return `Copy ${file} to the machines of nodes that do not know the new key: ${ignorant}.`
  await writeSealingKey(database.sql, freshId)
  secrets.use([old, fresh], freshId)
  const slow = await waitFor(rotation, async () =>
    namesOf(await listKnownKeys(database.sql), ({ sealsWith }) => sealsWith !== freshId),
  )
  if (slow) return `Nodes still seal with the old key: ${slow}.`
  const writers = await waitFor(rotation, () => findWriters(access))
  if (writers) return `Transactions from before the new key are still open: ${writers}.`
  const { resealed, lost } = await resealAll(access)
  if (lost > 0)
    warn(`${countOf(lost, 'value')} of keys that are lost cannot be opened, and stay as they are.\n`)
  const unchecked = (await waitForChecks(rotation)) || (await waitForChecks(rotation))
  if (unchecked) return `Databases have not been enforced under the new key: ${unchecked}.`
  const actor = { kind: 'operator', tenantId, objectId: '', applicationId: '' }
  const after = { from: nameKey(old), to: freshId, resealed }
  await writeAudit(database.sql, actor, 'masquerade keys', { action: 'rotateSecret', target: '/keys', after })
  // Last: with one key in the file the next run begins another rotation.
  writeSecretKeys(file, [fresh])
  return undefined
}

/**
 * Waits until every bound database was enforced since now, after every node seals with the new key. It takes two of them: a
 * look that began under the old key may end after the first, and marks of that key must not outlive it.
 */
async function waitForChecks(rotation: Rotation): Promise<string> {
  const { sql } = rotation.access.database
  const since = await requestChecks(sql)
  return waitFor(rotation, async () => (await listUnenforced(sql, since)).join(', '))
}

async function resealAll({ database, secrets }: OperatorAccess): Promise<Resealed> {
  let total = { resealed: 0, lost: 0 }
  for (const column of columns) {
    const { resealed, lost } = await resealColumn(database, secrets, column)
    total = { resealed: total.resealed + resealed, lost: total.lost + lost }
  }
  return total
}

/** A transaction that began before every node sealed with the new key may still store a value of the old one. */
async function findWriters({ database }: OperatorAccess): Promise<string> {
  const rows = await database.sql<{ pid: number }[]>`
    select pid from pg_catalog.pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and application_name like 'masquerade%'
      and xact_start < now() - interval '1 second' and backend_xid is not null`
  return rows.map(({ pid }) => `pid ${pid}`).join(', ')
}

function namesOf<T extends { readonly hostName: string }>(
  nodes: readonly T[],
  isMeant: (node: T) => boolean,
): string {
  return [...new Set(nodes.filter(isMeant).map(({ hostName }) => hostName))].join(', ')
}

/** Asks until the answer is empty, or time is up. */
async function waitFor({ waitMs }: Rotation, ask: () => Promise<string>): Promise<string> {
  for (const end = Date.now() + waitMs; ; await pause(pollMs)) {
    const answer = await ask()
    if (answer === '' || Date.now() >= end) return answer
  }
}
