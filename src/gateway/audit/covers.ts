import type { WatchedColumn, WatchedRelation } from '../ports.ts'

/** True when an audit that takes `other` for `one` misses nothing: a twin shows no more than its table. */
export function covers(one: WatchedRelation, other: WatchedRelation): boolean {
  const isKnown =
    one.masked.length === 0 ||
    (one.attributes.length === other.attributes.length &&
      one.attributes.every((name, at) => name === other.attributes[at]))
  return (
    isKnown &&
    includes(one.shows, other.shows) &&
    includes(one.rules, other.rules) &&
    includes(one.policies, other.policies) &&
    // An error of a write to a table has its own columns.
    includes([...one.masked, ...(one.fails ?? [])], other.fails) &&
    other.masked.every(
      (column) =>
        one.shows.some((known) => isSame(known, column)) ||
        one.masked.some((known) => isSame(known, column) && known.attribute === column.attribute),
    )
  )
}

function includes(one: readonly WatchedColumn[] = [], other: readonly WatchedColumn[] = []): boolean {
  return other.every((column) => one.some((known) => isSame(known, column)))
}

function isSame(known: WatchedColumn, column: WatchedColumn): boolean {
  return known.column === column.column && (known.isRaw || !column.isRaw)
}
