import type { Sql } from '../../db/sql.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import { everybody } from '../../masks/names.ts'
import { findGuard } from '../../masks/read/guard.ts'

/**
 * Those of the roles, by OID, that the records have as exempt, or had while something may still be open to them, or
 * that are members of one of these. An entry with a process id or a place is about sessions alone.
 */
export async function listRecordedExempt(sql: Sql, roles: readonly number[]): Promise<number[]> {
  const schema = roles.length === 0 ? null : await findGuard(sql)
  if (schema === null) return []
  // As JSON, because records of an earlier release lack columns.
  const rows = await sql<{ oid: number }[]>`
    with policy as (
      select pg_catalog.to_jsonb(p) as record from ${sql(schema)}.policy p
    ), listed (role) as (
      select oid::oid from policy, pg_catalog.jsonb_array_elements_text(
        case pg_catalog.jsonb_typeof(record -> 'exempt_oids')
          when 'array' then record -> 'exempt_oids' else '[]' end) as oid
      union
      select (entry ->> 'role')::oid
      from policy, pg_catalog.jsonb_array_elements(coalesce(record -> 'open', '[]')) as entry
      where not entry ?| '{pid,place}'
      union
      select r.oid from policy join pg_catalog.pg_roles r on record -> 'exempt' ? r.rolname::text
      where coalesce(record -> 'exempt_oids', 'null') = 'null'
    )
    select asked.oid from policy, pg_catalog.unnest(${roles}::int8[]) as asked (oid)
    where record -> 'exempt' ? ${everybody} or exists (
      select from listed join pg_catalog.pg_roles r on r.oid = listed.role
      where pg_catalog.pg_has_role(asked.oid::oid, r.oid, 'MEMBER'))`.catch((error: unknown) => {
    // Another node has removed the last mask since.
    if (codeOf(error) === sqlstate.undefinedTable) return []
    throw error
  })
  return rows.map(({ oid }) => oid)
}
