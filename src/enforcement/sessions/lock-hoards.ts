import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { isSpared, type ObstructiveSession, OverdueSessions } from './overdue-sessions.ts'

/** More locks than programs take, dumps of large databases apart: if such sessions are there, others are not to blame. */
const manyLocks = 1000

interface Hoard extends ObstructiveSession {
  readonly locks: number
}

/**
 * Every role can take advisory locks until the server has no lock left. Then privileges cannot be changed, while tables
 * can still be read. Sessions that hold that many are ended after a limit.
 */
export class LockHoards {
  readonly #overdue: OverdueSessions

  constructor(limitMs: number) {
    this.#overdue = new OverdueSessions(limitMs)
  }

  forget(databaseId: string): void {
    this.#overdue.forget(databaseId)
  }

  /** After the server had no lock left. Returns what to say, and when to try again. */
  async clear(
    sql: Sql,
    databaseId: string,
    exempt: readonly string[],
  ): Promise<{ reason: string; dueMs: number | null }> {
    const hoards = await findHoards(sql, exempt)
    const dueMs = await this.#overdue.endDue(sql, databaseId, hoards)
    return { reason: describeHoards(hoards), dueMs }
  }
}

async function findHoards(sql: Sql, exempt: readonly string[]): Promise<Hoard[]> {
  const hoards = await sql<Hoard[]>`
    select a.pid::int4 as pid, r.rolname::text as role, l.locks::int4 as locks, ${isSpared(sql, exempt)} as "isSpared"
    from (select pid, count(*) as locks from pg_catalog.pg_locks group by 1) l
    join pg_catalog.pg_stat_activity a on a.pid = l.pid join pg_catalog.pg_roles r on r.oid = a.usesysid
    -- The server has memory for so many locks of each session, on average.
    where l.locks > pg_catalog.current_setting('max_locks_per_transaction')::int4 order by l.locks desc limit 20`
  const isMany = ({ locks }: Hoard) => locks >= manyLocks
  return hoards.some((one) => isMany(one) && !one.isSpared) ? hoards.filter(isMany) : hoards
}

function describeHoards(hoards: readonly Hoard[]): string {
  if (hoards.length === 0) return 'the server has no lock left'
  const holders = hoards.map(
    ({ pid, role, locks }) => `session ${pid} of role ${quoteIdentifier(role)} holds ${locks} locks`,
  )
  const statements = hoards.map(({ pid }) => `SELECT pg_terminate_backend(${pid})`)
  return `the server has no lock left: ${holders.join(', ')}. To end it: ${statements.join('; ')}`
}
