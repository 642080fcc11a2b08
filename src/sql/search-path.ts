/** The schemas of a search path as `SHOW search_path` writes them. */
export function readSearchPath(text: string, role: string): string[] {
  const items = text.match(/"(?:[^"]|"")*"|[^,\s"]+/g) ?? []
  return items.map((item) => {
    const name = item.startsWith('"') ? item.slice(1, -1).replaceAll('""', '"') : item.toLowerCase()
    return name === '$user' ? role : name
  })
}
