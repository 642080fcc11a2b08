import { quoteIdentifier } from '../../db/quote.ts'
import type { Node } from '../../sql/syntax-tree.ts'
import type { MaskedRelation } from '../ports.ts'

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
export function findGrouped(select: Node, moved: (range: Node) => MaskedRelation | undefined): Grouped[] {
  const keys: Node[] = (select.groupClause ?? []).map((item: Node) => item.ColumnRef)
  if (keys.length === 0 || keys.includes(undefined)) return []
  const { groupClause, fromClause, whereClause, ...rest } = select
  return listSources(fromClause, moved).flatMap((source) => {
    const { key, dependent } = source.relation
    const grouped = keys.map((ref) => columnOf(ref, source))
    if (key.length === 0 || !key.every((column) => grouped.includes(column))) return []
    const used = new Set<string>()
    collect(rest, source, used)
    const missing = dependent.filter(
      (column) => !grouped.includes(column) && (used.has(column) || used.has('*')),
    )
    if (missing.length === 0) return []
    const at = keys.find((ref) => columnOf(ref, source) === key[0])?.location ?? 0
    return [
      {
        at,
        columns: missing
          .map((column) => `${quoteIdentifier(source.alias)}.${quoteIdentifier(column)}, `)
          .join(''),
      },
    ]
  })
}

function listSources(
  items: readonly Node[] | undefined,
  moved: (range: Node) => MaskedRelation | undefined,
): Source[] {
  return (items ?? []).flatMap(({ RangeVar: range, JoinExpr: join }) => {
    // An alias hides the names within.
    if (join) return join.alias ? [] : listSources([join.larg, join.rarg], moved)
    const relation = range && !range.alias?.colnames ? moved(range) : undefined
    if (!relation) return []
    return [{ alias: range.alias?.aliasname ?? relation.twin.name, isBare: !range.alias, relation }]
  })
}

/** The column of that source that a reference means, `*` for all of them. A name alone may be one of another source. */
function columnOf({ fields }: { fields: Node[] }, { alias, isBare, relation }: Source): string | undefined {
  const parts = fields.map((field) => (field.A_Star ? '*' : (field.String?.sval as string | undefined)))
  const column = parts.at(-1)
  if (parts.length === 1 || (parts.length === 2 && parts[0] === alias)) return column
  const isNamed = parts.at(-2) === relation.name && parts.at(-3) === relation.schema
  return isBare && parts.length >= 3 && isNamed ? column : undefined
}

function collect(node: Node, source: Source, into: Set<string>): void {
  if (node === null || typeof node !== 'object') return
  for (const [name, value] of Object.entries(node)) {
    if (name !== 'ColumnRef') collect(value, source, into)
    else {
      const column = columnOf(value as { fields: Node[] }, source)
      if (column !== undefined) into.add(column)
    }
  }
}
