import type { Effort } from './effort.ts'
import type { Catalog, ColumnReference, Origin, Query, RelationReference, Value } from './references.ts'
import type { Node } from './syntax-tree.ts'

/** Something in FROM, and the columns that references to it may mean. */
export interface Source {
  /** The qualifier of its columns, before the dot; undefined: it has no name. */
  readonly name: string | undefined
  /** Where it may be named with its schema: null: nowhere, undefined: the schema is not known. */
  readonly schema: string | undefined | null
  readonly relation?: RelationReference
  /** Its columns as they are called here; undefined: not known. */
  readonly columns?: readonly string[]
  /** Behind the alias of a join, which hides the names in it. */
  readonly isHidden?: boolean
  readonly all: readonly Origin[]
  /** Undefined: it has no such column, as far as is known. */
  find(column: string): readonly Origin[] | undefined
  /** It has such a column, or its columns are not known. */
  mayHave(column: string): boolean
}

const systemColumns = new Set(['tableoid', 'ctid', 'xmin', 'xmax', 'cmin', 'cmax'])

/** A query as it is known outside of it; an alias may give other names to its first columns. */
export interface NamedQuery {
  readonly query: Query
  readonly renamed: readonly string[]
  /** Columns that SEARCH and CYCLE add. */
  readonly added?: readonly string[]
}

/** A subquery, a name of WITH or a function: what it reads is found where it stands. */
export function querySource(name: string | undefined, named: NamedQuery, effort: Effort): Source {
  let names: ReadonlySet<string> | 'any' | undefined
  return {
    name,
    schema: null,
    all: [named],
    find(column) {
      effort.spend()
      return [{ ...named, column }]
    },
    mayHave(column) {
      names ??= namesOf(named, effort)
      return names === 'any' || names.has(column)
    },
  }
}

/** The first SELECT of set operations gives the names. What a star or a function gives is not known. */
function namesOf({ query, renamed, added = [] }: NamedQuery, effort: Effort): ReadonlySet<string> | 'any' {
  const names = new Set([...renamed, ...added])
  const [first = []] = query.parts
  effort.scan(renamed.length + first.length)
  for (const { name, isStar } of first) {
    if (name === undefined || isStar) return 'any'
    names.add(name)
  }
  return names
}

/** The columns of a result, which ORDER BY, GROUP BY and DISTINCT ON may name. They are read where they are made. */
export function outputSource(query: Query, effort: Effort): Source {
  const { mayHave } = querySource(undefined, { query, renamed: [] }, effort)
  return { name: undefined, schema: null, all: [], find: () => undefined, mayHave }
}

/** The alias of USING, which stands for columns that the parts of its join have too. */
export function usingSource(name: string): Source {
  return { name, schema: null, all: [], find: () => undefined, mayHave: () => false }
}

/** Places of columns by name. The catalog gives the same list for every reference to a relation. */
const places = new WeakMap<readonly string[], ReadonlyMap<string, number>>()

function placesOf(columns: readonly string[]): ReadonlyMap<string, number> {
  const known = places.get(columns)
  if (known) return known
  // The first of several wins: an alias may give a name twice.
  const found = new Map(columns.map((name, at) => [name, at] as const).toReversed())
  places.set(columns, found)
  return found
}

/** An alias may give other names to the first columns. */
export function relationSource(
  relation: RelationReference,
  { schema, columns, mayLackColumns }: ReturnType<Catalog['locate']>,
  effort: Effort,
): Source {
  const { alias, relname } = relation.range
  const own = { name: alias?.aliasname ?? relname, schema: alias ? null : schema, relation }
  const all = [{ relation }]
  if (!columns) return { ...own, all, find: () => undefined, mayHave: () => true }
  const called = alias?.colnames ? renameFirst(columns, alias.colnames, effort) : columns
  return {
    ...own,
    ...(!mayLackColumns && { columns: called }),
    all,
    find(column) {
      effort.spend()
      const at = placesOf(called).get(column)
      if (at === undefined) return systemColumns.has(column) ? [] : undefined
      return [{ relation, column: columns[at] }]
    },
    mayHave: (column) => placesOf(called).has(column) || systemColumns.has(column),
  }
}

function renameFirst(columns: readonly string[], names: readonly Node[], effort: Effort): string[] {
  effort.spend(columns.length)
  return [...names.map((item) => item.String?.sval as string), ...columns.slice(names.length)]
}

/**
 * A join with a name of its own. With its columns renamed, any of them may be any of its parts'. A join among the parts stands
 * for the parts that it hides: counted again, they would double with each join around them.
 */
export function joinSource(
  name: string,
  parts: readonly Source[],
  isRenamed: boolean,
  effort: Effort,
): Source {
  const visible = parts.filter(({ isHidden }) => !isHidden)
  const all = allOf(visible, effort)
  return {
    name,
    schema: null,
    all,
    find(column) {
      effort.spend(isRenamed ? all.length : 1)
      return isRenamed ? all : visible.flatMap((part) => part.find(column) ?? [])
    },
    // The parts stand beside it.
    mayHave: () => isRenamed,
  }
}

function allOf(sources: readonly Source[], effort: Effort): Origin[] {
  const all: Origin[] = []
  for (const source of sources) {
    effort.spend(source.all.length)
    for (const origin of source.all) all.push(origin)
  }
  return all
}

/** The columns that NATURAL compares: those that the other side has too, all where that is not known. */
export function commonWith(side: readonly Source[], other: readonly Source[], effort: Effort): Origin[] {
  effort.scan(other.length)
  if (other.some(({ columns }) => columns === undefined)) return allOf(side, effort)
  const names = new Set<string>()
  for (const { columns = [] } of other) {
    effort.scan(columns.length)
    for (const name of columns) names.add(name)
  }
  const found: Origin[] = []
  for (const source of side) for (const name of names) found.push(...(source.find(name) ?? []))
  return found
}

/** One level of a query: what names in it may mean, from the inside out. */
export interface Scope {
  readonly outer: Scope | undefined
  /** By their names in WITH. */
  readonly queries: ReadonlyMap<string, NamedQuery>
  readonly sources: Source[]
  /** Gathers the references made from here. */
  readonly uses?: ColumnReference[]
  /** The value that is made of the columns named here. */
  readonly into?: Value | undefined
}

export const topScope: Scope = { outer: undefined, queries: new Map(), sources: [] }

/** Every column that this reference can mean; where several things are possible, all of them. */
export function findOrigins(
  { path, isStar }: Pick<ColumnReference, 'path' | 'isStar'>,
  scope: Scope,
  effort: Effort,
): readonly Origin[] {
  if (isStar && path.length === 0) return allOf(scope.sources, effort)
  const [last = ''] = path.slice(-1)
  if (!isStar && path.length === 1) return findColumn(last, scope, effort)
  const named = findNamed(isStar ? path : path.slice(0, -1), scope, effort)
  // A name that stands for nothing here is PostgreSQL's to understand: it may be any of them.
  const sources = named ?? [...upwards(scope, effort)].flatMap((each) => each.sources)
  if (isStar) return allOf(sources, effort)
  effort.scan(sources.length)
  // A name that is no column may be a function of the whole row, or the new name of a column.
  return sources.flatMap((source) => source.find(last) ?? allOf([source], effort))
}

/** The columns of one side of a join that USING names; all of them where none is known to have that name. */
export function findUsed(name: string, side: readonly Source[], effort: Effort): readonly Origin[] {
  effort.scan(side.length)
  if (side.some((source) => source.mayHave(name))) return side.flatMap((source) => source.find(name) ?? [])
  return allOf(side, effort)
}

/**
 * A column of the nearest level that has it for certain, or else the whole row of something called so. A column that no source can
 * have was renamed since its relation was read, and may be any.
 */
function findColumn(name: string, from: Scope, effort: Effort): readonly Origin[] {
  const found: Origin[] = []
  let isKnown = false
  for (const scope of upwards(from, effort)) {
    effort.scan(scope.sources.length)
    const here = scope.sources.map((source) => source.find(name))
    for (const columns of here) for (const column of columns ?? []) found.push(column)
    if (scope.sources.some((source, at) => source.columns !== undefined && here[at] !== undefined))
      return found
    isKnown ||= scope.sources.some((source) => source.mayHave(name))
  }
  const named = findNamed([name], from, effort)
  if (named) return [...found, ...allOf(named, effort)]
  return isKnown ? found : [...upwards(from, effort)].flatMap(({ sources }) => allOf(sources, effort))
}

/** The sources of a name at the nearest level that has it. */
export function findNamed(
  qualifier: readonly string[],
  from: Scope,
  effort: Effort,
): readonly Source[] | undefined {
  const [schema, name] = qualifier.length === 1 ? [undefined, qualifier[0]] : qualifier.slice(-2)
  for (const scope of upwards(from, effort)) {
    effort.scan(scope.sources.length)
    const found = scope.sources.filter(
      (source) =>
        source.name === name &&
        (schema === undefined || source.schema === undefined || source.schema === schema),
    )
    if (found.length > 0) return found
  }
  return undefined
}

/** Levels in which names may mean something. Those of a chain of set operations have nothing. */
export function* upwards(from: Scope, effort: Effort): Generator<Scope> {
  for (let scope: Scope | undefined = from; scope; scope = scope.outer) {
    effort.scan(1)
    if (scope.sources.length > 0 || scope.uses) yield scope
  }
}
