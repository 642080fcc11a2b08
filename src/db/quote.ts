import { quoteIdentifier } from './sql.ts'

export { quoteIdentifier }

export function quoteQualified(schema: string, name: string): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`
}

/** A literal that reads the same whatever standard_conforming_strings says. */
export function quoteLiteral(text: string): string {
  if (text.includes('\0')) throw new Error('a literal cannot hold a NUL')
  const doubled = text.replaceAll("'", "''")
  return text.includes('\\') ? ` E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`
}
