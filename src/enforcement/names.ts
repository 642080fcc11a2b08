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
 * Names of the NOLOGIN roles that own twins and may read only the tables behind them, per database: roles are shared by a
 * server. `served`: the OID of the role whose tables it reads; without one, the role also owns the schemas of the twins. A
 * later name is for where another role has taken the earlier ones.
 */
export function twinOwnerName(database: string, attempt = 0, served?: number): string {
  const start = served === undefined ? twinOwnerPrefix : `${twinOwnerPrefix}${served}_`
  if (attempt === 0) return shorten(start + database)
  const salt = served === undefined ? '' : ` ${served}`
  return shorten(`${start}${hash(`${database} ${attempt}${salt}`)}_${database}`)
}

export const twinOwnerPrefix = 'masquerade_twins_'

/** Names that are tried for the role that serves one owner of tables. Another role may have taken all: then it has none. */
const mostAttempts = 16

/** The role whose tables the one of this name reads in this database, by OID. Undefined: the name is not of that form. */
export function readServed(database: string, name: string): number | undefined {
  const oid = name.startsWith(twinOwnerPrefix) && /^[0-9]{1,10}(?=_)/.exec(name.slice(twinOwnerPrefix.length))
  if (!oid) return undefined
  // The hash of a later name may have digits alone.
  if (nameAttempts(database).includes(name)) return undefined
  const served = Number(oid[0])
  for (let attempt = 0; attempt < mostAttempts; attempt++)
    if (twinOwnerName(database, attempt, served) === name) return served
  return undefined
}

export function nameAttempts(database: string, served?: number): string[] {
  return Array.from({ length: mostAttempts }, (_, at) => twinOwnerName(database, at, served))
}

/** Of whatever database. */
export function isTwinOwnerName(role: string): boolean {
  return role.startsWith(twinOwnerPrefix)
}

/** True when the comment of a role marks it as one of our login roles. */
export function isLoginMark(comment: string | null): boolean {
  return comment?.startsWith(loginMarkPrefix) ?? false
}

/** True for the names of login roles, and of few others. The controller revokes memberships in login roles, so none is proposed. */
export function hasLoginForm(role: string): boolean {
  return role.includes('/')
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
