import type { EntryRole, StoreRoles } from '../../contracts/enforcement.ts'
import type { Fragment, Query } from '../../db/query.ts'
import { selectBound } from '../binding/find-bound.ts'
import { lockDatabase } from '../databases/database-row.ts'

/** A column of the statement that reads the exempt list: records and list are of one moment. */
export function selectRecords(sql: Query, databaseId: Fragment): Fragment {
  return sql`
    (select coalesce(jsonb_agg(
        jsonb_build_object('entry', entry, 'place', place, 'oid', role_oid) order by entry), '[]')
      from exempt_role where database_id = ${databaseId})`
}

export const storeRoles =
  (sql: Query, databaseId: string): StoreRoles =>
  async (place, roles) => {
    const entries = roles.map(({ entry }) => entry)
    // The lock of the database comes first. Without it the foreign key takes it behind the rows, and a write of the
    // policy, which has it, would wait for them.
    await sql`
        with held as materialized (${lockDatabase(sql, databaseId)})
        insert into exempt_role as e (database_id, place, entry, role_oid)
        select h.id, ${place}, r.entry, r.oid
        from held h cross join unnest(${entries}::text[], ${roles.map(({ oid }) => oid)}::int8[]) as r(entry, oid)
        on conflict (database_id, entry) do update set place = excluded.place, role_oid = excluded.role_oid
        where e.role_oid is not null and split_part(e.place, '/', 1) <> split_part(excluded.place, '/', 1)`
    return await sql<EntryRole[]>`
        select entry, role_oid as oid from exempt_role
        where database_id = ${databaseId} and entry = any(${entries}::text[])`
  }

/** The roles, by OID, that the exempt lists of other bound databases of a server name. */
export async function readExemptElsewhere(sql: Query, place: string, databaseId: string) {
  const [system = ''] = place.split('/')
  const rows = await sql<{ oid: number }[]>`
    select e.role_oid as oid from exempt_role e join (${selectBound(sql)}) d on d.id = e.database_id
    where pg_catalog.starts_with(e.place, ${`${system}/`}) and e.database_id <> ${databaseId}
      and e.role_oid is not null`
  return new Set(rows.map(({ oid }) => oid))
}

interface StoredEntries {
  /** On the list now or before, and not both. What was known about an entry of the name counts no more. */
  readonly changed: readonly string[]
  /** Those that name directory objects: the objects may be gone by the time of the first turn. */
  readonly named: readonly string[]
}

/**
 * Part of the transaction that stores the entries, which holds the lock of the database. The place is not known here.
 */
export async function storeEntries(
  tx: Query,
  databaseId: string,
  { changed, named }: StoredEntries,
): Promise<void> {
  await tx`delete from exempt_role where database_id = ${databaseId} and entry = any(${changed}::text[])`
  await tx`
    insert into exempt_role (database_id, place, entry, role_oid)
    select ${databaseId}, '', entry, null from unnest(${named}::text[]) as e(entry) order by entry
    on conflict (database_id, entry) do update set place = '', role_oid = null`
}
