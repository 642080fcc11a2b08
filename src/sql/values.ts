import type { Effort } from './effort.ts'
import type { Assignment, ColumnOrigin, Origin, Query, QueryOrigin, Value } from './references.ts'
import { type Node, readStrings, unwrap } from './syntax-tree.ts'

export function createValue(name?: string, isStar = false): Value {
  return { name, isStar, from: [] }
}

/** The queries of one statement by their nodes: each is there before what stands in it has been read. */
export class Queries {
  readonly #lists = new Map<Node, readonly Value[]>()

  /** Of a SELECT, or of a statement with RETURNING. */
  find(statement: Node): Query {
    const [, node] = unwrap(statement)
    return this.findSelect(node)
  }

  findSelect(select: Node): Query {
    const parts: (readonly Value[])[] = []
    const open = [select]
    for (let node = open.pop(); node; node = open.pop()) {
      if (node.larg) open.push(node.rarg, node.larg)
      else parts.push(this.list(node))
    }
    return { parts }
  }

  /** The values of the list of one SELECT, VALUES or RETURNING. */
  list(node: Node): readonly Value[] {
    const known = this.#lists.get(node)
    if (known) return known
    const rows: Node[][] = (node.valuesLists ?? []).map((row: Node) => row.List?.items ?? [])
    const list = rows[0]
      ? rows[0].map((_item, at) => createValue(`column${at + 1}`))
      : (node.returningClause?.exprs ?? node.targetList ?? []).map(valueFor)
    this.#lists.set(node, list)
    return list
  }
}

function valueFor({ ResTarget: target }: Node): Value {
  const fields: Node[] | undefined = target?.val?.ColumnRef?.fields
  if (fields?.at(-1)?.A_Star) return createValue(undefined, true)
  return createValue(target?.name ?? readStrings(fields).at(-1))
}

/** Every column that something is made of, however many queries are between. */
export function traceColumns(origins: readonly Origin[], effort: Effort): ColumnOrigin[] {
  const found: ColumnOrigin[] = []
  const seen = new Set<Value>()
  const asked = new Map<Query, Set<string | undefined>>()
  const open = [...origins]
  for (let origin = open.pop(); origin; origin = open.pop()) {
    effort.spend()
    if ('relation' in origin) {
      found.push(origin)
      continue
    }
    const { query, column } = origin
    const columns = asked.get(query) ?? new Set()
    if (columns.has(column)) continue
    asked.set(query, columns.add(column))
    for (const part of query.parts) effort.scan(part.length)
    for (const value of findValues(origin)) {
      if (value.isStar && value.sources && column !== undefined && origin.renamed.length === 0) {
        effort.scan(value.sources.length)
        for (const source of value.sources) for (const found of source.find(column) ?? []) open.push(found)
      } else if (!seen.has(value)) {
        seen.add(value)
        for (const part of value.from) open.push(part)
      }
    }
  }
  return found
}

/** The values that a column of a result may be; all of them where a star makes its place uncertain. */
function findValues({ query: { parts }, column, renamed }: QueryOrigin): readonly Value[] {
  if (column === undefined) return parts.flat()
  const [first = []] = parts
  const own = renamed.indexOf(column)
  const at = own >= 0 ? own : first.findIndex(({ name }) => name === column)
  const isPlaced = at >= 0 && parts.every((part) => !part.slice(0, at + 1).some(({ isStar }) => isStar))
  if (isPlaced && first.filter(({ name }) => name === column).length <= 1)
    return parts.flatMap((part) => part[at] ?? [])
  if (renamed.length > 0 || parts.length > 1) return parts.flat()
  return first.filter(({ name }) => name === undefined || name === column)
}

/** The values for one column of the target; without a column or place, for any of those that are assigned. */
export interface Stored {
  readonly column?: string | undefined
  readonly at?: number
  readonly origins: readonly ColumnOrigin[]
}

export function traceAssignment({ columns, stored }: Assignment, effort: Effort): Stored[] {
  if (!('parts' in stored)) return [{ column: columns?.[0], origins: traceColumns(stored.from, effort) }]
  const { parts } = stored
  for (const part of parts) effort.scan(part.length)
  if (parts.some((part) => part.some(({ isStar }) => isStar)))
    return [{ origins: traceColumns([{ query: stored, renamed: [] }], effort) }]
  const width = parts.reduce((most, part) => Math.max(most, part.length), 0)
  return Array.from({ length: width }, (_, at) => {
    effort.spend(parts.length)
    return {
      column: columns?.[at],
      at,
      origins: traceColumns(
        parts.flatMap((part) => part[at]?.from ?? []),
        effort,
      ),
    }
  })
}
