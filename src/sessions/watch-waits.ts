import type { Database } from '../db/database.ts'
import type { Sql } from '../db/sql.ts'
import type { Tx } from '../db/transaction.ts'
import type { Holder } from './holder.ts'
import { isSpared } from './in-the-way.ts'

const sampleMs = 30

/**
 * Samples, over another connection, which sessions the transaction waits for: no catalog tells that of all locks.
 * `exempt`: sessions of other roles than these, and of superusers, are ended at once.
 */
export async function watchWaits(target: Database, tx: Tx, exempt?: readonly string[]) {
  const [row] = await tx<{ pid: number }[]>`select pg_catalog.pg_backend_pid() as pid`
  const pid = row?.pid ?? 0
  const seen = new Map<string, Holder>()
  let isAsking = false
  const sample = async () => {
    if (isAsking) return
    isAsking = true
    // A prepared transaction has no process: PostgreSQL names it 0, and the transaction that we wait for tells its
    // name.
    const rows = await target.sql<{ pid: number; gid: string | null }[]>`
      select b.pid, null as gid from pg_catalog.unnest(pg_catalog.pg_blocking_pids(${pid})) as b(pid) where b.pid <> 0
      union all
      select 0, x.gid from pg_catalog.pg_locks l join pg_catalog.pg_prepared_xacts x on x.transaction = l.transactionid
      where l.pid = ${pid} and not l.granted`.catch(() => [])
    for (const { pid: blocking, gid } of rows)
      seen.set(`${blocking} ${gid}`, gid === null ? { pid: blocking } : { gid })
    const pids = rows.filter(({ gid }) => gid === null).map(({ pid: blocking }) => blocking)
    if (exempt && pids.length > 0) await endInTheWay(target.sql, exempt, pids).catch(() => {})
    isAsking = false
  }
  const timer = setInterval(() => void sample(), sampleMs)
  return {
    take() {
      const holders = [...seen.values()]
      seen.clear()
      return holders
    },
    [Symbol.dispose]() {
      clearInterval(timer)
    },
  }
}

/** Ends those of these sessions that are not spared. */
export async function endInTheWay(
  sql: Sql,
  exempt: readonly string[],
  pids: readonly number[],
): Promise<void> {
  await sql`
    select pg_catalog.pg_terminate_backend(a.pid) from pg_catalog.pg_stat_activity a
    left join pg_catalog.pg_roles r on r.oid = a.usesysid
    where a.pid = any(${pids}::int4[]) and a.usesysid is not null and not ${isSpared(sql, exempt)}`
}
