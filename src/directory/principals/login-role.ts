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
  return `${cut(isReserved ? `_${name}` : name)}/${hash}`
}

/**
 * True for a role that the principal logs in as in some database, whatever that is called. Of a hashed name the visible part
 * is compared: the database may be bound later. Names that agree in all of that part count alike.
 */
export function mayBeLoginRole(role: string, principalName: string): boolean {
  const name = `${foldPrincipalName(principalName)}/`
  const start = name.startsWith('pg_') ? `_${name}` : name
  const folded = foldPrincipalName(role)
  const [, head] = /^(.+)\/[0-9a-f]{16}$/s.exec(folded) ?? []
  return folded.startsWith(name) || folded.startsWith(start) || head === cut(start)
}

function cut(name: string): string {
  let head = name
  while (Buffer.byteLength(head) > maxBytes - hashLength - 1) head = [...head].slice(0, -1).join('')
  return head
}
