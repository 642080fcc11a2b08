import type { Sql } from '../../db/sql.ts'
import type { StoredGuard } from './stored-grants.ts'

/**
 * Records of grants that the service keeps itself: a copy of those in the database, which a superuser may drop, or the only
 * ones, where the role of the binding may not create their schema. They move there with the first plan that can create it.
 */
export interface KeptRecords {
  read(place: string): Promise<StoredGuard[]>
  /** Null: no copy was made. A node of an earlier release clears the records: the copy then has an empty version. */
  readCopy(
    place: string,
  ): Promise<(Pick<RecordCopy, 'version'> & { readonly restoredAt: Date | null }) | null>
  copy(copy: RecordCopy): Promise<void>
  /** Replaces all records of the database. Written before a grant is revoked, and removed after it was given back. */
  write(place: string, records: readonly StoredGuard[]): Promise<void>
  /** No records are needed any more. */
  clear(): Promise<void>
}

/** Records as they are in a database. */
export interface RecordCopy {
  readonly place: string
  /** Of the record in the database. */
  readonly version: string
  /** Those that differ from the last copy. */
  readonly records: readonly StoredGuard[]
  /** All relations of which there is one. */
  readonly oids: readonly number[]
  /** They were dropped in the database, and written back. */
  readonly isRestored: boolean
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

    async readCopy(place) {
      const [row] = await sql<{ version: string; restoredAt: Date | null }[]>`
        select case when split_part(version, '/', 1)::int8 = (select count(*) from closed_relation k
            where k.database_id = c.database_id and k.place = c.place) then version else '' end as version,
          restored_at as "restoredAt"
        from copied_record c where database_id = ${databaseId} and place = ${place}`
      return row ?? null
    },

    async copy({ place, version, records, oids, isRestored }) {
      await sql`
        with gone as (
          delete from closed_relation
          where database_id = ${databaseId} and not (place = ${place} and oid = any(${oids}::int8[]))
        ), kept as (
          insert into closed_relation (database_id, place, oid, record)
          select ${databaseId}, ${place}, (r ->> 'oid')::int8, r from jsonb_array_elements(${sql.json(records)}::jsonb) r
          on conflict (database_id, place, oid) do update set record = excluded.record
        )
        insert into copied_record as c (database_id, place, version, restored_at)
        values (${databaseId}, ${place}, ${version}, case when ${isRestored} then now() end)
        on conflict (database_id) do update set place = excluded.place, version = excluded.version,
          restored_at = coalesce(excluded.restored_at, c.restored_at)`
    },

    async clear() {
      await sql`
        with gone as (delete from closed_relation where database_id = ${databaseId})
        delete from copied_record where database_id = ${databaseId}`
    },
  }
}
