import type { Query } from '../../db/query.ts'
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
}

/** By entry of an exempt list. */
export type KnownRoles = ReadonlyMap<string, KnownRole>

export interface StoredRole extends KnownRole {
  readonly entry: string
  readonly place: string
}

export interface ExemptRoleStore {
  read(): Promise<readonly StoredRole[]>
  /** Replaces the rows that were read. Those of a write of the policy since then stay (ENF-331). */
  write(place: string, known: KnownRoles, read: readonly StoredRole[]): Promise<void>
}

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
 * anyway. A name that was taken so stays refused: an operator who then takes CREATEROLE away must not exempt the role by that. So does
 * the name of a directory object: deleting or renaming the object must not exempt a role that waits under its name (ENF-315).
 * `stored` is what the store has. `isStored`: false leaves it as it is, for entries that are proposed alone.
 */
export async function settleExempt(
  sql: Sql,
  store: ExemptRoleStore,
  stored: readonly StoredRole[],
  { exemptRoles: entries, namedEntries = [] }: Pick<Policy, 'exemptRoles' | 'namedEntries'>,
  isStored: boolean,
): Promise<SettledExempt> {
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
  const makers = late.length === 0 ? [] : listRoleMakers(roles, server?.user ?? '')
  const takenNames = late.filter((entry) => makers.length > 0 || known.get(entry)?.isTaken)
  const keep = (entry: string): KnownRole => {
    const { oid: before = null, isTaken: wasTaken = false } = known.get(entry) ?? {}
    const isTaken = wasTaken || takenNames.includes(entry)
    return { oid: isTaken ? before : (oidOf(entry) ?? before), isTaken }
  }
  const next = new Map([
    ...named.map((entry) => [entry, keep(entry)] as const),
    ...namedEntries.map((entry) => [entry, { oid: null, isTaken: true }] as const),
  ])
  if (isStored && !isSame(known, next)) await store.write(place, next, stored)
  return {
    exemptRoles: entries.filter((entry) => !takenNames.includes(entry)),
    takenNames,
    judgedRoles: new Map(named.map((entry) => [entry, oidOf(entry)])),
  }
}

/**
 * Databases of a server share its roles, so an entry counts for a database that was made anew. Another server gives OIDs to
 * other roles: there an entry is looked at as if it were new, unless its name was taken. That stays refused.
 */
function carryOver({ entry, place, oid, isTaken }: StoredRole, now: string): [string, KnownRole][] {
  if (now === '' || systemOf(place) === systemOf(now)) return [[entry, { oid, isTaken }]]
  return isTaken ? [[entry, { oid: null, isTaken }]] : []
}

const systemOf = (place: string) => place.slice(0, place.indexOf('/'))

function isSame(one: KnownRoles, other: KnownRoles): boolean {
  const isEqual = (a: KnownRole, b: KnownRole | undefined) => a.oid === b?.oid && a.isTaken === b.isTaken
  return one.size === other.size && [...one].every(([entry, role]) => isEqual(role, other.get(entry)))
}

export function createExemptRoleStore(sql: Sql, databaseId: string): ExemptRoleStore {
  return {
    async read() {
      return await sql<StoredRole[]>`
        select place, entry, role_oid as oid, is_taken as "isTaken" from exempt_role where database_id = ${databaseId}`
    },

    async write(place, known, read) {
      const roles = [...known.values()]
      const gone = read.filter(({ entry }) => !known.has(entry))
      // A row of another place was written since. A taken name without a role is that of a directory object, whichever write was last.
      await sql`
        with gone as (
          delete from exempt_role e
          using unnest(${gone.map(({ entry }) => entry)}::text[], ${gone.map((row) => row.place)}::text[]) as g(entry, place)
          where e.database_id = ${databaseId} and e.entry = g.entry and e.place = g.place
        )
        insert into exempt_role (database_id, place, entry, role_oid, is_taken)
        select ${databaseId}, ${place}, entry, oid, is_taken
        from unnest(${[...known.keys()]}::text[], ${roles.map(({ oid }) => oid)}::int8[],
          ${roles.map(({ isTaken }) => isTaken)}::boolean[]) as k(entry, oid, is_taken)
        on conflict (database_id, entry) do update set place = excluded.place,
          role_oid = case when exempt_role.is_taken and exempt_role.role_oid is null then null else excluded.role_oid end,
          is_taken = exempt_role.is_taken or excluded.is_taken`
    },
  }
}

/**
 * Records entries that name directory objects, in the transaction that stores them: the objects may be gone by the time of the
 * first turn. The place is not known here.
 */
export async function recordNamedEntries(
  tx: Query,
  databaseId: string,
  entries: readonly string[],
): Promise<void> {
  await tx`
    insert into exempt_role (database_id, place, entry, role_oid, is_taken)
    select ${databaseId}, '', entry, null, true from unnest(${entries}::text[]) as e(entry) order by entry
    on conflict (database_id, entry) do update set place = '', role_oid = null, is_taken = true`
}
