import type { Query, Row, Sql } from '../../db/sql.ts'
import type { Grantees, Scene } from './exposure.ts'
import { type AclEntry, findLost, quoteGrantee, writeRevoke } from './revoke-remedy.ts'

/** SQL for an access control list as JSON of `AclEntry`, of these privileges alone. */
export function aclEntries(sql: Sql, acl: Query<Row[]>, privileges: readonly string[]) {
  return sql`coalesce((
    select jsonb_agg(distinct jsonb_build_object('grantee', e.rolname, 'privilege', x.privilege_type))
    from pg_catalog.aclexplode(${acl}) x left join pg_catalog.pg_roles e on e.oid = x.grantee
    where x.privilege_type = any(${privileges}::text[]) and (x.grantee = 0 or e.oid is not null)), '[]')`
}

/** The grantees that are to see masks; null: there are none. Owners need no grant. */
export function findMaskedGrantees(
  { book, self, twinOwners, keepersOf }: Scene,
  acl: readonly AclEntry[],
  owner: string,
): Grantees | null {
  const isOurs = (role: string) =>
    role === owner || role === self || twinOwners.includes(role) || book.isExempt(role)
  const concerned = acl.filter(({ grantee }) => grantee === null || !isOurs(grantee))
  const roles = book.watched.filter(
    (role) =>
      !book.roles.get(role)?.superuser &&
      !book.reaches(role, owner) &&
      concerned.some(({ grantee }) => grantee === null || book.reaches(role, grantee)),
  )
  if (roles.length === 0) return null
  const privileges = [...new Set(concerned.map(({ privilege }) => privilege))].sort()
  const isPublic = concerned.some(({ grantee }) => grantee === null)
  return {
    list: [...new Set(concerned.map(({ grantee }) => quoteGrantee(grantee)))].join(', '),
    privileges,
    lost: isPublic ? findLost(acl, privileges, keepersOf(owner)) : { roles: [], privileges: [] },
    roles,
  }
}

export function revokeFrom({ privileges, list, lost }: Grantees, on: string): string {
  return writeRevoke({ on, privileges, list, lost })
}
