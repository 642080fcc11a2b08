import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import type { Note } from '../plan.ts'
import { desireLogins } from './desire-logins.ts'
import { diffLogins, type LoginPlan, type WantedLogin } from './diff-logins.ts'
import { findOwning } from './find-owning.ts'
import {
  findNames,
  type LoginSnapshot,
  type ObservedLogin,
  observeLogins,
  readFacts,
} from './observe-logins.ts'
import type { LoginOutcome, LoginsOptions } from './ports.ts'

/** Login roles as they are, as they should be, and the changes between the two. */
export interface PlannedLogins {
  readonly snapshot: LoginSnapshot
  readonly wanted: ReadonlyMap<string, WantedLogin>
  readonly plan: LoginPlan
  readonly notes: readonly Note[]
  /** Principals that are refused because their login roles own masked tables. */
  readonly owning: ReadonlySet<string>
}

/** Plans the login roles of one principal, with those that hold its name, or of all principals. */
export async function planLogins(
  { source, keys, readExemptElsewhere }: Pick<LoginsOptions, 'source' | 'keys' | 'readExemptElsewhere'>,
  sql: Sql,
  databaseId: string,
  principalId?: string,
): Promise<PlannedLogins> {
  const asked = principalId === undefined ? [] : [principalId]
  const isBound = async (id: string) => (await source.find(id)) !== null
  const observe = (named: readonly string[]) =>
    observeLogins(sql, databaseId, principalId, named, keys, isBound)
  const [facts, target, own, all] = await Promise.all([
    readFacts(sql),
    source.find(databaseId),
    asked.length === 0 ? undefined : source.readLogins(databaseId, asked),
    asked.length === 0 ? observe([]) : undefined,
  ])
  const roleNameOf = (name: string) => keys.roleName(name, facts.database)
  const names = (own?.rights ?? []).map(({ name }) => roleNameOf(name))
  const hasOthers = (target?.places?.length ?? 1) > 1
  const observed = { ...facts, hasOthers, ...(all ?? (await observe(names))) }
  const principals = [...new Set([...asked, ...observed.logins.map(({ mark }) => mark.principalId)])]
  if (principals.length === 0)
    return {
      snapshot: observed,
      wanted: new Map(),
      plan: { aside: [], unmoved: [], changes: [] },
      notes: [],
      owning: new Set(),
    }
  const [{ rights, tables }, isExemptElsewhere] = await Promise.all([
    own && principals.length === 1 ? own : source.readLogins(databaseId, principals),
    readExemptElsewhere(sql, databaseId),
  ])
  const { wanted, notes } = await desireLogins(
    sql,
    rights,
    tables,
    observed.logins,
    roleNameOf,
    isExemptElsewhere,
  )
  const owning = await findOwning(sql, databaseId, source, observed.logins, wanted)
  for (const id of owning.keys()) wanted.delete(id)
  // Names that were asked for have been looked at together with the marks: a role that came since is none without one.
  const known = new Set([...names, ...observed.logins.map(({ name }) => name)])
  const others = [...wanted.values()].map(({ role }) => role).filter((role) => !known.has(role))
  const snapshot = { ...observed, taken: new Set([...observed.taken, ...(await findNames(sql, others))]) }
  return {
    snapshot,
    wanted,
    notes: [...notes, ...owning.values()],
    plan: diffLogins(snapshot, wanted, keys.sign),
    owning: new Set(owning.keys()),
  }
}

export function refuse(planned: PlannedLogins, principalId: string): LoginOutcome | undefined {
  const { snapshot, wanted, owning } = planned
  const { logins, taken, createsRoles, user } = snapshot
  if (owning.has(principalId))
    return { kind: 'ownsMasked', role: findLogin(planned, principalId)?.name ?? '' }
  const role = wanted.get(principalId)?.role
  if (role === undefined) return { kind: 'noRole' }
  if (taken.has(role)) return { kind: 'nameTaken', role }
  if (logins.some(({ mark }) => mark.principalId === principalId) || createsRoles) return undefined
  return { kind: 'notAllowed', statement: `ALTER ROLE ${quoteIdentifier(user)} CREATEROLE` }
}

export function findLogin({ snapshot }: PlannedLogins, principalId: string): ObservedLogin | undefined {
  return snapshot.logins.find(({ mark }) => mark.principalId === principalId)
}

export function isEmpty({ aside, changes }: LoginPlan): boolean {
  return aside.length === 0 && changes.length === 0
}
