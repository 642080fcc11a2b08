/** In a search path, the schema that is named like the current role. */
export const userSchema = '$user'

export interface SearchPath {
  readonly schemas: readonly string[]
  /** PostgreSQL reads the same names, whatever its encoding. */
  readonly isExact: boolean
}

const item = /"(?:[^"]|"")*"|[^, \t\n\r\f\v"]+/g
const list = /^\s*(?:x(?:\s*,\s*x)*\s*)?$/
/** PostgreSQL cuts longer ones. */
const maxNameBytes = 63

/**
 * The schemas of a search path as `SHOW search_path` writes them. A path by `set_config` is as the client wrote it: without quotes
 * PostgreSQL lowers ASCII, and in encodings of one byte other letters too, by its locale.
 */
export function readSearchPath(text: string): SearchPath {
  const items = text.match(item) ?? []
  const schemas = items.map((each) =>
    each.startsWith('"') ? each.slice(1, -1).replaceAll('""', '"') : each.replace(/[A-Z]+/g, lower),
  )
  const isExact =
    list.test(text.replace(item, 'x')) &&
    !text.includes('\ufffd') &&
    items.every((each) => each.startsWith('"') || isAscii(each)) &&
    schemas.every((name) => Buffer.byteLength(name) <= maxNameBytes)
  return limitPath({ schemas, isExact })
}

/** The schemas that a statement sets: whether they were quoted is not known. */
export function pathOf(schemas: readonly string[]): SearchPath {
  const isExact = schemas.every((name) => isAscii(name) && name.length <= maxNameBytes)
  return limitPath({ schemas, isExact })
}

export function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text)
}

function lower(letters: string): string {
  return letters.toLowerCase()
}

/** Names without a schema are looked for in each of them. */
const maxSchemas = 10_000

/**
 * The first schemas of a path, each once. Relations in others are not found, and so not moved: PostgreSQL denies their masked
 * columns. Which of them a name means is not known then.
 */
function limitPath({ schemas, isExact }: SearchPath): SearchPath {
  const distinct = new Set(schemas)
  if (distinct.size <= maxSchemas)
    return { schemas: distinct.size === schemas.length ? schemas : [...distinct], isExact }
  const first = [...distinct].slice(0, maxSchemas)
  // A path without it would begin with it.
  if (distinct.has('pg_catalog') && !first.includes('pg_catalog')) first.push('pg_catalog')
  return { schemas: first, isExact: false }
}
