import type { Query, Row, Sql } from '../../db/sql.ts'
import { quoteGrantee } from '../grants/grant-steps.ts'
import type { AclEntry, Grantees, Scene } from './exposure.ts'

/** SQL for an access control list as JSON of `AclEntry`, of these privileges alone. */
export function aclEntries(sql: Sql, acl: Query<Row[]>, privileges: readonly string[]) {
  return sql`coalesce((
    select jsonb_agg(distinct jsonb_build_object('grantee', e.rolname, 'privilege', x.privilege_type))
    from pg_catalog.aclexplode(${acl}) x left join pg_catalog.pg_roles e on e.oid = x.grantee
    where x.privilege_type = any(${privileges}::text[]) and (x.grantee = 0 or e.oid is not null)), '[]')`
}

/** The same of the table `c` together with its columns whose numbers are in the list. */
export function writerEntries(
  sql: Sql,
  numbers: Query<Row[]>,
  privileges: readonly string[] = ['INSERT', 'UPDATE'],
) {
  return sql`${aclEntries(sql, sql`c.relacl`, privileges)} || coalesce((
    select jsonb_agg(g) from pg_catalog.pg_attribute a,
      lateral jsonb_array_elements(${aclEntries(sql, sql`a.attacl`, privileges)}) g
    where a.attrelid = c.oid and a.attnum = any(${numbers})), '[]')`
}

/** The grantees that are to see masks; null when there are none. The owner needs no grant. */
export function findMaskedGrantees(
  { book, self, twinOwners }: Scene,
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
  return {
    list: [...new Set(concerned.map(({ grantee }) => quoteGrantee(grantee)))].join(', '),
    privileges: [...new Set(concerned.map(({ privilege }) => privilege))].sort(),
    roles,
  }
}

export function revokeFrom({ list, privileges }: Grantees, name: string): string {
  return `REVOKE ${privileges.join(', ')} ON ${name} FROM ${list} CASCADE`
}
