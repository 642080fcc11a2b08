import { createHash } from 'node:crypto'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'

const maxBytes = 63
const hashLength = 16
/** How many bytes of a hashed name stand before the slash and the hash. */
export const visibleBytes = maxBytes - hashLength - 1
const hashedName = /^(.+)\/[0-9a-f]{16}$/s

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
  return folded.startsWith(name) || folded.startsWith(start) || hashedName.exec(folded)?.[1] === cut(start)
}

/**
 * The texts by which a login role, folded, tells its principal: the parts up to a slash with the slash, and the visible part of
 * a hashed name. One of them is the principal's name with a slash, after `_` where it is reserved, cut to `visibleBytes`. New names have
 * no slash; those of earlier releases may, and a role that is not hashed has its last one within `maxBytes`.
 */
export function listRoleStarts(role: string): string[] {
  const slashes = [...role.matchAll(/\//g)].map(({ index }) => index)
  const near = slashes.filter((index, at) => at === 0 || index < maxBytes)
  const [, head] = hashedName.exec(role) ?? []
  return [...near.map((index) => role.slice(0, index + 1)), ...(head === undefined ? [] : [head])]
}

function cut(name: string): string {
  let head = name
  while (Buffer.byteLength(head) > visibleBytes) head = [...head].slice(0, -1).join('')
  return head
}
