import type { ColumnReference, Origin, Query, RelationReference, Value } from './references.ts'

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
}

const systemColumns = new Set(['tableoid', 'ctid', 'xmin', 'xmax', 'cmin', 'cmax'])

/** A query as it is known outside of it; an alias may give other names to its first columns. */
export interface NamedQuery {
  readonly query: Query
  readonly renamed: readonly string[]
}

/** A subquery, a name of WITH or a function: what it reads is found where it stands. */
export function querySource(name: string | undefined, named?: NamedQuery): Source {
  if (!named) return { name, schema: null, all: [], find: () => undefined }
  return { name, schema: null, all: [named], find: (column) => [{ ...named, column }] }
}

/** An alias may give other names to the first columns. */
export function relationSource(
  relation: RelationReference,
  { schema, columns }: { schema?: string | undefined; columns?: readonly string[] | undefined },
): Source {
  const { alias, relname } = relation.range
  const own = { name: alias?.aliasname ?? relname, schema: alias ? null : schema, relation }
  const all = [{ relation }]
  if (!columns) return { ...own, all, find: () => undefined }
  const renamed = (alias?.colnames ?? []).map((item) => item.String?.sval as string)
  const called = [...renamed, ...columns.slice(renamed.length)]
  return {
    ...own,
    columns: called,
    all,
    find(column) {
      const at = called.indexOf(column)
      if (at < 0) return systemColumns.has(column) ? [] : undefined
      return [{ relation, column: columns[at] }]
    },
  }
}

/** A join with a name of its own. With its columns renamed, any of them may be any of its parts'. */
export function joinSource(name: string, parts: readonly Source[], isRenamed: boolean): Source {
  const all = parts.flatMap((part) => part.all)
  return {
    name,
    schema: null,
    all,
    find: (column) => (isRenamed ? all : parts.flatMap((part) => part.find(column) ?? [])),
  }
}

/** The columns that NATURAL compares: those that the other side has too, all where that is not known. */
export function commonWith(side: readonly Source[], other: readonly Source[]): Origin[] {
  const isKnown = other.every(({ columns }) => columns !== undefined)
  const names = new Set(other.flatMap(({ columns }) => columns ?? []))
  return side.flatMap((source) =>
    isKnown ? [...names].flatMap((name) => source.find(name) ?? []) : source.all,
  )
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
): readonly Origin[] {
  if (isStar && path.length === 0) return scope.sources.flatMap((source) => source.all)
  const [last = ''] = path.slice(-1)
  if (!isStar && path.length === 1) return findColumn(last, scope)
  const named = findNamed(isStar ? path : path.slice(0, -1), scope)
  // A name that stands for nothing here is PostgreSQL's to understand: it may be any of them.
  const sources = named ?? [...upwards(scope)].flatMap((each) => each.sources)
  if (isStar) return sources.flatMap((source) => source.all)
  // A name that is no column may be a function of the whole row.
  return sources.flatMap((source) => source.find(last) ?? (named ? source.all : []))
}

/** A column of the nearest level that has it for certain, or else the whole row of something called so. */
function findColumn(name: string, from: Scope): readonly Origin[] {
  const found: Origin[] = []
  for (const scope of upwards(from)) {
    const here = scope.sources.map((source) => source.find(name))
    found.push(...here.flatMap((columns) => columns ?? []))
    if (scope.sources.some((source, at) => source.columns !== undefined && here[at] !== undefined))
      return found
  }
  found.push(...(findNamed([name], from) ?? []).flatMap((source) => source.all))
  return found
}

/** The sources of a name at the nearest level that has it. */
export function findNamed(qualifier: readonly string[], from: Scope): readonly Source[] | undefined {
  const [schema, name] = qualifier.length === 1 ? [undefined, qualifier[0]] : qualifier.slice(-2)
  for (const scope of upwards(from)) {
    const found = scope.sources.filter(
      (source) =>
        source.name === name &&
        (schema === undefined || source.schema === undefined || source.schema === schema),
    )
    if (found.length > 0) return found
  }
  return undefined
}

export function* upwards(from: Scope): Generator<Scope> {
  for (let scope: Scope | undefined = from; scope; scope = scope.outer) yield scope
}
