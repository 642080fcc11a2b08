import type { WatchedColumn, WatchedRelation } from '../../contracts/role-masks.ts'

/** True when an audit that takes `other` for `one` misses nothing: a twin shows no more than its table. */
export function covers(
  one: WatchedRelation,
  other: WatchedRelation,
  rows: readonly (readonly string[])[],
): boolean {
  const isKnown =
    one.masked.length === 0 ||
    (one.attributes.length === other.attributes.length &&
      one.attributes.every((name, at) => name === other.attributes[at]))
  return (
    isKnown &&
    includes(one.shows, other.shows) &&
    includes(one.rules, other.rules) &&
    includes(one.policies, other.policies) &&
    (one.mayShowMore === true || other.mayShowMore !== true) &&
    (other.fails ?? []).every((row) => one.fails?.includes(row)) &&
    failsAlike(one, other, rows) &&
    other.masked.every(
      (column) =>
        one.shows.some((known) => isSame(known, column)) ||
        one.masked.some((known) => isSame(known, column) && known.attribute === column.attribute),
    )
  )
}

/** An error of a change of rows of a table has its own columns. */
function failsAlike(
  one: WatchedRelation,
  other: WatchedRelation,
  rows: readonly (readonly string[])[],
): boolean {
  const known = new Set([...(one.fails ?? []), ...(one.failsOnChange ?? [])])
  const missed = (other.failsOnChange ?? []).filter((row) => !known.has(row))
  if (missed.length === 0) return true
  const own = new Set(one.masked.flatMap(({ column, isRaw }) => (isRaw ? [column] : [])))
  return missed.every((row) => rows[row]?.every((column) => own.has(column)))
}

function includes(one: readonly WatchedColumn[] = [], other: readonly WatchedColumn[] = []): boolean {
  return other.every((column) => one.some((known) => isSame(known, column)))
}

function isSame(known: WatchedColumn, column: WatchedColumn): boolean {
  return known.column === column.column && (isShownRaw(known) || !isShownRaw(column))
}

/** As the audit counts a read that was not moved: without the privilege PostgreSQL denies it. */
export function isShownRaw({ isRaw, mayBecomeRaw }: WatchedColumn): boolean {
  return isRaw || mayBecomeRaw === true
}
