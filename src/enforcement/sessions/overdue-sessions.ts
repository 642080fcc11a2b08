import type { Sql } from '../../db/sql.ts'
import { endSession } from './signal-session.ts'

/** A session in the way of enforcement. */
export interface ObstructiveSession {
  readonly pid: number
  readonly role: string
  /** Superusers, exempt roles and the role of the binding are named, and never ended. */
  readonly isSpared: boolean
}

/** SQL: the role `r` of a session is spared. */
export function isSpared(sql: Sql, exempt: readonly string[]) {
  return sql`(r.rolsuper or r.rolname = current_user or exists (
    select from pg_catalog.pg_roles e where e.rolname = any(${exempt}::text[])
      and pg_catalog.pg_has_role(r.oid, e.oid, 'MEMBER')))`
}

/** Remembers since when sessions are in the way, and ends those of masked roles after a limit. */
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
    const now = Date.now()
    const present = new Set(sessions.map(({ pid }) => `${databaseId} ${pid}`))
    for (const key of this.#since.keys())
      if (key.startsWith(`${databaseId} `) && !present.has(key)) this.#since.delete(key)
    const waits: number[] = []
    let ended = 0
    for (const { pid, isSpared: spared } of sessions) {
      const key = `${databaseId} ${pid}`
      const since = this.#since.get(key) ?? now
      this.#since.set(key, since)
      const leftMs = this.#limitMs - (now - since)
      if (!spared && leftMs > 0) waits.push(leftMs)
      else if (!spared && (await endSession(sql, pid))) ended++
    }
    if (ended > 0) return 0
    return waits.length === 0 ? null : Math.min(...waits)
  }
}
