import type { Query, Row, Sql } from '../../db/sql.ts'
import type { Scene } from './exposure.ts'

/** SQL for the names of the grantees of a privilege; null: PUBLIC. */
export const granteesOf = (sql: Sql, acl: Query<Row[]>, privilege: 'SELECT' | 'EXECUTE') => sql`array(
  select distinct e.rolname::text from pg_catalog.aclexplode(${acl}) x left join pg_catalog.pg_roles e
    on e.oid = x.grantee
  where x.privilege_type = ${privilege} and (x.grantee = 0 or e.oid is not null))`

/** Grantees that are to see masks; null: PUBLIC. */
export function listMasked({ ours, exempt }: Scene, grantees: readonly (string | null)[]) {
  return grantees.filter((one) => one === null || !(ours.includes(one) || exempt.has(one)))
}

/** The masked roles that are one of the grantees or may become it. Not those that may become the owner. */
export function listReaders(
  scene: Scene,
  owner: string | null,
  grantees: readonly (string | null)[],
): string[] {
  const { watched, roles, reaches } = scene
  const masked = listMasked(scene, grantees)
  return watched.filter(
    (role) =>
      !roles.get(role)?.superuser &&
      !(owner !== null && reaches(role, owner)) &&
      masked.some((grantee) => grantee === null || reaches(role, grantee)),
  )
}
