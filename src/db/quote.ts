/** An identifier exactly as it is, whatever is in it. PostgreSQL has no way to hold a NUL. */
export function quoteIdentifier(name: string): string {
  if (name === '' || name.includes('\0')) throw new Error('not an identifier')
  return `"${name.replaceAll('"', '""')}"`
}

export function quoteQualified(schema: string, name: string): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`
}

/** A literal that reads the same whatever standard_conforming_strings says. */
export function quoteLiteral(text: string): string {
  if (text.includes('\0')) throw new Error('not a literal')
  const doubled = text.replaceAll("'", "''")
  return text.includes('\\') ? ` E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`
}
