import { createHash, randomBytes } from 'node:crypto'
import { guardSchema } from '../db/guard-schema.ts'
import { loginMarkPrefix } from '../db/login-mark.ts'
import type { Oid } from './model.ts'

export { guardSchema } from '../db/guard-schema.ts'

/** PostgreSQL's word for all roles; no role can have this name. */
export const everybody = 'public'

/** The event trigger that notes changes of the catalog, and its function. */
export const driftTrigger = 'masquerade_drift'
export const driftFunction = 'note_drift'

export const shadowPrefix = 'masked_'
export const twinOwnerPrefix = 'masquerade_twins_'

/** The role that owns the twins of one owner's tables: by OIDs, because names truncate and collide. */
export const twinOwnerName = (database: Oid, served: Oid | ''): string =>
  `${twinOwnerPrefix}${database}_${served}`

/** Of whatever database. */
export const isTwinOwnerName = (role: string): boolean => role.startsWith(twinOwnerPrefix)

/** True when the comment of a role marks it as one of our login roles. */
export const isLoginMark = (comment: string | null): boolean => comment?.startsWith(loginMarkPrefix) ?? false

/**
 * True for the names of login roles, and of few others. The controller revokes memberships in login roles, so none is
 * proposed.
 */
export const hasLoginForm = (role: string): boolean => role.includes('/')

/** Roles of PostgreSQL that read raw values beneath or past the privileges on tables. */
export const readingRoles: readonly string[] = [
  'pg_read_all_data',
  'pg_read_server_files',
  'pg_write_server_files',
  'pg_execute_server_program',
]

/** A name that no transaction of another role can hold. */
export const nameGuard = (): string => `${guardSchema}_${randomBytes(6).toString('hex')}`

const mostBytes = 63

/** The schema of the twins of `schema`. `isTaken`: an object of another role has the name. */
export function shadowName(schema: string, isTaken: (name: string) => boolean): string {
  const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)
  let name = shadowPrefix + schema
  for (let salt = ''; Buffer.byteLength(name) > mostBytes || isTaken(name); salt += '+')
    name = shadowPrefix + hash(schema + salt)
  return name
}
