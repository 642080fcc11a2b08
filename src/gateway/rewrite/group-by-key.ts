import type { MaskedRelation } from '../../contracts/role-masks.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Effort } from '../../sql/effort.ts'
import type { ColumnReference, Grouping, RelationReference } from '../../sql/references.ts'

/** Columns to put before the one that stands there in GROUP BY. */
export interface Grouped {
  readonly at: number
  readonly columns: string
}

interface Source {
  readonly alias: string
  /** As what else its columns may be called: by its schema, where no alias hides that. */
  readonly isBare: boolean
  readonly relation: MaskedRelation
}

/**
 * Where a query groups by the primary key of a table, PostgreSQL takes its other columns as grouped too. Of a view it does
 * not know the key, so they are named for it: the groups stay the same.
 */
export function findGrouped(
  { keys, relations, uses }: Grouping,
  moved: (relation: RelationReference) => MaskedRelation | undefined,
  effort: Effort,
): Grouped[] {
  return relations.flatMap((reference) => {
    const { alias } = reference.range
    const relation = alias?.colnames ? undefined : moved(reference)
    if (!relation || relation.key.length === 0) return []
    const source = { alias: alias?.aliasname ?? relation.twin.name, isBare: !alias, relation }
    const { key, dependent } = relation
    effort.spend(keys.length)
    const grouped = new Set(keys.map((ref) => columnOf(ref, source)))
    if (!key.every((column) => grouped.has(column))) return []
    effort.spend(uses.length + dependent.length)
    const used = new Set(uses.map((ref) => columnOf(ref, source)))
    const missing = dependent.filter((column) => !grouped.has(column) && (used.has(column) || used.has('*')))
    if (missing.length === 0) return []
    const name = quoteIdentifier(source.alias)
    return [
      {
        at: keys.find((ref) => columnOf(ref, source) === key[0])?.at ?? 0,
        columns: missing.map((column) => `${name}.${quoteIdentifier(column)}, `).join(''),
      },
    ]
  })
}

/** The column of that source that a reference means, `*` for all of them. A name alone may be one of another source. */
function columnOf(
  { path, isStar }: ColumnReference,
  { alias, isBare, relation }: Source,
): string | undefined {
  const parts = isStar ? [...path, '*'] : path
  const column = parts.at(-1)
  if (parts.length === 1 || (parts.length === 2 && parts[0] === alias)) return column
  const isNamed = parts.at(-2) === relation.name && parts.at(-3) === relation.schema
  return isBare && parts.length >= 3 && isNamed ? column : undefined
}
