import type { Sql } from '../../db/sql.ts'
import { guardSchema, twinOwnerName } from '../names.ts'
import type { Target } from '../policy.ts'
import { findRelations } from '../read-relations.ts'

/**
 * The masked tables that roles own, with partitions, children, parents and materialized views over them, by the role's
 * OID: owners see raw values. A plain view shows its owner no more than the owner may see without it.
 */
export async function findOwned(
  sql: Sql,
  owners: readonly number[],
  tables: readonly Target[],
): Promise<Map<number, string[]>> {
  const [place] = await sql<{ database: string; isGuarded: boolean }[]>`
    select current_database()::text as database, exists (
      select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${guardSchema} and c.relname = 'relation' and pg_catalog.has_schema_privilege(n.oid, 'USAGE')
        and pg_catalog.has_table_privilege(c.oid, 'SELECT')) as "isGuarded"`
  if (!place) throw new Error('the server did not answer')
  const { database, isGuarded } = place
  const oids = await findRelations(sql, tables, isGuarded, 'all', twinOwnerName(database))
  // Views over twins are none of it.
  const isCopy = isGuarded
    ? sql`exists (select 1 from ${sql(guardSchema)}.relation g where g.oid = c.oid)`
    : sql`true`
  const rows = await sql<{ owner: number; name: string }[]>`
    select c.relowner::int8 as owner, format('%I.%I', n.nspname, c.relname) as name
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid = any(${oids}::int8[]::oid[]) and c.relowner = any(${owners}::int8[]::oid[])
      and (c.relkind in ('r', 'p', 'f') or c.relkind = 'm' and c.relispopulated and ${isCopy})
    order by 2`
  return new Map(
    owners.map((oid) => [oid, rows.filter(({ owner }) => owner === oid).map(({ name }) => name)]),
  )
}
