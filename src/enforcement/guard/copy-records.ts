import type { Tx } from '../../db/transaction.ts'
import type { Outcome } from '../in-turn.ts'
import { recordsRestored } from '../notes.ts'
import type { Note } from '../plan.ts'
import { type KeptRecords, readPlace } from './kept-records.ts'
import type { StoredGuard } from './stored-grants.ts'

export interface PreparedCopy {
  readonly notes: readonly Note[]
  /** Runs after the commit. A node that dies before it leaves a copy of another version: the next turn makes a whole one. */
  write(): Promise<void>
}

/** So long the state tells that the records were dropped and written back. */
const toldMs = 24 * 60 * 60 * 1000

/**
 * Reads, at the end of a turn, the records of the database for the service's own copy: those that the turn wrote where the
 * copy is of `before`, the version from before it, and all of them otherwise.
 */
export async function prepareCopy(
  tx: Tx,
  kept: KeptRecords,
  before: string,
  { snapshot: { guard, guards }, desired, record: version }: Outcome,
): Promise<PreparedCopy | undefined> {
  // Records of an earlier release, which nothing has brought up to date yet.
  if (guard.isThere && !guard.isCurrent && desired.masked.length === 0) return undefined
  const place = await readPlace(tx)
  const known = await kept.readCopy(place)
  const isRestored = !guard.isThere && guards.length > 0 && known !== null
  const restoredAt = isRestored ? new Date() : (known?.restoredAt ?? null)
  const isRecent = restoredAt !== null && Date.now() - restoredAt.getTime() < toldMs
  const notes = isRecent ? [recordsRestored(guard.schema, restoredAt)] : []
  if (known?.version === version) return { notes, write: async () => {} }
  const isStep = guard.isThere && known?.version === before
  const relation = tx`${tx(guard.schema)}.relation`
  const records = await tx<StoredGuard[]>`
    select oid::int8 as oid, grants, column_grants as "columnGrants", rights, pins, lent, hides_all as "hidesAll", twin,
      acl_order as "order"
    from ${relation} ${isStep ? tx`where updated_at = now()` : tx``}`
  const all = await tx<{ oid: number }[]>`select oid::int8 as oid from ${relation}`
  const oids = all.map(({ oid }) => oid)
  return { notes, write: () => kept.copy({ place, version, records, oids, isRestored }) }
}
