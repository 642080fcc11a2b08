import type { WatchedColumn } from '../../contracts/role-masks.ts'
import type { Effort } from '../../sql/effort.ts'
import type { ColumnOrigin, References, RelationReference } from '../../sql/references.ts'
import { traceAssignment } from '../../sql/values.ts'
import { findWatched, isMoved, isTemporary, type Names } from './names.ts'
import type { StatementRefusal } from './text-analysis.ts'
import { findMaskedColumns } from './watched-columns.ts'

const insufficientPrivilege = '42501'

/**
 * A masked role reads masks, and must not store them: in the masked column they would overwrite the data, in other tables
 * they would pass for it. Undefined: the statement stores nothing that it read from a masked column.
 */
export function refuseMaskWrite(
  { assignments, effort }: References,
  names: Names,
): StatementRefusal | undefined {
  if (names.masks.relations.length === 0) return undefined
  for (const assignment of assignments) {
    const { relation } = assignment
    // It ends with the session, and no other session reads it.
    if (isTemporary(names, relation.range)) continue
    for (const { column, at, origins } of traceAssignment(assignment, effort)) {
      const masked = findMaskedOrigin(origins, names, effort)
      if (masked === undefined) continue
      const overwrites = isMaskedTarget(relation, column, at, names)
      if (names.allowsCopies && !overwrites) continue
      return describe(masked, relation, overwrites)
    }
  }
  return undefined
}

/** A column whose values are masks for this role. What it may not read at all, PostgreSQL denies. */
function findMaskedOrigin(
  origins: readonly ColumnOrigin[],
  names: Names,
  effort: Effort,
): string | undefined {
  for (const { relation, column } of origins) {
    const watched = relation.use === 'read' ? findWatched(names, relation.range) : undefined
    if (!watched) continue
    const moves = isMoved(names, watched, relation.range.inh === true)
    const isMask = ({ isRaw }: WatchedColumn) => moves || !isRaw
    const own = findMaskedColumns(watched, column)
    effort.scan(own.length + watched.shows.length)
    // It is not known which column of a view shows which of its tables.
    const found = own.find(isMask) ?? watched.shows.find(isMask)
    if (found) return found.column
  }
  return undefined
}

/** Where it is not known which column the value goes to, it may be a masked one. */
function isMaskedTarget(
  { range }: RelationReference,
  column: string | undefined,
  at: number | undefined,
  names: Names,
): boolean {
  const watched = findWatched(names, range)
  if (!watched) return false
  const name = column ?? (at === undefined ? undefined : watched.attributes[at])
  return watched.shows.length > 0 || findMaskedColumns(watched, name).length > 0
}

function describe(column: string, { range }: RelationReference, overwrites: boolean): StatementRefusal {
  const target = [range.schemaname, range.relname].filter((part) => part !== undefined).join('.')
  const other = overwrites ? '' : ', store it in a temporary table'
  return {
    sqlstate: insufficientPrivilege,
    message: `masked values of ${column} cannot be stored in ${target}`,
    hint: `Leave the column out of the statement${other}, or run it as a role that is exempt from masking.`,
  }
}
