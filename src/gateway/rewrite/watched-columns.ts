import type { WatchedColumn, WatchedRelation } from '../../contracts/role-masks.ts'

const none: readonly WatchedColumn[] = []
const byRelation = new WeakMap<WatchedRelation, ReadonlyMap<string, readonly WatchedColumn[]>>()

/** The masked columns behind an attribute of a relation; all of them without one, or behind one that it is not known to have. */
export function findMaskedColumns(
  relation: WatchedRelation,
  attribute: string | undefined,
): readonly WatchedColumn[] {
  if (attribute === undefined) return relation.masked
  const known = byRelation.get(relation) ?? groupByAttribute(relation)
  byRelation.set(relation, known)
  return known.get(attribute) ?? relation.masked
}

function groupByAttribute({ attributes, masked }: WatchedRelation) {
  const grouped = Map.groupBy(masked, ({ attribute }) => attribute)
  return new Map([...attributes, ...grouped.keys()].map((name) => [name, grouped.get(name) ?? none]))
}
