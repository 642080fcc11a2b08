import type { Tx } from '../../db/transaction.ts'
import type { Snapshot } from '../catalog.ts'
import { recordsRestored } from '../notes.ts'
import type { Desired, Note } from '../plan.ts'
import type { KeptRecords } from './kept-records.ts'
import { readRecordVersion } from './read-record.ts'
import type { StoredGuard } from './stored-grants.ts'

/** The service's own copy of the records of a place, asked for while the turn goes on. */
export interface CopyPlace {
  readonly kept: KeptRecords
  readonly place: string
  readonly known: ReturnType<KeptRecords['readCopy']>
}

export function openCopy(kept: KeptRecords, place: string): CopyPlace {
  const known = kept.readCopy(place)
  known.catch(() => {})
  return { kept, place, known }
}

export interface PreparedCopy {
  /** The version of the record in the database. */
  readonly version: string
  readonly notes: readonly Note[]
  /** Runs after the commit. A node that dies before it leaves a copy of another version: the next turn makes a whole one. */
  write(): Promise<void>
}

/** So long the state tells that the records were dropped and written back. */
const toldMs = 24 * 60 * 60 * 1000

/**
 * Reads, at the end of a turn, the records of the database for the service's own copy: those that the turn wrote where the
 * copy is of `before`, the version from before it, and all of them otherwise. `isChanged`: the turn wrote any.
 */
export async function prepareCopy(
  tx: Tx,
  { kept, place, known: asked }: CopyPlace,
  before: string,
  { snapshot: { guard, guards }, desired }: { readonly snapshot: Snapshot; readonly desired: Desired },
  isChanged: boolean,
): Promise<PreparedCopy | undefined> {
  // Records of an earlier release, which nothing has brought up to date yet.
  if (guard.isThere && !guard.isCurrent && desired.masked.length === 0) return undefined
  const known = await asked
  const isRestored = !guard.isThere && guards.length > 0 && known !== null
  const restoredAt = isRestored ? new Date() : (known?.restoredAt ?? null)
  const isRecent = restoredAt !== null && Date.now() - restoredAt.getTime() < toldMs
  const notes = isRecent ? [recordsRestored(guard.schema, restoredAt)] : []
  if (!isChanged && known?.version === before) return { version: before, notes, write: async () => {} }
  const isStep = guard.isThere && known?.version === before
  const relation = tx`${tx(guard.schema)}.relation`
  const [version, records, all] = await Promise.all([
    readRecordVersion(tx, guard.schema),
    tx<StoredGuard[]>`
      select oid::int8 as oid, grants, column_grants as "columnGrants", rights, pins, lent, hides_all as "hidesAll", twin,
        acl_order as "order"
      from ${relation} ${isStep ? tx`where updated_at = now()` : tx``}`,
    tx<{ oid: number }[]>`select oid::int8 as oid from ${relation}`,
  ])
  const oids = all.map(({ oid }) => oid)
  return { version, notes, write: () => kept.copy({ place, version, records, oids, isRestored }) }
}
