import type { Query, Row, Sql } from '../../db/sql.ts'
import { quoteGrantee } from '../grants/grant-steps.ts'
import type { Scene } from './exposure.ts'

/** One entry of an access control list. Grantee null: PUBLIC. */
export interface Given {
  readonly grantee: string | null
  readonly privilege: string
}

/** An access control list as rows of `Given`, of these privileges alone. */
export function givenAsJson(sql: Sql, acl: Query<Row[]>, privileges: readonly string[]) {
  return sql`coalesce((
    select jsonb_agg(distinct jsonb_build_object('grantee', e.rolname, 'privilege', x.privilege_type))
    from pg_catalog.aclexplode(${acl}) x left join pg_catalog.pg_roles e on e.oid = x.grantee
    where x.privilege_type = any(${privileges}::text[]) and (x.grantee = 0 or e.oid is not null)), '[]')`
}

export interface Strangers {
  /** As a list for a REVOKE. */
  readonly grantees: string
  readonly privileges: readonly string[]
  /** Who has it thereby and is to see masks. */
  readonly roles: readonly string[]
}

/** Those among the grantees who are to see masks; null when there are none. The owner's own needs no grant. */
export function findStrangers(
  { book, self, twinOwner }: Scene,
  given: readonly Given[],
  owner: string,
): Strangers | null {
  const isOurs = (role: string) =>
    role === owner || role === self || role === twinOwner || book.isExempt(role)
  const concerned = given.filter(({ grantee }) => grantee === null || !isOurs(grantee))
  const roles = book.watched.filter(
    (role) =>
      !book.roles.get(role)?.superuser &&
      !book.reaches(role, owner) &&
      concerned.some(({ grantee }) => grantee === null || book.reaches(role, grantee)),
  )
  if (roles.length === 0) return null
  return {
    grantees: [...new Set(concerned.map(({ grantee }) => quoteGrantee(grantee)))].join(', '),
    privileges: [...new Set(concerned.map(({ privilege }) => privilege))].sort(),
    roles,
  }
}
