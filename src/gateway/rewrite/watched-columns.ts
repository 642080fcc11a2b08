import type { WatchedColumn, WatchedRelation } from '../ports.ts'

const none: readonly WatchedColumn[] = []
const byRelation = new WeakMap<WatchedRelation, ReadonlyMap<string, readonly WatchedColumn[]>>()

/** The masked columns behind an attribute of a relation; without an attribute, all of them. */
export function findMaskedColumns(
  relation: WatchedRelation,
  attribute: string | undefined,
): readonly WatchedColumn[] {
  if (attribute === undefined) return relation.masked
  const known = byRelation.get(relation) ?? Map.groupBy(relation.masked, (column) => column.attribute)
  byRelation.set(relation, known)
  return known.get(attribute) ?? none
}
