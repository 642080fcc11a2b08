import { quoteIdentifier } from '../../db/quote.ts'
import type { Query, Row, Sql } from '../../db/sql.ts'
import type { AclEntry, Grantees, Scene } from './exposure.ts'

/** SQL for an access control list as JSON of `AclEntry`, of these privileges alone. */
export function aclEntries(sql: Sql, acl: Query<Row[]>, privileges: readonly string[]) {
  return sql`coalesce((
    select jsonb_agg(distinct jsonb_build_object('grantee', e.rolname, 'privilege', x.privilege_type))
    from pg_catalog.aclexplode(${acl}) x left join pg_catalog.pg_roles e on e.oid = x.grantee
    where x.privilege_type = any(${privileges}::text[]) and (x.grantee = 0 or e.oid is not null)), '[]')`
}

/** The grantees that are to see masks; null: there are none. Owners need no grant. */
export function findMaskedGrantees(scene: Scene, acl: readonly AclEntry[], owner: string): Grantees | null {
  const isTrusted = (role: string) => role === owner || scene.ours.includes(role) || scene.exempt.has(role)
  const concerned = acl.filter(({ grantee }) => grantee === null || !isTrusted(grantee))
  const holders = concerned.map(({ grantee }) => grantee)
  const roles = listReaders(scene, owner, holders)
  if (roles.length === 0) return null
  const names = holders.map((holder) => (holder === null ? 'PUBLIC' : quoteIdentifier(holder)))
  return {
    list: [...new Set(names)].join(', '),
    privileges: [...new Set(concerned.map(({ privilege }) => privilege))].sort(),
    roles,
  }
}

/** The masked roles that are one of the holders or may become it; null: PUBLIC. Not those that may become the owner. */
export function listReaders(
  { watched, roles, reaches }: Scene,
  owner: string | null,
  holders: readonly (string | null)[],
): string[] {
  return watched.filter(
    (role) =>
      !roles.get(role)?.superuser &&
      !(owner !== null && reaches(role, owner)) &&
      holders.some((holder) => holder === null || reaches(role, holder)),
  )
}

/** `on`: as the statement names it, `ROUTINE app.peek()`. */
export const revokeFrom = ({ privileges, list }: Grantees, on: string) =>
  `REVOKE ${privileges.join(', ')} ON ${on} FROM ${list}`
