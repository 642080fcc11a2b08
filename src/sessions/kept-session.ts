import type { Database } from '../db/database.ts'
import { createSql, type Sql } from '../db/sql.ts'
import type { Tx } from '../db/transaction.ts'
import { findBlockers, findLockHolders } from './in-the-way.ts'

/** A session whose open transaction keeps the locks that finding and ending sessions takes. */
export interface KeptSession {
  readonly sql: Sql
  readonly end: () => void
}

/**
 * A role can take every lock of the server, by advisory locks. Then nobody logs in, and even ending a session fails, as
 * PostgreSQL looks up its role. A transaction that has looked at the same catalogs needs no further lock.
 */
export async function keepSession(database: Database): Promise<KeptSession> {
  const begun = Promise.withResolvers<Sql>()
  const ended = Promise.withResolvers<void>()
  const work = async (tx: Tx) => {
    await tx`select set_config('lock_timeout', '1000', true)`
    const sql = withinSavepoints(tx)
    await sql`select from pg_catalog.pg_auth_members limit 0`
    const waiting = [{ target: '', oids: [], holders: await findLockHolders(sql), isClosed: false }]
    await findBlockers({ sql, exempt: [], waiting })
    begun.resolve(sql)
    await ended.promise
  }
  database.transaction(work).catch(begun.reject)
  return { sql: await begun.promise, end: ended.resolve }
}

/** A statement that fails must not end the transaction. */
function withinSavepoints(tx: Tx): Sql {
  let last: Promise<unknown> = Promise.resolve()
  return createSql(({ text, values }) => {
    const result = last.then(() =>
      tx.savepoint(async () => {
        // PostgreSQL shows the sessions of the first look otherwise.
        await tx`select pg_catalog.pg_stat_clear_snapshot()`
        const rows = await tx.unsafe(text, values)
        return { rows, rowCount: rows.count, command: rows.command }
      }),
    )
    last = result.catch(() => {})
    return result
  })
}
