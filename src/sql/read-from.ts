import type { Effort } from './effort.ts'
import type { Origin, Query, RelationReference, RelationUse } from './references.ts'
import {
  commonWith,
  findUsed,
  joinSource,
  querySource,
  type Scope,
  type Source,
  usingSource,
} from './scope.ts'
import { type Node, type RangeVar, readStrings, unwrap } from './syntax-tree.ts'
import { createValue, type Queries } from './values.ts'

/** Gathers what a FROM clause refers to. */
export interface Collector {
  readonly queries: Queries
  readonly effort: Effort
  read(origins: readonly Origin[]): void
  /** A part of the tree that is looked at when its scope is complete. */
  later(node: Node, scope: Scope): void
  refer(
    range: RangeVar,
    use: RelationUse,
    more?: Partial<Pick<RelationReference, 'needsTable' | 'takesQuery'>>,
  ): RelationReference
  sourceOf(relation: RelationReference): Source
}

interface FromOptions {
  /** Names of what is locked by row, or everything. */
  readonly locked?: ReadonlySet<string> | 'all' | undefined
  readonly takesQuery?: boolean
}

/** In the order of the text: what is lateral sees what stands before it. */
export function readFrom(
  items: readonly Node[] | undefined,
  scope: Scope,
  into: Collector,
  options: FromOptions = { takesQuery: true },
): void {
  for (const item of items ?? []) scope.sources.push(...readItem(item, scope, into, options))
}

/** Chains of joins lean to the left: only brackets to the right of one take stack. */
function readItem(item: Node, scope: Scope, into: Collector, options: FromOptions): Source[] {
  const joins: Node[] = []
  let first = item
  for (; first?.JoinExpr; first = first.JoinExpr.larg) joins.push(first.JoinExpr)
  let sources = readSingle(first, scope, into, options)
  for (const join of joins.toReversed()) sources = readJoin(join, sources, scope, into, options)
  return sources
}

function readSingle(item: Node, scope: Scope, into: Collector, options: FromOptions): Source[] {
  const [kind, node] = unwrap(item)
  switch (kind) {
    case 'RangeVar':
      return [readRelation(node, scope, into, options)]
    case 'RangeTableSample':
      into.later([node.method, node.args, node.repeatable], { ...scope, sources: copySources(scope, into) })
      return readItem(node.relation, scope, into, { locked: 'all' })
    case 'RangeSubselect':
      into.later(node.subquery, { ...scope, sources: node.lateral ? copySources(scope, into) : [] })
      return [nameQuery(node.alias, into.queries.find(node.subquery), into)]
    default: {
      // All that a function returns is made of what it is given.
      const value = createValue()
      into.later(item, { ...scope, sources: copySources(scope, into), into: value })
      return [nameQuery(node?.alias, { parts: [[value]] }, into)]
    }
  }
}

/** What stands before an item: its scope grows by what stands behind. */
function copySources({ sources }: Scope, { effort }: Collector): Source[] {
  effort.scan(sources.length)
  return [...sources]
}

function nameQuery(alias: Node, query: Query, { effort }: Collector): Source {
  // A function without an alias for its columns gives them names of its own.
  return querySource(alias?.aliasname, { query, renamed: readStrings(alias?.colnames) }, effort)
}

function readJoin(node: Node, left: Source[], scope: Scope, into: Collector, options: FromOptions): Source[] {
  const { effort } = into
  const right = readItem(node.rarg, { ...scope, sources: [...scope.sources, ...left] }, into, options)
  const parts = [...left, ...right]
  effort.scan(scope.sources.length + 2 * parts.length)
  for (const name of readStrings(node.usingClause)) {
    into.read(findUsed(name, left, effort))
    into.read(findUsed(name, right, effort))
  }
  if (node.isNatural) {
    into.read(commonWith(left, right, effort))
    into.read(commonWith(right, left, effort))
  }
  into.later(node.quals, { ...scope, sources: parts })
  const { alias, join_using_alias: using } = node
  const named = using ? [...parts, usingSource(using.aliasname)] : parts
  if (!alias) return named
  const join = joinSource(alias.aliasname, parts, alias.colnames !== undefined, effort)
  return [...named.map((part) => (part.isHidden ? part : { ...part, isHidden: true })), join]
}

function readRelation(
  range: RangeVar,
  scope: Scope,
  into: Collector,
  { locked, takesQuery = false }: FromOptions,
): Source {
  const name = range.alias?.aliasname ?? range.relname
  const named = range.schemaname === undefined ? scope.queries.get(range.relname) : undefined
  if (named) {
    const renamed = readStrings(range.alias?.colnames)
    return querySource(name, renamed.length > 0 ? { ...named, renamed } : named, into.effort)
  }
  const needsTable = locked === 'all' || locked?.has(name) === true
  return into.sourceOf(into.refer(range, 'read', { needsTable, takesQuery }))
}

/** The clauses of a SELECT that decide how its FROM is read. */
export function findOptions(select: Node): FromOptions {
  return { locked: findLocked(select.lockingClause), takesQuery: !isTableCommand(select) }
}

/** `TABLE t` has a list of columns that stands nowhere, and takes a name alone. */
function isTableCommand({ targetList }: Node): boolean {
  return targetList?.length === 1 && !(targetList[0].ResTarget?.location >= 0)
}

/** `FOR UPDATE OF a, b`, or of everything that is read. */
function findLocked(clauses: readonly Node[] | undefined): ReadonlySet<string> | 'all' | undefined {
  if (!clauses) return undefined
  const lists = clauses.map(({ LockingClause: { lockedRels } }) => lockedRels as Node[] | undefined)
  if (lists.includes(undefined)) return 'all'
  return new Set(lists.flatMap((list) => list?.map(({ RangeVar: { relname } }) => relname) ?? []))
}
