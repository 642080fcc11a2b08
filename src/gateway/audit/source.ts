import type { WatchedColumn, WatchedRelation } from '../ports.ts'

/** Something in FROM, and what references to its columns show of masked ones. */
export interface Source {
  /** What stands before the dot; undefined: it has no name. */
  readonly name: string | undefined
  /** Where the name may be written with its schema. */
  readonly schema?: string | undefined
  /** Its columns as they are called here; undefined: not known. */
  readonly columns: readonly string[] | undefined
  readonly all: readonly WatchedColumn[]
  /** Undefined: it has no such column, as far as is known. */
  find(column: string): readonly WatchedColumn[] | undefined
}

const systemColumns = new Set(['tableoid', 'ctid', 'xmin', 'xmax', 'cmin', 'cmax'])

/** A subquery, a function, a relation without masks: what it shows has been found elsewhere, or is none of it. */
export function otherSource(name: string | undefined, schema?: string): Source {
  return { name, schema, columns: undefined, all: [], find: () => undefined }
}

/** `renamed` are the names that an alias gives to its first columns. */
export function relationSource(
  { attributes, masked }: Pick<WatchedRelation, 'attributes' | 'masked'>,
  { name, schema, renamed }: { name: string; schema?: string | undefined; renamed: readonly string[] },
): Source {
  const columns = [...renamed, ...attributes.slice(renamed.length)]
  return {
    name,
    schema,
    columns,
    all: masked,
    find(column) {
      const at = columns.indexOf(column)
      if (at < 0) return systemColumns.has(column) ? [] : undefined
      return masked.filter((one) => one.attribute === attributes[at])
    },
  }
}

/** A join with a name of its own. With its columns renamed, any of them may be any of its parts'. */
export function joinSource(name: string, parts: readonly Source[], isRenamed: boolean): Source {
  const all = parts.flatMap((part) => part.all)
  return {
    name,
    columns: undefined,
    all,
    find: (column) => (isRenamed ? all : parts.flatMap((part) => part.find(column) ?? [])),
  }
}

/** What NATURAL compares: the columns that the other side has too, all where that is not known. */
export function commonWith(side: readonly Source[], other: readonly Source[]): WatchedColumn[] {
  const isKnown = other.every(({ columns }) => columns !== undefined)
  const names = new Set(other.flatMap(({ columns }) => columns ?? []))
  return side.flatMap((source) =>
    isKnown ? [...names].flatMap((name) => source.find(name) ?? []) : source.all,
  )
}

export function asMasked(columns: readonly WatchedColumn[] = []): WatchedColumn[] {
  return columns.map((column) => ({ ...column, isRaw: false }))
}

/** One level of a query: what its column references may mean, from the inside out. */
export interface Level {
  readonly outer: Level | undefined
  readonly ctes: ReadonlySet<string>
  readonly sources: Source[]
}

export const topLevel: Level = { outer: undefined, ctes: new Set(), sources: [] }

/** Every masked column that this reference can mean; where several things are possible, all of them. */
export function resolve(path: readonly string[], isStar: boolean, level: Level): readonly WatchedColumn[] {
  if (isStar && path.length === 0) return level.sources.flatMap((source) => source.all)
  const [last = ''] = path.slice(-1)
  if (!isStar && path.length === 1) return resolveAlone(last, level)
  const qualifier = isStar ? path : path.slice(0, -1)
  const named = findNamed(qualifier, level)
  // A name that stands for nothing here is PostgreSQL's to understand: it may be any of them.
  const sources = named ?? [...upwards(level)].flatMap((each) => each.sources)
  if (isStar) return sources.flatMap((source) => source.all)
  // What is no column may be a function of the whole row.
  return sources.flatMap((source) => source.find(last) ?? (named ? source.all : []))
}

/** A column of the nearest level that has it for certain, or else the whole row of something called so. */
function resolveAlone(name: string, from: Level): readonly WatchedColumn[] {
  const found: WatchedColumn[] = []
  for (const level of upwards(from)) {
    const here = level.sources.map((source) => source.find(name))
    found.push(...here.flatMap((columns) => columns ?? []))
    if (level.sources.some((source, at) => source.columns !== undefined && here[at] !== undefined))
      return found
  }
  found.push(...(findNamed([name], from) ?? []).flatMap((source) => source.all))
  return found
}

function findNamed(qualifier: readonly string[], from: Level): readonly Source[] | undefined {
  const [schema, name] = qualifier.length === 1 ? [undefined, qualifier[0]] : qualifier.slice(-2)
  for (const level of upwards(from)) {
    const found = level.sources.filter(
      (source) => source.name === name && (schema === undefined || (source.schema ?? schema) === schema),
    )
    if (found.length > 0) return found
  }
  return undefined
}

function* upwards(from: Level): Generator<Level> {
  for (let level: Level | undefined = from; level; level = level.outer) yield level
}
