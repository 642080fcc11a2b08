import { createHash } from 'node:crypto'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'

const maxBytes = 63
const hashLength = 16

/**
 * The role that a principal logs in as in one database. All databases of a server share their roles: with one role for
 * each principal, a caller who may map roles in one database would give rights in the others.
 */
export function loginRoleName(principalName: string, database: string): string {
  const name = `${foldPrincipalName(principalName)}/${database}`
  // PostgreSQL reserves names that begin with pg_.
  const isReserved = name.startsWith('pg_')
  if (Buffer.byteLength(name) <= maxBytes && !isReserved) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, hashLength)
  let head = isReserved ? `_${name}` : name
  while (Buffer.byteLength(head) > maxBytes - hashLength - 1) head = [...head].slice(0, -1).join('')
  return `${head}/${hash}`
}
