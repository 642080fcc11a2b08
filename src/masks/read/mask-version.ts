import type { Database } from '../../db/database.ts'
import type { Sql } from '../../db/sql.ts'
import { findGuard } from './guard.ts'

/**
 * Another text as soon as masks or exemptions are other ones, or there is a new view, rule or policy or another
 * definition of one: it may read twins. A replaced view keeps its OID, and gets another transaction. Names of
 * relations with views, rules, policies or masks and of schemas count as such: their rows change with every TRUNCATE
 * and REFRESH, too. So do names of columns with masks.
 */
export async function readMaskVersion(sql: Sql): Promise<string> {
  const guard = await findGuard(sql)
  if (guard === null) return ''
  const [row] = await sql<{ version: string }[]>`
    with named as (
      select ev_class as oid from pg_catalog.pg_rewrite where oid >= 16384
      union select polrelid from pg_catalog.pg_policy union select oid from ${sql(guard)}.relation
    ), changed as (
      select xmin::text::int8 as part from pg_catalog.pg_rewrite where oid >= 16384
      union all select xmin::text::int8 from pg_catalog.pg_policy
      union all select pg_catalog.hashtextextended(c.relname::text, (c.relnamespace::int8 << 32) | c.oid::int8)
        from named join pg_catalog.pg_class c using (oid)
      union all select pg_catalog.hashtextextended(a.attname::text, (g.oid::int8 << 16) | a.attnum::int8)
        from ${sql(guard)}.relation g cross join lateral pg_catalog.jsonb_to_recordset(g.pins) as p(number int)
        join pg_catalog.pg_attribute a on a.attrelid = g.oid and a.attnum = p.number
      union all select pg_catalog.hashtextextended(nspname::text, oid::int8) from pg_catalog.pg_namespace
        where nspname !~ '^pg_'
    )
    select concat_ws('/', count(*), max(updated_at), sum(oid::bigint), (select exempt::text from ${sql(guard)}.policy),
      (select concat_ws('.', count(*), sum(part)) from changed)) as version
    from ${sql(guard)}.relation where twin is not null`
  return row?.version ?? ''
}

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
