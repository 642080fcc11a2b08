import type { EntryRole, StoreRoles } from '../../contracts/enforcement.ts'
import type { Sql } from '../../db/sql.ts'
import { everybody } from '../../masks/names.ts'
import type { Policy } from '../../masks/policy.ts'
import { readPlace } from '../../masks/read/guard.ts'

/** Entries that name an object of the directory, and therefore no role. */
export interface NamedEntries {
  readonly namedEntries: readonly string[]
}

export interface StoredRole extends EntryRole {
  /** Empty: the entry named an object of the directory when it was stored, and means no role. */
  readonly place: string
}

/**
 * An entry exempts the role that it named when a turn first looked at it. A role that takes the name later is never
 * exempt: another role may have created it for that. Another server gives OIDs to other roles: there an entry that
 * had a role is looked at as if it were new. `namedEntries` name objects of the directory, and exempt no role of their
 * name. `isStored`: false leaves the store as it is, for entries that are proposed alone.
 */
export async function judgeEntries(
  sql: Sql,
  store: StoreRoles,
  stored: readonly StoredRole[],
  { exemptRoles: entries, namedEntries }: Pick<Policy, 'exemptRoles'> & NamedEntries,
  isStored: boolean,
): Promise<Required<Pick<Policy, 'exemptRoles' | 'takenNames' | 'judgedRoles'>>> {
  const named = entries.filter((entry) => entry.toLowerCase() !== everybody)
  const all = [...named, ...namedEntries]
  if (all.length === 0) return { exemptRoles: entries, takenNames: [], judgedRoles: new Map() }
  const [place, roles] = await Promise.all([
    readPlace(sql),
    sql<EntryRole[]>`
      select e as entry, r.oid::int8 as oid from unnest(${all}::text[]) e
      left join pg_catalog.pg_roles r on r.rolname = e`,
  ])
  const now = new Map(roles.map(({ entry, oid }) => [entry, oid]))
  const counts = (one: StoredRole) => one.oid === null || systemOf(one.place) === systemOf(place)
  const known = new Map(stored.filter(counts).map(({ entry, oid }) => [entry, oid]))
  const fresh = roles.filter(({ entry }) => named.includes(entry) && !known.has(entry))
  const added = isStored && fresh.length > 0 ? await store(place, fresh) : fresh
  for (const { entry, oid } of added) known.set(entry, oid)
  const isTaken = (entry: string) =>
    now.get(entry) !== null && (namedEntries.includes(entry) || now.get(entry) !== known.get(entry))
  return {
    exemptRoles: entries.filter((entry) => !now.has(entry) || !isTaken(entry)),
    takenNames: all.filter(isTaken),
    judgedRoles: now,
  }
}

const systemOf = (place: string) => place.slice(0, place.indexOf('/'))
