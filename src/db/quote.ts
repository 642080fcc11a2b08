import { quoteIdentifier } from './sql.ts'

export { quoteIdentifier }

export function quoteQualified(schema: string, name: string): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`
}

/** `grantor`: since 16 a membership is revoked by its grantor; null before, or where the role is gone. */
export function revokeMembership(of: string, from: string, grantor: string | null): string {
  const by = grantor === null ? '' : ` GRANTED BY ${quoteIdentifier(grantor)}`
  return `REVOKE ${quoteIdentifier(of)} FROM ${quoteIdentifier(from)}${by} CASCADE`
}

/** A literal that reads the same whatever standard_conforming_strings says. */
export function quoteLiteral(text: string): string {
  if (text.includes('\0')) throw new Error('a literal cannot hold a NUL')
  const doubled = text.replaceAll("'", "''")
  return text.includes('\\') ? ` E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`
}
