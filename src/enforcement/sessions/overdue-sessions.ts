import type { Sql } from '../../db/sql.ts'
import type { HoldingRole } from './holder.ts'
import { endSession } from './signal-session.ts'

/** A session in the way of enforcement. */
export interface ObstructiveSession extends HoldingRole {
  readonly pid: number
  /** Superusers, exempt roles and the role of the binding are named, and never ended. */
  readonly isSpared: boolean
}

/** SQL: the role `r` of a session is spared. One that was dropped has no row, and is not. */
export function isSpared(sql: Sql, exempt: readonly string[]) {
  return sql`coalesce(r.rolsuper or r.rolname = current_user or exists (
    select from pg_catalog.pg_roles e where e.rolname = any(${exempt}::text[])
      and pg_catalog.pg_has_role(r.oid, e.oid, 'MEMBER')), false)`
}

/** Ends those of these sessions that are not spared. */
export async function endInTheWay(
  sql: Sql,
  exempt: readonly string[],
  pids: readonly number[],
): Promise<void> {
  const rows = await sql<{ pid: number }[]>`
    select a.pid::int4 as pid from pg_catalog.pg_stat_activity a left join pg_catalog.pg_roles r on r.oid = a.usesysid
    where a.pid = any(${pids}::int4[]) and a.usesysid is not null and not ${isSpared(sql, exempt)}`
  for (const { pid } of rows) await endSession(sql, pid)
}

/**
 * Remembers since when sessions of masked roles are in the way of a database, and ends them after a limit. The time counts for
 * the database: sessions could take turns.
 */
export class OverdueSessions {
  readonly #limitMs: number
  readonly #since = new Map<string, number>()

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  /** Returns when to try again: as soon as a session was ended, or when the first is due. Null: none will be ended. */
  async endDue(
    sql: Sql,
    databaseId: string,
    sessions: readonly ObstructiveSession[],
  ): Promise<number | null> {
    const endable = sessions.filter((one) => !one.isSpared)
    if (endable.length === 0) return null
    const since = this.#since.get(databaseId) ?? Date.now()
    this.#since.set(databaseId, since)
    const leftMs = this.#limitMs - (Date.now() - since)
    if (leftMs > 0) return leftMs
    let ended = 0
    for (const { pid } of endable) if (await endSession(sql, pid)) ended++
    return ended > 0 ? 0 : null
  }

  /** Nothing is in the way any more. */
  forget(databaseId: string): void {
    this.#since.delete(databaseId)
  }
}
