import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { endSession } from './signal-session.ts'

/** More locks than programs take, dumps of large databases apart. */
const manyLocks = 1000

interface Hoard {
  readonly pid: number
  readonly role: string
  readonly locks: number
  /** Superusers, exempt roles and the role of the binding are named, and never ended. */
  readonly isSpared: boolean
}

/**
 * Every role can take advisory locks until the server has no lock left. Then privileges cannot be changed, while tables
 * can still be read. Remembers since when sessions hold that many, and ends them after a limit.
 */
export class LockHoards {
  readonly #limitMs: number
  readonly #since = new Map<number, number>()

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  /** After the server had no lock left. Returns what to say, and when to try again: as soon as a session was ended or is due. */
  async clear(sql: Sql, exempt: readonly string[]): Promise<{ reason: string; dueMs: number | null }> {
    const hoards = await findHoards(sql, exempt)
    const now = Date.now()
    for (const pid of this.#since.keys()) if (!hoards.some((one) => one.pid === pid)) this.#since.delete(pid)
    const waits: number[] = []
    let ended = 0
    for (const { pid, isSpared } of hoards) {
      const since = this.#since.get(pid) ?? now
      this.#since.set(pid, since)
      const leftMs = this.#limitMs - (now - since)
      if (!isSpared && leftMs > 0) waits.push(leftMs)
      else if (!isSpared && (await endSession(sql, pid))) ended++
    }
    const dueMs = waits.length === 0 ? null : Math.min(...waits)
    return { reason: describeHoards(hoards), dueMs: ended > 0 ? 0 : dueMs }
  }
}

async function findHoards(sql: Sql, exempt: readonly string[]): Promise<Hoard[]> {
  return await sql<Hoard[]>`
    select a.pid::int4 as pid, r.rolname::text as role, l.locks::int4 as locks, r.rolsuper or r.rolname = current_user
      or exists (select from pg_catalog.pg_roles e where e.rolname = any(${exempt}::text[])
        and pg_catalog.pg_has_role(r.oid, e.oid, 'MEMBER')) as "isSpared"
    from (select pid, count(*) as locks from pg_catalog.pg_locks group by 1) l
    join pg_catalog.pg_stat_activity a on a.pid = l.pid join pg_catalog.pg_roles r on r.oid = a.usesysid
    where l.locks >= ${manyLocks} order by l.locks desc limit 20`
}

function describeHoards(hoards: readonly Hoard[]): string {
  if (hoards.length === 0) return 'the server has no lock left'
  const holders = hoards.map(
    ({ pid, role, locks }) => `session ${pid} of role ${quoteIdentifier(role)} holds ${locks} locks`,
  )
  const statements = hoards.map(({ pid }) => `SELECT pg_terminate_backend(${pid})`)
  return `the server has no lock left: ${holders.join(', ')}. To end it: ${statements.join('; ')}`
}
