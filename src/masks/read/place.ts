import type { Sql } from '../../db/sql.ts'

/** Tables and roles are recorded by OID, which another server gives to others. */
export async function readPlace(sql: Sql): Promise<string> {
  const [row] = await sql<{ place: string }[]>`
    select pg_catalog.concat_ws('/', (select system_identifier from pg_catalog.pg_control_system()), oid) as place
    from pg_catalog.pg_database where datname = current_database()`
  return row?.place ?? ''
}
