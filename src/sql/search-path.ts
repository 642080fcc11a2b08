/** The schemas of a search path as `SHOW search_path` writes them. */
export function readSearchPath(text: string, role: string): string[] {
  const items = text.match(/"(?:[^"]|"")*"|[^,\s"]+/g) ?? []
  return items.map((item) => {
    const name = item.startsWith('"') ? item.slice(1, -1).replaceAll('""', '"') : item.toLowerCase()
    return name === '$user' ? role : name
  })
}

/** Names without a schema are looked for in each of them. */
const maxSchemas = 10_000

/**
 * The first schemas of a path, each once. Relations in others are not found, and so not moved: PostgreSQL denies their masked
 * columns.
 */
export function limitPath(path: readonly string[]): readonly string[] {
  const distinct = new Set(path)
  if (distinct.size === path.length && path.length <= maxSchemas) return path
  const first = [...distinct].slice(0, maxSchemas)
  // A path without it would begin with it.
  return distinct.has('pg_catalog') && !first.includes('pg_catalog') ? [...first, 'pg_catalog'] : first
}
