import { loginMarkPrefix, longestMark } from '../../db/login-mark.ts'
import type { Sql } from '../../db/sql.ts'
import { readMark } from './mark.ts'
import type { LoginKeys } from './ports.ts'

/** The other databases of the server whose login roles are members of these roles, at any depth. */
export async function findNeighbours(
  sql: Sql,
  roles: readonly string[],
  databaseId: string,
  keys: Pick<LoginKeys, 'sign' | 'signOtherwise'>,
): Promise<string[]> {
  const rows = await sql<{ oid: number; comment: string }[]>`
    with recursive held (oid) as (
      select oid from pg_catalog.pg_roles where rolname = any(${roles}::text[]::name[])
      union
      select m.member from held join pg_catalog.pg_auth_members m on m.roleid = held.oid
    )
    select held.oid::int8 as oid, d.description as comment from held join pg_catalog.pg_shdescription d
      on d.objoid = held.oid and d.classoid = 'pg_catalog.pg_authid'::pg_catalog.regclass
    where case when pg_catalog.pg_column_size(d.description) <= ${longestMark} then starts_with(d.description, ${loginMarkPrefix}) end`
  const ids = rows.flatMap(({ oid, comment }) => readMark(comment, oid, keys)?.databaseId ?? [])
  return [...new Set(ids)].filter((id) => id !== databaseId)
}
