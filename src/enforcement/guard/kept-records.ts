import type { Sql } from '../../db/sql.ts'
import type { StoredGuard } from './stored-grants.ts'

/**
 * Records of grants that the service keeps itself, for a database in which the role of the binding may not create the schema
 * of its records. They move there with the first plan that can create it.
 */
export interface KeptRecords {
  read(place: string): Promise<StoredGuard[]>
  /** Replaces all records of the database. Written before a grant is revoked, and removed after it was given back. */
  write(place: string, records: readonly StoredGuard[]): Promise<void>
  /** The database has its own records, or none are needed. */
  clear(): Promise<void>
}

/** Tables and roles are recorded by OID, which another server gives to others. */
export async function readPlace(sql: Sql): Promise<string> {
  const [row] = await sql<{ place: string }[]>`
    select pg_catalog.concat_ws('/', (select system_identifier from pg_catalog.pg_control_system()), oid) as place
    from pg_catalog.pg_database where datname = current_database()`
  return row?.place ?? ''
}

export function createKeptRecords(sql: Sql, databaseId: string): KeptRecords {
  return {
    async read(place) {
      const rows = await sql<{ record: StoredGuard }[]>`
        select record from closed_relation where database_id = ${databaseId} and place = ${place} order by oid`
      return rows.map(({ record }) => record)
    },

    async write(place, records) {
      await sql`
        with gone as (
          delete from closed_relation where database_id = ${databaseId} and place = ${place}
            and oid <> all(${records.map(({ oid }) => oid)}::int8[])
        )
        insert into closed_relation (database_id, place, oid, record)
        select ${databaseId}, ${place}, (r ->> 'oid')::int8, r from jsonb_array_elements(${sql.json(records)}::jsonb) r
        on conflict (database_id, place, oid) do update set record = excluded.record`
    },

    async clear() {
      await sql`delete from closed_relation where database_id = ${databaseId}`
    },
  }
}
