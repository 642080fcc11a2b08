import type { Sql } from '../../db/sql.ts'
import { nameRole } from './holder.ts'
import { isSpared, type ObstructiveSession, OverdueSessions } from './overdue-sessions.ts'

/** More locks than programs take, dumps of large databases apart. */
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

/**
 * Sessions with very many locks. Without one that may be ended, those with more than their share, if they hold half of all locks
 * together: many sessions may share a hoard.
 */
async function findHoards(sql: Sql, exempt: readonly string[]): Promise<Hoard[]> {
  const rows = await sql<(Hoard & { readonly all: number })[]>`
    select a.pid::int4 as pid, coalesce(r.rolname::text, a.usesysid::text) as role, r.oid is null as "isDropped", l.locks::int4 as locks, l.all_locks::int4 as all,
      ${isSpared(sql, exempt)} as "isSpared"
    from (
      -- The others have memory of their own.
      select pid, count(*) as locks, sum(count(*)) over () as all_locks from pg_catalog.pg_locks
      where not fastpath and mode <> 'SIReadLock' group by 1
    ) l join pg_catalog.pg_stat_activity a on a.pid = l.pid left join pg_catalog.pg_roles r on r.oid = a.usesysid
    -- The server has memory for so many locks of each session, on average.
    where a.usesysid is not null and l.locks > pg_catalog.current_setting('max_locks_per_transaction')::int4 order by l.locks desc, a.pid`
  const isMany = ({ locks }: Hoard) => locks >= manyLocks
  const endable = rows.filter((one) => !one.isSpared)
  const shared = endable.reduce((sum, { locks }) => sum + locks, 0)
  const isShared = !endable.some(isMany) && shared * 2 >= (rows[0]?.all ?? Number.POSITIVE_INFINITY)
  return rows.filter((one) => isShared || isMany(one)).slice(0, mostHoards)
}

const mostHoards = 20

function describeHoards(hoards: readonly Hoard[]): string {
  if (hoards.length === 0) return 'the server has no lock left'
  const holders = hoards.map(
    ({ pid, locks, ...role }) => `session ${pid} of ${nameRole(role)} holds ${locks} locks`,
  )
  const statements = hoards.map(({ pid }) => `SELECT pg_terminate_backend(${pid})`)
  return `the server has no lock left: ${holders.join(', ')}. To end it: ${statements.join('; ')}`
}
