import type { Database } from '../../db/database.ts'
import { readMaskVersion } from '../read/mask-version.ts'

/**
 * For each role a text that changes with the masks and exemptions of the database, with the role, and with its
 * memberships.
 */
export async function readStandings(
  { sql }: Pick<Database, 'sql'>,
  roles: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const version = await readMaskVersion(sql)
  const rows = await sql<{ role: string; standing: string }[]>`
    select r.rolname::text as role, concat_ws('/', r.oid, r.rolcanlogin, r.rolsuper, r.rolinherit,
      array(with recursive above (oid) as (
          select m.roleid from pg_catalog.pg_auth_members m where m.member = r.oid
          union select m.roleid from pg_catalog.pg_auth_members m join above on m.member = above.oid)
        select oid from above order by 1)) as standing
    from pg_catalog.pg_roles r where r.rolname = any(${roles}::text[]::name[])`
  return new Map(rows.map(({ role, standing }) => [role, `${standing} ${version}`]))
}
