import type { Sql } from '../db/sql.ts'
import { type Holder, nameHolder, nameRole, statementToEnd } from './holder.ts'

/** A session or a prepared transaction that holds something against enforcement. */
export interface Blocker {
  readonly holder: Holder
  /** Its OID; 0 for a worker. */
  readonly role: number
  readonly name: string
  readonly application: string
  /** Superusers, exempt roles and the role of the binding are named, and never ended. */
  readonly isSpared: boolean
  readonly target: string
}

/** Something that waits, by its name; its relations, and the sessions that were seen in the way. */
export interface Waiting {
  readonly target: string
  readonly oids: readonly number[]
  readonly holders: readonly Holder[]
  /** False: raw values may still be readable there. */
  readonly isClosed: boolean
}

/** What waits in a database, and whose sessions may keep it waiting. */
export interface Obstructed {
  readonly sql: Sql
  readonly exempt: readonly string[]
  readonly waiting: readonly Waiting[]
  /** When the turn began, which waited itself before it found that out. Absent: now. */
  readonly since?: number
  /** By relation: any lock on its twin is in the way of changing it. */
  readonly twins?: ReadonlyMap<number, { readonly twin: number | null }>
}

const lookMs = 500
/** What waits for longer than the limit, and was not helped, is tried again after so long. */
const againMs = 10_000

/**
 * Sessions in the way of enforcement. It remembers since when something waits: after a limit the sessions of masked
 * roles in its way are ended, however short each has been there. Tells when they are gone or due.
 */
export class SessionsInTheWay {
  readonly #limitMs: number
  readonly #onChange: (databaseId: string) => void
  /** By database, and by the name of what waits. */
  readonly #since = new Map<string, ReadonlyMap<string, { readonly at: number; readonly oid: number }>>()
  readonly #timers = new Map<string, NodeJS.Timeout>()

  constructor(limitMs: number, onChange: (databaseId: string) => void) {
    this.#limitMs = limitMs
    this.#onChange = onChange
  }

  /** Ends what is due, and watches the rest. Where nothing waits, the times are forgotten. */
  async clear(databaseId: string, place: Obstructed): Promise<{ blockers: Blocker[]; ended: number }> {
    const { sql, waiting, since: at = Date.now() } = place
    const blockers = waiting.length === 0 ? [] : await findBlockers(place)
    const before = this.#since.get(databaseId)
    // Spared sessions may hide others: they begin no time, and end none.
    const isCounted = ({ target }: Waiting) => {
      const own = blockers.filter((one) => one.target === target)
      return before?.has(target) || own.length === 0 || own.some((one) => !one.isSpared)
    }
    const since = waiting.filter(isCounted).map(({ target, oids: [oid = 0] }) => {
      return [target, before?.get(target) ?? { at, oid }] as const
    })
    this.#since.set(databaseId, new Map(since))
    const overdue = new Set(this.#findOverdue(databaseId).map(([target]) => target))
    const due = blockers.filter((one) => !one.isSpared && overdue.has(one.target) && isEndable(one, place))
    let ended = 0
    for (const { holder } of due)
      await sql.unsafe(statementToEnd(holder)).then(
        () => ended++,
        () => {},
      )
    this.#watch(databaseId, place, blockers.length > 0)
    return { blockers, ended }
  }

  /** Relations that have waited for longer than the limit. */
  listOverdue(databaseId: string): ReadonlySet<number> {
    return new Set(this.#findOverdue(databaseId).map(([, { oid }]) => oid))
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }

  #findOverdue(databaseId: string) {
    const end = Date.now() - this.#limitMs
    return [...(this.#since.get(databaseId) ?? [])].filter(([, { at }]) => at <= end)
  }

  #watch(databaseId: string, place: Obstructed, isSeen: boolean): void {
    clearTimeout(this.#timers.get(databaseId))
    this.#timers.delete(databaseId)
    const now = Date.now()
    const limits = [...(this.#since.get(databaseId)?.values() ?? [])].map(({ at }) => at + this.#limitMs)
    if (!isSeen && limits.length === 0) return
    const dueAt = Math.min(...limits.map((at) => (at > now ? at : now + Math.min(this.#limitMs, againMs))))
    const expect = () => {
      const timer = setTimeout(async () => {
        const isGone = isSeen && (await findBlockers(place).catch(() => [])).length === 0
        if (this.#timers.get(databaseId) !== timer) return
        if (isGone || Date.now() >= dueAt) this.#onChange(databaseId)
        else expect()
      }, lookMs).unref()
      this.#timers.set(databaseId, timer)
    }
    expect()
  }
}

/** A prepared transaction is a promise to a coordinator: it is rolled back only where it keeps raw values readable. */
function isEndable({ holder, target }: Blocker, { waiting }: Obstructed): boolean {
  return 'pid' in holder || waiting.some((one) => one.target === target && !one.isClosed)
}

/** SQL: the role `r` of a session is spared. One that was dropped has no row, and is not. */
export function isSpared(sql: Sql, exempt: readonly string[]) {
  return sql`coalesce(r.rolsuper or r.rolname = current_user or exists (
    select from pg_catalog.pg_roles e where e.rolname = any(${exempt}::text[])
      and pg_catalog.pg_has_role(r.oid, e.oid, 'MEMBER')), false)`
}

/** Any lock on a twin is in the way of changing it; only ACCESS EXCLUSIVE is in the way of grants and reads. */
export async function findBlockers({ sql, exempt, waiting, twins }: Obstructed): Promise<Blocker[]> {
  const places = waiting.flatMap(({ target, oids }) =>
    oids.flatMap((oid) => [
      { target, oid, isTwin: false },
      { target, oid: twins?.get(oid)?.twin ?? 0, isTwin: true },
    ]),
  )
  const seen = waiting.flatMap(({ target, holders }) => holders.map((holder) => ({ target, holder })))
  const rows = await sql<(Omit<Blocker, 'holder'> & { pid: number | null; gid: string })[]>`
    with place as (
      select * from unnest(${places.map(({ oid }) => oid)}::int8[]::oid[],
        ${places.map(({ target }) => target)}::text[],
        ${places.map(({ isTwin }) => isTwin)}::bool[]) as p(oid, target, is_twin)
    ), here as (
      select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()
    ), found as (
      select l.pid, x.gid, p.target from pg_catalog.pg_locks l
      join place p on p.oid = l.relation and (p.is_twin or l.mode = 'AccessExclusiveLock')
      left join pg_catalog.pg_locks own on l.pid is null and own.pid is null
        and own.locktype = 'transactionid' and own.virtualtransaction = l.virtualtransaction
      left join pg_catalog.pg_prepared_xacts x on x.transaction = own.transactionid
      where l.granted and l.locktype = 'relation' and l.database in (0, (select oid from here))
      union
      select * from unnest(${seen.map(({ holder }) => ('pid' in holder ? holder.pid : null))}::int4[],
        ${seen.map(({ holder }) => ('gid' in holder ? holder.gid : null))}::text[],
        ${seen.map(({ target }) => target)}::text[]) as s(pid, gid, target)
      where s.gid is not null or exists (select from pg_catalog.pg_locks l
        where l.pid = s.pid and l.granted and l.locktype <> 'virtualxid')
    )
    select distinct on (f.pid, f.gid) a.pid::int4 as pid, coalesce(f.gid, '') as gid, f.target,
      coalesce(o.oid, 0)::int8 as role, coalesce(r.rolname::text, o.oid::text, '') as name,
      coalesce(a.application_name, '') as application,
      -- Workers have no role. A role that was dropped is masked: its maker could keep raw values readable so.
      o.oid is null or ${isSpared(sql, exempt)} as "isSpared"
    from found f left join pg_catalog.pg_stat_activity a on a.pid = f.pid
    left join pg_catalog.pg_prepared_xact() x on x.gid = f.gid and x.dbid = (select oid from here)
    cross join lateral (select coalesce(a.usesysid, x.ownerid)) o(oid)
    left join pg_catalog.pg_roles r on r.oid = o.oid
    where (a.pid is not null or x.gid is not null)
      -- Sessions of this service wait themselves.
      and (a.usename = current_user and a.application_name = current_setting('application_name')) is not true
    order by f.pid, f.gid, f.target`
  return rows.map(({ pid, gid, ...row }) => ({ ...row, holder: pid === null ? { gid } : { pid } }))
}

const mostHolders = 20

/**
 * Where the server has no lock left: sessions with more than their share. Every role can take advisory locks without
 * end.
 */
export async function findLockHolders(sql: Sql): Promise<readonly Holder[]> {
  return await sql<{ pid: number }[]>`
    -- Locks of the fast path and predicate locks have memory of their own.
    select pid::int4 as pid from pg_catalog.pg_locks where not fastpath and mode <> 'SIReadLock' and pid is not null
    group by 1 having count(*) > pg_catalog.current_setting('max_locks_per_transaction')::int4
    order by count(*) desc limit ${mostHolders}`
}

/** `session 4711 of role "night" (backup)` */
export function describeBlocker({ holder, application, role, name }: Blocker): string {
  const program = application === '' ? '' : ` (${application})`
  const owner = role === 0 ? '' : ` of ${nameRole(name, role)}`
  return `${nameHolder(holder)}${owner}${program}`
}
