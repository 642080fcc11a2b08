import type { Fragment, Query } from '../../db/query.ts'
import type { Sql } from '../../db/sql.ts'
import { everybody } from '../names.ts'
import type { Policy } from '../policy.ts'
import { readPlace } from './guard.ts'

/** The role that an entry of an exempt list named when a turn first looked at it. Null: there was none. */
export interface EntryRole {
  readonly entry: string
  readonly oid: number | null
}

export interface StoredRole extends EntryRole {
  /** Empty: the entry named an object of the directory when it was stored, and means no role. */
  readonly place: string
}

/**
 * Stores what is not there yet, and returns what is there then: another turn or a write of the policy may have been
 * first.
 */
export type StoreRoles = (place: string, roles: readonly EntryRole[]) => Promise<readonly EntryRole[]>

/** A query that locks a database as writers of its policy do, which masking holds; part of a larger statement here. */
export type DatabaseLock = (sql: Sql, databaseId: string) => Fragment

/**
 * An entry exempts the role that it named when a turn first looked at it. A role that takes the name later is never
 * exempt: another role may have created it for that. Another server gives OIDs to other roles: there an entry that
 * had a role is looked at as if it were new. `isStored`: false leaves the store as it is, for entries that are
 * proposed alone.
 */
export async function judgeExempt(
  sql: Sql,
  store: StoreRoles,
  stored: readonly StoredRole[],
  { exemptRoles: entries }: Pick<Policy, 'exemptRoles'>,
  isStored: boolean,
): Promise<Required<Pick<Policy, 'exemptRoles' | 'takenNames' | 'judgedRoles'>>> {
  const named = entries.filter((entry) => entry.toLowerCase() !== everybody)
  if (named.length === 0) return { exemptRoles: entries, takenNames: [], judgedRoles: new Map() }
  const [place, roles] = await Promise.all([
    readPlace(sql),
    sql<EntryRole[]>`
      select e as entry, r.oid::int8 as oid from unnest(${named}::text[]) e
      left join pg_catalog.pg_roles r on r.rolname = e`,
  ])
  const now = new Map(roles.map(({ entry, oid }) => [entry, oid]))
  const counts = (one: StoredRole) => one.oid === null || systemOf(one.place) === systemOf(place)
  const known = new Map(stored.filter(counts).map(({ entry, oid }) => [entry, oid]))
  const fresh = roles.filter(({ entry }) => !known.has(entry))
  const added = isStored && fresh.length > 0 ? await store(place, fresh) : fresh
  for (const { entry, oid } of added) known.set(entry, oid)
  const isTaken = (entry: string) => now.get(entry) !== null && now.get(entry) !== known.get(entry)
  return {
    exemptRoles: entries.filter((entry) => !now.has(entry) || !isTaken(entry)),
    takenNames: named.filter(isTaken),
    judgedRoles: now,
  }
}

const systemOf = (place: string) => place.slice(0, place.indexOf('/'))

/** A column of the statement that reads the exempt list: records and list are of one moment. */
export function selectRecords(sql: Sql, databaseId: Fragment): Fragment {
  return sql`
    (select coalesce(jsonb_agg(
        jsonb_build_object('entry', entry, 'place', place, 'oid', role_oid) order by entry), '[]')
      from exempt_role where database_id = ${databaseId})`
}

export const storeRoles =
  (sql: Sql, databaseId: string, lock: DatabaseLock): StoreRoles =>
  async (place, roles) => {
    const entries = roles.map(({ entry }) => entry)
    // The lock of the database comes first. Without it the foreign key takes it behind the rows, and a write of the
    // policy, which has it, would wait for them.
    await sql`
        with held as materialized (${lock(sql, databaseId)})
        insert into exempt_role as e (database_id, place, entry, role_oid)
        select h.id, ${place}, r.entry, r.oid
        from held h cross join unnest(${entries}::text[], ${roles.map(({ oid }) => oid)}::int8[]) as r(entry, oid)
        on conflict (database_id, entry) do update set place = excluded.place, role_oid = excluded.role_oid
        where e.role_oid is not null and split_part(e.place, '/', 1) <> split_part(excluded.place, '/', 1)`
    return await sql<EntryRole[]>`
        select entry, role_oid as oid from exempt_role
        where database_id = ${databaseId} and entry = any(${entries}::text[])`
  }

export interface StoredEntries {
  /** On the list now or before, and not both. What was known about an entry of the name counts no more. */
  readonly changed: readonly string[]
  /** Those that name directory objects: the objects may be gone by the time of the first turn. */
  readonly named: readonly string[]
}

/**
 * Part of the transaction that stores the entries, which holds the lock of the database. The place is not known here.
 */
export async function recordEntries(
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
