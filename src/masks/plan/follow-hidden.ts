import { Effort } from '../../sql/effort.ts'
import { viewLimits } from '../../sql/limits.ts'
import type { Statement } from '../../sql/parse.ts'
import type { Origin } from '../../sql/references.ts'
import { resolveReferences } from '../../sql/resolve.ts'
import { type Node, type RangeVar, readStrings, unwrap } from '../../sql/syntax-tree.ts'

/**
 * Numbers of the columns of a relation that show hidden values, negative where open ones may be among them.
 * `decided`: hidden values choose its rows or open values.
 */
export type Shows = readonly number[] | 'decided'

/** A relation that a view reads: its columns, and those of them that show hidden values alone, or with open ones. */
export interface Read {
  readonly columns: readonly string[]
  readonly hidden: ReadonlyMap<string, 'hidden' | 'mixed'>
}

/** What a column reference may mean: hidden columns alone, hidden and open ones, or open ones. */
type Meaning = 'hidden' | 'mixed' | 'open'

/** Functions of pg_catalog whose result shows each argument as it is. */
const builders = new Set(
  `array_agg concat concat_ws json_agg json_build_array json_build_object json_object_agg jsonb_agg jsonb_build_array
  jsonb_build_object jsonb_object_agg row_to_json string_agg to_json to_jsonb`.split(/\s+/),
)

/**
 * `SELECT id, upper(mail) FROM people` → [2]; `SELECT id FROM people WHERE NOT vip` → 'decided'. Masked values would
 * let other rows pass, and choose other open values, than raw ones did. So do groups and an order, where an expression
 * or a view above takes some of them.
 */
export function followHidden(
  statement: Statement,
  find: (range: RangeVar) => Read | undefined,
  returnsSets: boolean,
): Shows {
  const effort = new Effort(viewLimits)
  const names = new Set<string>()
  const locate = (range: RangeVar) => {
    const read = find(range)
    for (const name of read?.hidden.keys() ?? []) names.add(name)
    return { schema: range.schemaname, columns: read?.columns }
  }
  const { columns } = resolveReferences(statement, { locate }, effort)
  const meanings = new Map<number, Meaning>()
  for (const { at, origins } of columns) meanings.set(at, join(meanings.get(at), judge(origins, find)))
  const { places, using } = listPlaces(statement)
  const hidden = places.filter((at) => meanings.get(at) !== 'open')
  const { harmless, shown } = new Output(meanings).read(statement.stmt?.SelectStmt)
  const isDecided =
    hidden.some((at) => !harmless.has(at)) ||
    using.some((name) => names.has(name)) ||
    (returnsSets && shown.size > 0)
  return isDecided ? 'decided' : [...shown].sort((one, other) => one - other)
}

function judge(origins: readonly Origin[], find: (range: RangeVar) => Read | undefined): Meaning {
  const each = origins.map((origin): Meaning => {
    const hidden = 'relation' in origin ? find(origin.relation.range)?.hidden : undefined
    if (!hidden || hidden.size === 0) return 'open'
    if (origin.column === undefined) return 'mixed'
    return hidden.get(origin.column) ?? 'open'
  })
  return each.reduce<Meaning | undefined>(join, undefined) ?? 'open'
}

const join = (one: Meaning | undefined, other: Meaning): Meaning =>
  one === undefined || one === other ? other : 'mixed'

/** Where columns stand in a part of the tree, the columns that USING compares, and whether it looks elsewhere. */
function listPlaces(part: Node) {
  const found = { places: [] as number[], using: [] as string[], looksElsewhere: false }
  const walk = (node: Node): void => {
    if (typeof node !== 'object' || node === null) return
    for (const [kind, child] of Object.entries<Node>(node)) {
      if (kind === 'ColumnRef') found.places.push(child.location ?? 0)
      if (kind === 'usingClause') found.using.push(...readStrings(child))
      if (kind === 'SubLink' || isForeign(kind, child)) found.looksElsewhere = true
      walk(child)
    }
  }
  walk(part)
  return found
}

/** A function or operator that is not built in may look up what the reader may not. */
function isForeign(kind: string, node: Node): boolean {
  const name = { FuncCall: node?.funcname, A_Expr: node?.name }[kind]
  const [schema, own] = Array.isArray(name) ? readStrings(name) : []
  return own !== undefined && schema !== 'pg_catalog'
}

/** The lists of the outermost query, and of the parts of a UNION ALL. */
class Output {
  /** Places of columns that decide nothing. */
  readonly harmless = new Set<number>()
  /** Of the columns of the result, as in `Shows`. */
  readonly shown = new Set<number>()
  readonly #meanings: ReadonlyMap<number, Meaning>

  constructor(meanings: ReadonlyMap<number, Meaning>) {
    this.#meanings = meanings
  }

  /** `isPart`: of a UNION ALL. */
  read(select: Node, isPart = false): this {
    const { op, all, targetList = [], sortClause, distinctClause } = select
    // Set operations are ordered by the number of a column.
    if (op === 'SETOP_UNION' && all && !sortClause)
      return this.read(select.larg, true).read(select.rarg, true)
    if (op !== 'SETOP_NONE') return this
    for (const [at, { ResTarget: item }] of targetList.entries()) {
      if (distinctClause && this.#isHiddenIn(item.val)) continue
      this.#accept(item.val)
      const isMixed =
        isPart || listPlaces(item.val).places.some((one) => this.#meanings.get(one) !== 'hidden')
      if (this.#isHiddenIn(item.val)) this.shown.add(isMixed ? -(at + 1) : at + 1)
    }
    return this
  }

  /** Harmless where hidden columns decide nothing in it. */
  #accept(item: Node): void {
    if (this.#isPlain(item)) for (const at of listPlaces(item).places) this.harmless.add(at)
  }

  #isHiddenIn(part: Node): boolean {
    return listPlaces(part).places.some((at) => this.#meanings.get(at) !== 'open')
  }

  /** It has no hidden column, shows each column as it is, or is made of hidden ones alone. */
  #isPlain(node: Node): boolean {
    const { places, looksElsewhere } = listPlaces(node)
    const meanings = new Set(places.map((at) => this.#meanings.get(at)))
    const [kind, fields] = unwrap(node)
    if (kind === 'ColumnRef' || [...meanings].every((one) => one === 'open')) return true
    if (meanings.size === 1 && meanings.has('hidden') && !looksElsewhere) return true
    return listParts(kind, fields)?.every((part) => this.#isPlain(part)) ?? false
  }
}

/** The parts of an expression that shows all of them; undefined: it may not. */
function listParts(kind: string | undefined, node: Node): readonly Node[] | undefined {
  switch (kind) {
    case 'TypeCast':
    case 'CollateClause':
      return [node.arg]
    case 'RowExpr':
      return node.args ?? []
    case 'A_ArrayExpr':
      return node.elements ?? []
    case 'GroupingSet':
      return node.content ?? []
    case 'A_Expr':
      return readStrings(node.name).join() === '||' ? [node.lexpr, node.rexpr] : undefined
    case 'FuncCall': {
      const isBuilder = builders.has(readStrings(node.funcname).join()) && !node.agg_filter && !node.over
      return isBuilder ? (node.args ?? []) : undefined
    }
    default:
      return undefined
  }
}
