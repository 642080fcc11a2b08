import type { Sql } from '../../db/sql.ts'
import { guardSchema } from '../names.ts'

/**
 * Selects the schema of our records. Any role that may create schemas can take its name first, so a schema of another
 * role is not ours, whatever its name: ours belongs to the role of the binding or to a superuser.
 */
export function selectGuard(sql: Sql) {
  return sql`
    select n.oid, n.nspname, n.nspowner from pg_catalog.pg_namespace n
    join pg_catalog.pg_roles o on o.oid = n.nspowner and (o.rolname = current_user or o.rolsuper)
    where pg_catalog.starts_with(n.nspname, ${guardSchema}) and exists (
      select from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relname = 'relation')
    order by n.oid limit 1`
}

/** Null: the database has no records of ours, or none that the role of the binding may read. */
export async function findGuard(sql: Sql): Promise<string | null> {
  const [row] = await sql<{ schema: string }[]>`
    select g.nspname::text as schema from (${selectGuard(sql)}) g
    join pg_catalog.pg_class c on c.relnamespace = g.oid and c.relname = 'policy'
    where pg_catalog.has_schema_privilege(g.oid, 'USAGE') and pg_catalog.has_table_privilege(c.oid, 'SELECT')`
  return row?.schema ?? null
}
