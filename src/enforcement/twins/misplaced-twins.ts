import { quoteQualified } from '../../db/quote.ts'
import type { Guard, ObservedTwin, Snapshot } from '../catalog.ts'
import { isTwinOwner, type TwinOwners } from './assign-twin-owners.ts'

/** A twin by whose owner a role would read that does not own the relation any more, with the record of the relation. */
export interface Misplaced {
  readonly guard: Guard
  readonly twin: ObservedTwin
}

/**
 * Tables that the binding cannot act for any more, as they went to another role, keep their twins: the twin is ours, and would run row
 * policies of the new owner with the rights to read all tables of the former one. So would a twin whose policies read a table of others.
 */
export function listMisplaced(snapshot: Snapshot, twinOwners: TwinOwners): Misplaced[] {
  const relations = new Map(snapshot.relations.map((relation) => [relation.oid, relation]))
  const twins = new Map(snapshot.twins.map((twin) => [quoteQualified(twin.schema, twin.name), twin]))
  return snapshot.guards.flatMap((guard) => {
    const relation = relations.get(guard.oid)
    const twin = guard.twin && twins.get(quoteQualified(guard.twin.schema, guard.twin.name))
    if (relation?.managed !== 'not' || !twin || !isTwinOwner(snapshot, twin.owner)) return []
    const isServed = twinOwners.of(relation)?.name === twin.owner && relation.strangers.length === 0
    return isServed ? [] : [{ guard, twin }]
  })
}
