import type { Sql } from '../../db/sql.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import { type Holder, nameHolder, nameRole, statementToEnd } from './holder.ts'
import { isSpared, type ObstructiveSession, OverdueSessions } from './overdue-sessions.ts'
import type { IsHeld } from './release-watch.ts'

/**
 * The schema of our records or the owner of the twins cannot be created: another transaction, not committed, created one of
 * that name. The name cannot be seen, so no other can be chosen.
 */
export class NameHeld extends Error {
  readonly code = sqlstate.lockNotAvailable
  readonly holders: readonly Holder[]

  constructor(holders: readonly Holder[], cause: unknown) {
    super('a transaction that is not committed has a name that the masks need', { cause })
    this.holders = holders
  }
}

/** Names the transactions that hold such a name, and ends sessions of masked roles among them after a limit. */
export class NameHolders {
  readonly #overdue: OverdueSessions

  constructor(limitMs: number) {
    this.#overdue = new OverdueSessions(limitMs)
  }

  forget(databaseId: string): void {
    this.#overdue.forget(databaseId)
  }

  /** Returns what to say, when to try again, and a look for whether the names are still held. */
  async clear(
    sql: Sql,
    databaseId: string,
    exempt: readonly string[],
    { message, holders }: NameHeld,
  ): Promise<{ reason: string; dueMs: number | null; isHeld?: IsHeld }> {
    const pids = holders.flatMap((one) => ('pid' in one ? [one.pid] : []))
    const sessions = await sql<ObstructiveSession[]>`
      select a.pid::int4 as pid, coalesce(r.rolname::text, a.usesysid::text) as role, r.oid is null as "isDropped",
        ${isSpared(sql, exempt)} as "isSpared"
      from pg_catalog.pg_stat_activity a left join pg_catalog.pg_roles r on r.oid = a.usesysid
      where a.pid = any(${pids}::int4[]) and a.usesysid is not null order by 1`
    const dueMs = await this.#overdue.endDue(sql, databaseId, sessions)
    const roleOf = (holder: Holder) =>
      'pid' in holder ? sessions.find(({ pid }) => pid === holder.pid) : undefined
    const words = holders.map((one) => {
      const role = roleOf(one)
      return role === undefined ? nameHolder(one) : `${nameHolder(one)} of ${nameRole(role)}`
    })
    const statements = holders.map(statementToEnd)
    const end = statements.length === 0 ? '' : ` To end it: ${statements.join('; ')}.`
    const who = words.length === 0 ? '' : `: ${words.join(', ')}`
    const reason = `${message}${who}. Masked columns are denied until it ends.${end}`
    return holders.length === 0 ? { reason, dueMs } : { reason, dueMs, isHeld: () => areOpen(sql, holders) }
  }
}

/** True while one of these transactions is neither committed nor rolled back. */
async function areOpen(sql: Sql, holders: readonly Holder[]): Promise<boolean> {
  const pids = holders.flatMap((one) => ('pid' in one ? [one.pid] : []))
  const gids = holders.flatMap((one) => ('gid' in one ? [one.gid] : []))
  const [row] = await sql<{ isOpen: boolean }[]>`
    select exists (select from pg_catalog.pg_locks l
        where l.pid = any(${pids}::int4[]) and l.granted and l.locktype = 'transactionid')
      or exists (select from pg_catalog.pg_prepared_xacts x where x.gid = any(${gids}::text[])) as "isOpen"`
  return row?.isOpen ?? false
}
