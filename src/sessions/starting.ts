import type { Sql } from '../db/sql.ts'

/** A session that has no role in pg_stat_activity yet. */
export interface Starting {
  readonly pid: number
  /** Another one as soon as it has started: its process id may be that of a later session. */
  readonly transaction: string
}

/**
 * Sessions that PostgreSQL is starting, in this database or in all. It checks the role that a client asks for, may
 * sleep then (`post_auth_delay`), and shows the session's role after that. From before the check until after it shows
 * the role the session holds a lock on its database. So locks are read first: a session that began before is among
 * them, or shows its role.
 */
export async function findStarting(sql: Sql, isHere = false): Promise<Starting[]> {
  const here = sql`and l.objid = (
    select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())`
  const found = await sql<Starting[]>`
    select distinct l.pid::int4 as pid, l.virtualtransaction as transaction from pg_catalog.pg_locks l
    where l.locktype = 'object' and l.classid = 'pg_catalog.pg_database'::pg_catalog.regclass and l.granted
      and l.mode = 'RowExclusiveLock' and l.pid <> pg_catalog.pg_backend_pid() ${isHere ? here : sql``}`
  if (found.length === 0) return []
  // Workers have no role. PostgreSQL tells few roles which kind a process is.
  const known = await sql<{ pid: number }[]>`
    select a.pid::int4 as pid from pg_catalog.pg_stat_activity a where a.pid = any(${found.map(({ pid }) => pid)}::int4[])
      and (a.usesysid is not null or a.backend_type not in ('client backend', 'walsender'))`
  return found.filter(({ pid }) => !known.some((one) => one.pid === pid))
}

/** Returns those that still start after a moment. Starts take milliseconds, unless the client has them delayed. */
export async function outwait(sql: Sql, starting: readonly Starting[], ms: number): Promise<Starting[]> {
  const until = Date.now() + ms
  let left = [...starting]
  while (left.length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    const now = await findStarting(sql)
    left = left.filter(({ pid, transaction }) =>
      now.some((one) => one.pid === pid && one.transaction === transaction),
    )
    if (Date.now() >= until) break
  }
  return left
}
