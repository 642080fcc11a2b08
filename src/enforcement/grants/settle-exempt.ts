import type { Fragment, Query } from '../../db/query.ts'
import type { Sql } from '../../db/sql.ts'
import { readPlace } from '../guard/kept-records.ts'
import { everybody } from '../names.ts'
import { readRoles } from '../observe.ts'
import type { Policy } from '../policy.ts'
import { listRoleMakers } from './roles.ts'

export interface KnownRole {
  /** Of the role that the entry named when it was first looked at; null: there was none. */
  readonly oid: number | null
  /**
   * None but the first role counts any more: another one had the name later, which a role with CREATEROLE may have created, or the
   * entry named an object of the directory.
   */
  readonly isTaken: boolean
  /**
   * A turn judged the entry while a role that is not trusted had CREATEROLE. A role that takes the name later does not count, also when
   * CREATEROLE is gone by then: it may have been renamed in a transaction that was open, or between two turns (ENF-357).
   */
  readonly isPinned: boolean
}

/** By entry of an exempt list. */
export type KnownRoles = ReadonlyMap<string, KnownRole>

export interface StoredRole extends KnownRole {
  readonly entry: string
  readonly place: string
  /** Another one after every write of the row. */
  readonly version: string
}

export interface ExemptRoleStore {
  /** Replaces the rows that were read. False: a row was written since, and stays as it is (ENF-326). */
  write(place: string, known: KnownRoles, read: readonly StoredRole[]): Promise<boolean>
}

/** A query that locks a database as writers of its policy do, which masking holds; part of a larger statement here. */
export type DatabaseLock = (sql: Sql, databaseId: string) => Fragment

export interface SettledExempt {
  readonly exemptRoles: readonly string[]
  /** Entries that exempt nothing, as the role that has the name now is not the one that they meant. */
  readonly takenNames: readonly string[]
  readonly judgedRoles: NonNullable<Policy['judgedRoles']>
}

/**
 * An entry exempts the role that it named when it was stored. A role that takes the name later counts too, unless a role other than
 * superusers and the binding's may create roles: that role could have taken the name to be exempt, or to stay so. Since PostgreSQL 16
 * its creator could have hidden its tracks, so it does not matter which role holds ADMIN on it. Before 16 CREATEROLE reaches every role
 * anyway. A name that was taken so stays refused: an operator who then takes CREATEROLE away must not exempt the role by that. PostgreSQL
 * does not tell when a name was taken, so every entry that is judged while there is such a role stays with its first role. Also refused is
 * the name of a directory object: deleting or renaming the object must not exempt a role that waits under its name (ENF-315).
 * `stored` is what the store had when the entries were read. `isStored`: false leaves it as it is, for entries that are proposed
 * alone. Null: the store has other rows by now, so that nothing is judged.
 */
export async function settleExempt(
  sql: Sql,
  store: ExemptRoleStore,
  stored: readonly StoredRole[],
  { exemptRoles: entries, namedEntries = [] }: Pick<Policy, 'exemptRoles' | 'namedEntries'>,
  isStored: boolean,
): Promise<SettledExempt | null> {
  const named = entries.filter((entry) => entry.toLowerCase() !== everybody)
  const isEmpty = named.length + namedEntries.length === 0
  const place = isEmpty ? '' : await readPlace(sql)
  const known: KnownRoles = new Map(stored.flatMap((row) => carryOver(row, place)))
  if (isEmpty && known.size === 0) return { exemptRoles: entries, takenNames: [], judgedRoles: new Map() }
  const [server] = await sql<{ version: number; user: string }[]>`
    select current_setting('server_version_num')::int as version, current_user::text as user`
  const roles = await readRoles(sql, server?.version ?? 0)
  const oidOf = (entry: string) => roles.get(entry)?.oid ?? null
  const isLate = (entry: string) => {
    const [before, now] = [known.get(entry), oidOf(entry)]
    return before !== undefined && now !== null && before.oid !== now
  }
  const late = named.filter(isLate)
  const hasMakers = listRoleMakers(roles, server?.user ?? '').length > 0
  const isRefused = (one: KnownRole | undefined) => hasMakers || one?.isTaken || one?.isPinned
  const takenNames = late.filter((entry) => isRefused(known.get(entry)))
  const keep = (entry: string): KnownRole => {
    const { oid: before = null, isTaken: wasTaken = false, isPinned = false } = known.get(entry) ?? {}
    const isTaken = wasTaken || takenNames.includes(entry)
    return { oid: isTaken ? before : (oidOf(entry) ?? before), isTaken, isPinned: isPinned || hasMakers }
  }
  const next = new Map([
    ...named.map((entry) => [entry, keep(entry)] as const),
    ...namedEntries.map((entry) => [entry, { oid: null, isTaken: true, isPinned: false }] as const),
  ])
  if (isStored && !isSame(known, next) && !(await store.write(place, next, stored))) return null
  return {
    exemptRoles: entries.filter((entry) => !takenNames.includes(entry)),
    takenNames,
    judgedRoles: new Map(named.map((entry) => [entry, oidOf(entry)])),
  }
}

/**
 * Databases of a server share its roles, so an entry counts for a database that was made anew. Another server gives OIDs to
 * other roles: there an entry is looked at as if it were new, unless its name was taken or free to be taken. Such names stay refused.
 */
function carryOver({ entry, place, oid, isTaken, isPinned }: StoredRole, now: string): [string, KnownRole][] {
  if (now === '' || systemOf(place) === systemOf(now)) return [[entry, { oid, isTaken, isPinned }]]
  return isTaken || (isPinned && oid === null) ? [[entry, { oid: null, isTaken, isPinned }]] : []
}

const systemOf = (place: string) => place.slice(0, place.indexOf('/'))

function isSame(one: KnownRoles, other: KnownRoles): boolean {
  const isEqual = (a: KnownRole, b: KnownRole | undefined) =>
    a.oid === b?.oid && a.isTaken === b.isTaken && a.isPinned === b.isPinned
  return one.size === other.size && [...one].every(([entry, role]) => isEqual(role, other.get(entry)))
}

/** A column of the statement that reads the exempt list: records and list are of one moment. */
export function selectRecords(sql: Sql, databaseId: Fragment): Fragment {
  return sql`
    (select coalesce(jsonb_agg(jsonb_build_object('entry', entry, 'place', place, 'oid', role_oid, 'isTaken', is_taken,
      'isPinned', is_pinned, 'version', xmin::text) order by entry), '[]') from exempt_role where database_id = ${databaseId})`
}

export function createExemptRoleStore(sql: Sql, databaseId: string, lock: DatabaseLock): ExemptRoleStore {
  return {
    // The lock of the database comes first. Without it the foreign key takes it behind the rows, and a write of the policy, which has
    // it, would wait for them.
    async write(place, known, read) {
      const versions = new Map(read.map(({ entry, version }) => [entry, version]))
      const gone = read.filter(({ entry }) => !known.has(entry))
      const roles = [...known].map(([entry, role]) => ({
        entry,
        ...role,
        version: versions.get(entry) ?? null,
      }))
      const [written] = await sql<{ rows: number }[]>`
        with held as materialized (${lock(sql, databaseId)}),
        judged as (
          select h.id, k.* from held h cross join unnest(${roles.map(({ entry }) => entry)}::text[],
            ${roles.map(({ oid }) => oid)}::int8[], ${roles.map(({ isTaken }) => isTaken)}::boolean[],
            ${roles.map(({ isPinned }) => isPinned)}::boolean[], ${roles.map(({ version }) => version)}::text[])
            as k(entry, oid, is_taken, is_pinned, version)
        ), gone as (
          delete from exempt_role e using held h cross join unnest(${gone.map(({ entry }) => entry)}::text[],
            ${gone.map(({ version }) => version)}::text[]) as g(entry, version)
          where e.database_id = h.id and e.entry = g.entry and e.xmin::text = g.version returning 1
        ), kept as (
          update exempt_role e set place = ${place}, role_oid = j.oid, is_taken = j.is_taken, is_pinned = j.is_pinned
          from judged j
          where e.database_id = j.id and e.entry = j.entry and e.xmin::text = j.version returning 1
        ), fresh as (
          insert into exempt_role (database_id, place, entry, role_oid, is_taken, is_pinned)
          select id, ${place}, entry, oid, is_taken, is_pinned from judged where version is null
          on conflict (database_id, entry) do nothing returning 1
        )
        select ((select count(*) from gone) + (select count(*) from kept) + (select count(*) from fresh))::int4 as rows`
      return written?.rows === gone.length + roles.length
    },
  }
}

export interface StoredEntries {
  /** Not on the list before. What was known about a former entry of the name counts no more. */
  readonly added: readonly string[]
  /** Those that name directory objects: the objects may be gone by the time of the first turn. */
  readonly named: readonly string[]
}

/** Part of the transaction that stores the entries, which holds the lock of the database. The place is not known here. */
export async function recordEntries(
  tx: Query,
  databaseId: string,
  { added, named }: StoredEntries,
): Promise<void> {
  await tx`delete from exempt_role where database_id = ${databaseId} and entry = any(${added}::text[])`
  await tx`
    insert into exempt_role (database_id, place, entry, role_oid, is_taken)
    select ${databaseId}, '', entry, null, true from unnest(${named}::text[]) as e(entry) order by entry
    on conflict (database_id, entry) do update set place = '', role_oid = null, is_taken = true, is_pinned = false`
}
