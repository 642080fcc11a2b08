import type { Sql } from '../../db/sql.ts'
import type { Outcome } from '../in-turn.ts'
import { isPassing } from '../states/is-passing.ts'
import type { Unfinished } from '../unfinished.ts'
import { type Holder, type HoldingRole, nameHolder, nameRole, statementToEnd } from './holder.ts'
import { endSession, signalSession } from './signal-session.ts'

/** A session or a prepared transaction that holds a lock against enforcement. */
export interface Blocker extends HoldingRole {
  readonly holder: Holder
  readonly application: string
  /** Superusers, exempt roles and the role of the binding are named, and never ended. */
  readonly isSpared: boolean
  readonly target: string
}

export interface Clearing {
  readonly blockers: readonly Blocker[]
  readonly ended: number
  /** The first of them is due to be ended after so long; null: none is. */
  readonly dueMs: number | null
}

const cancelMs = 300

/** A relation that is overdue and was not closed this time either is tried again after so long at most. */
const againMs = 10_000

/**
 * Remembers since when sessions hold locks against enforcement. Those that do so for longer than a limit are cancelled,
 * and ended if that does not help, where the role of the binding may. A relation with readable values that waits for
 * longer than the limit waits for no session any more: sessions could take turns.
 */
export class BlockerWatch {
  readonly #limitMs: number
  readonly #since = new Map<string, number>()
  readonly #waiting = new Map<string, Map<number, number>>()

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  async clear(
    sql: Sql,
    databaseId: string,
    outcome: Pick<Outcome, 'snapshot' | 'isWhole'>,
    unfinished: readonly Unfinished[],
  ): Promise<Clearing> {
    const now = Date.now()
    const blockers = unfinished.length === 0 ? [] : await this.#look(sql, outcome, unfinished)
    const waiting = this.#count(databaseId, outcome, listHeldUp(unfinished, blockers), now)
    const keyOf = ({ holder }: Blocker) => `${databaseId} ${nameHolder(holder)}`
    const present = new Set(blockers.map(keyOf))
    for (const key of this.#since.keys())
      if (key.startsWith(`${databaseId} `) && !present.has(key)) this.#since.delete(key)
    for (const key of present) if (!this.#since.has(key)) this.#since.set(key, now)
    const oidOf = new Map(unfinished.map(({ target, oids }) => [target, oids[0] ?? 0]))
    const sinceOf = (one: Blocker) =>
      Math.min(this.#since.get(keyOf(one)) ?? now, waiting.get(oidOf.get(one.target) ?? 0) ?? now)
    const endable = blockers.filter((one) => !one.isSpared && isEndable(one, unfinished))
    const leftMs = (since: number) => this.#limitMs - (now - since)
    const due = endable.filter((one) => leftMs(sinceOf(one)) <= 0)
    const waits = [
      ...endable.filter((one) => !due.includes(one)).map((one) => leftMs(sinceOf(one))),
      // One that nothing can be ended for is tried again now and then.
      ...[...waiting.values()].map((since) =>
        leftMs(since) > 0 ? leftMs(since) : Math.min(this.#limitMs, againMs),
      ),
    ]
    const dueMs = waits.length === 0 ? null : Math.min(...waits)
    const ended = await this.#end(sql, due, () => this.#look(sql, outcome, unfinished))
    return { blockers, ended, dueMs }
  }

  #look(sql: Sql, { snapshot }: Pick<Outcome, 'snapshot'>, unfinished: readonly Unfinished[]) {
    return findBlockers(sql, snapshot.guard.schema, unfinished)
  }

  /** Relations that have waited to be closed for longer than the limit, by oid. */
  listOverdue(databaseId: string): ReadonlySet<number> {
    const waiting = this.#waiting.get(databaseId) ?? new Map<number, number>()
    const end = Date.now() - this.#limitMs
    return new Set([...waiting].filter(([, since]) => since <= end).map(([oid]) => oid))
  }

  /** Since when relations wait to be closed. A look at some tables says nothing about the others. */
  #count(
    databaseId: string,
    { snapshot, isWhole }: Pick<Outcome, 'snapshot' | 'isWhole'>,
    { begun, spared }: HeldUp,
    now: number,
  ): ReadonlyMap<number, number> {
    const before = this.#waiting.get(databaseId) ?? new Map<number, number>()
    const seen = new Set(snapshot.relations.map(({ oid }) => oid))
    const counted = new Map(isWhole ? [] : [...before].filter(([oid]) => !seen.has(oid)))
    for (const oid of begun) counted.set(oid, before.get(oid) ?? now)
    for (const oid of spared) {
      const since = before.get(oid)
      if (since !== undefined) counted.set(oid, since)
    }
    if (counted.size > 0) this.#waiting.set(databaseId, counted)
    else this.#waiting.delete(databaseId)
    return counted
  }

  async #end(sql: Sql, due: readonly Blocker[], look: () => Promise<Blocker[]>): Promise<number> {
    if (due.length === 0) return 0
    for (const { holder } of due) if ('pid' in holder) await signalSession(sql, 'cancel', holder.pid)
    await new Promise((resolve) => setTimeout(resolve, cancelMs))
    const still = new Set((await look()).map(({ holder }) => nameHolder(holder)))
    let ended = 0
    for (const { holder } of due) if (!still.has(nameHolder(holder)) || (await end(sql, holder))) ended++
    return ended
  }
}

interface HeldUp {
  readonly begun: readonly number[]
  /** Only sessions that are never ended are seen in the way. They may hide another: a time that runs goes on, and none begins. */
  readonly spared: readonly number[]
}

/** Relations that wait to be closed, by oid. */
function listHeldUp(unfinished: readonly Unfinished[], blockers: readonly Blocker[]): HeldUp {
  const isSpared = ({ target }: Unfinished) => {
    const own = blockers.filter((one) => one.target === target)
    return own.length > 0 && own.every((one) => one.isSpared)
  }
  const open = unfinished.filter((one) => !one.isClosed && isPassing(one))
  const oidsOf = (some: readonly Unfinished[]) => some.flatMap(({ oids }) => oids[0] ?? [])
  return {
    begun: oidsOf(open.filter((one) => !isSpared(one))),
    spared: oidsOf(open.filter(isSpared)),
  }
}

/**
 * A prepared transaction is a promise to a coordinator, so it is rolled back only where a lock of it keeps raw values
 * readable. A session is ended also when it keeps a twin closed.
 */
function isEndable({ holder, target }: Blocker, unfinished: readonly Unfinished[]): boolean {
  return 'pid' in holder || unfinished.some((one) => one.target === target && !one.isClosed)
}

async function end(sql: Sql, holder: Holder): Promise<boolean> {
  if ('pid' in holder) return endSession(sql, holder.pid)
  return sql.unsafe(statementToEnd(holder)).then(
    () => true,
    () => false,
  )
}

interface BlockerRow extends Omit<Blocker, 'holder'> {
  readonly pid: number | null
  readonly gid: string
}

/** Any lock on a twin is in the way of changing it; only ACCESS EXCLUSIVE is in the way of grants and reads. */
export async function findBlockers(
  sql: Sql,
  guardSchema: string,
  unfinished: readonly Unfinished[],
): Promise<Blocker[]> {
  const places = unfinished.flatMap(({ target, oids }) => oids.map((oid) => ({ target, oid })))
  const waits = unfinished.flatMap(({ target, blockers }) => blockers.map((holder) => ({ target, holder })))
  const rows = await sql<BlockerRow[]>`
    with place as (
      select * from unnest(${places.map(({ oid }) => oid)}::int8[]::oid[], ${places.map(({ target }) => target)}::text[])
        as p(oid, target)
    ), held as (
      select l.pid, x.gid, l.relation, l.mode from pg_catalog.pg_locks l
      left join pg_catalog.pg_locks own on l.pid is null and own.pid is null and own.locktype = 'transactionid'
        and own.virtualtransaction = l.virtualtransaction
      left join pg_catalog.pg_prepared_xacts x on x.transaction = own.transactionid
      where l.granted and l.locktype = 'relation'
    ), found as (
      select l.pid, l.gid, p.target from held l join place p on p.oid = l.relation
      where l.mode = 'AccessExclusiveLock'
      union
      select l.pid, l.gid, p.target from place p join ${sql(guardSchema)}.relation g on g.oid = p.oid
      -- A relation behind a lock from the start has no twin yet, and format() refuses NULL.
      join held l on l.relation = pg_catalog.to_regclass(case when g.twin is not null
        then pg_catalog.format('%I.%I', g.twin->>'schema', g.twin->>'name') end)
      union
      select * from unnest(${waits.map(({ holder }) => ('pid' in holder ? holder.pid : null))}::int4[],
        ${waits.map(({ holder }) => ('gid' in holder ? holder.gid : null))}::text[], ${waits.map(({ target }) => target)}::text[])
        as w(pid, gid, target)
      where w.gid is not null or exists (select 1 from pg_catalog.pg_locks l
        where l.pid = w.pid and l.granted and l.locktype in ('relation', 'transactionid'))
    )
    select distinct on (f.pid, f.gid) a.pid::int4 as pid, coalesce(f.gid, '') as gid, f.target,
      coalesce(r.rolname::text, o.oid::text, '') as role, o.oid is not null and r.oid is null as "isDropped",
      coalesce(a.application_name, '') as application,
      -- Workers have no role. A role that was dropped is masked: by dropping it its maker could keep raw values readable.
      o.oid is null or coalesce(r.rolsuper or r.rolname = current_user or r.rolname = any(p.exempt), false) as "isSpared"
    from found f left join pg_catalog.pg_stat_activity a on a.pid = f.pid
    left join pg_catalog.pg_prepared_xact() x on x.gid = f.gid
      and x.dbid = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
    cross join lateral (select coalesce(a.usesysid, x.ownerid)) o(oid)
    left join pg_catalog.pg_roles r on r.oid = o.oid
    cross join ${sql(guardSchema)}.policy p
    where (a.pid is not null or x.gid is not null)
      -- Sessions of this service wait themselves.
      and not coalesce(a.usename = current_user and a.application_name = current_setting('application_name'), false)
    order by f.pid, f.gid, f.target`
  return rows.map(({ pid, gid, ...row }) => ({ ...row, holder: pid === null ? { gid } : { pid } }))
}

export function describeBlocker({ holder, application, ...role }: Blocker): string {
  const program = application === '' ? '' : ` (${application})`
  const owner = role.role === '' ? '' : ` of ${nameRole(role)}`
  return `${nameHolder(holder)}${owner}${program}`
}
