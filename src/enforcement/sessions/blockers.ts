import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { guardSchema } from '../names.ts'
import type { Unfinished } from '../reconcile-by-relation.ts'
import { endSession, signalSession } from './signal-session.ts'

/** A session that holds a lock against enforcement. */
export interface Blocker {
  readonly pid: number
  readonly role: string
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

/**
 * Remembers since when sessions hold locks against enforcement. Those that do so for longer than a limit are cancelled,
 * and ended if that does not help, where the role of the binding may.
 */
export class BlockerWatch {
  readonly #limitMs: number
  readonly #since = new Map<string, number>()

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  async clear(sql: Sql, databaseId: string, unfinished: readonly Unfinished[]): Promise<Clearing> {
    const blockers = await findBlockers(sql, unfinished)
    const now = Date.now()
    const keyOf = ({ pid }: Blocker) => `${databaseId} ${pid}`
    const present = new Set(blockers.map(keyOf))
    for (const key of this.#since.keys())
      if (key.startsWith(`${databaseId} `) && !present.has(key)) this.#since.delete(key)
    for (const key of present) if (!this.#since.has(key)) this.#since.set(key, now)
    const endable = blockers.filter(({ isSpared }) => !isSpared)
    const leftMs = (one: Blocker) => this.#limitMs - (now - (this.#since.get(keyOf(one)) ?? now))
    const due = endable.filter((one) => leftMs(one) <= 0)
    const waits = endable.filter((one) => !due.includes(one)).map(leftMs)
    const dueMs = waits.length === 0 ? null : Math.min(...waits)
    return { blockers, ended: await this.#end(sql, unfinished, due), dueMs }
  }

  async #end(sql: Sql, unfinished: readonly Unfinished[], due: readonly Blocker[]): Promise<number> {
    if (due.length === 0) return 0
    for (const { pid } of due) await signalSession(sql, 'cancel', pid)
    await new Promise((resolve) => setTimeout(resolve, cancelMs))
    const still = new Set((await findBlockers(sql, unfinished)).map(({ pid }) => pid))
    let ended = 0
    for (const { pid } of due) if (!still.has(pid) || (await endSession(sql, pid))) ended++
    return ended
  }
}

/** Any lock on a twin is in the way of changing it; only ACCESS EXCLUSIVE is in the way of grants and reads. */
async function findBlockers(sql: Sql, unfinished: readonly Unfinished[]): Promise<Blocker[]> {
  const places = unfinished.flatMap(({ target, oids }) => oids.map((oid) => ({ target, oid })))
  const waits = unfinished.flatMap(({ target, blockers }) => blockers.map((pid) => ({ target, pid })))
  return await sql<Blocker[]>`
    with place as (
      select * from unnest(${places.map(({ oid }) => oid)}::int8[]::oid[], ${places.map(({ target }) => target)}::text[])
        as p(oid, target)
    ), found as (
      select l.pid, p.target from pg_catalog.pg_locks l join place p on p.oid = l.relation
      where l.mode = 'AccessExclusiveLock' and l.granted
      union
      select l.pid, p.target from place p join ${sql(guardSchema)}.relation g on g.oid = p.oid
      join pg_catalog.pg_locks l on l.granted and l.relation = pg_catalog.to_regclass(
        pg_catalog.format('%I.%I', g.twin->>'schema', g.twin->>'name'))
      union
      select * from unnest(${waits.map(({ pid }) => pid)}::int4[], ${waits.map(({ target }) => target)}::text[])
    )
    select distinct on (a.pid) a.pid::int4 as pid, coalesce(a.usename, '')::text as role,
      coalesce(a.application_name, '') as application, f.target,
      coalesce(r.rolsuper, true) or a.usename = current_user or a.usename = any(p.exempt) as "isSpared"
    from found f join pg_catalog.pg_stat_activity a on a.pid = f.pid
    left join pg_catalog.pg_roles r on r.oid = a.usesysid cross join ${sql(guardSchema)}.policy p
    where a.pid <> pg_catalog.pg_backend_pid() order by a.pid, f.target`
}

export function describeBlocker({ pid, role, application }: Blocker): string {
  const program = application === '' ? '' : ` (${application})`
  return `session ${pid} of role ${quoteIdentifier(role)}${program}`
}
