import type { WatchedColumn, WatchedRelation } from '../ports.ts'

/** True when an audit that takes `other` for `one` misses nothing: a twin shows no more than its table. */
export function covers(one: WatchedRelation, other: WatchedRelation): boolean {
  const isKnown =
    one.masked.length === 0 ||
    (one.attributes.length === other.attributes.length &&
      one.attributes.every((name, at) => name === other.attributes[at]))
  return (
    isKnown &&
    other.shows.every((column) => one.shows.some((known) => isSame(known, column))) &&
    other.masked.every(
      (column) =>
        one.shows.some((known) => isSame(known, column)) ||
        one.masked.some((known) => isSame(known, column) && known.attribute === column.attribute),
    )
  )
}

function isSame(known: WatchedColumn, column: WatchedColumn): boolean {
  return known.column === column.column && (known.isRaw || !column.isRaw)
}
