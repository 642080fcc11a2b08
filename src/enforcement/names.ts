import { createHash } from 'node:crypto'
import { loginMarkPrefix } from '../db/login-mark.ts'

export { guardSchema } from '../db/guard-schema.ts'

/** PostgreSQL's word for all roles; no role can have this name. */
export const everybody = 'public'

/** The event trigger that notes changes of the catalog, and its function. */
export const driftTrigger = 'masquerade_drift'
export const driftFunction = 'note_drift'

export const shadowPrefix = 'masked_'

/**
 * Names of the NOLOGIN role that owns the twins and may read only the tables behind them. One per database: roles are
 * shared by a server. A later name is for where another role has taken the earlier ones.
 */
export function twinOwnerName(database: string, attempt = 0): string {
  if (attempt === 0) return shorten(twinOwnerPrefix + database)
  return shorten(`${twinOwnerPrefix}${hash(`${database} ${attempt}`)}_${database}`)
}

const twinOwnerPrefix = 'masquerade_twins_'

/** Of whatever database. */
export function isTwinOwnerName(role: string): boolean {
  return role.startsWith(twinOwnerPrefix)
}

/** True when the comment of a role marks it as one of our login roles. */
export function isLoginMark(comment: string | null): boolean {
  return comment?.startsWith(loginMarkPrefix) ?? false
}

/** `isTaken`: a schema of that name is not ours. Then another name is derived, always the same ones in the same order. */
export function shadowSchemaName(schema: string, isTaken: (name: string) => boolean = () => false): string {
  let name = shorten(shadowPrefix + schema)
  for (let salt = ''; isTaken(name); salt += '+')
    name = shorten(`${shadowPrefix}${hash(schema + salt)}_${schema}`)
  return name
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}

/** PostgreSQL cuts names at 63 bytes, which could make two of them one; a hash keeps them apart. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= 63) return name
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 12)
  let head = name
  while (Buffer.byteLength(head) > 50) head = [...head].slice(0, -1).join('')
  return `${head}_${digest}`
}
