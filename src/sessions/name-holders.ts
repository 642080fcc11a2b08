import type { Sql } from '../db/sql.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import type { Holder } from './holder.ts'

/**
 * The schema of our records or the owner of the twins cannot be created: another transaction, not committed, created
 * one of that name. The name cannot be seen, so no other can be chosen.
 */
export class NameHeld extends Error {
  readonly code = sqlstate.lockNotAvailable
  readonly holders: readonly Holder[]

  constructor(holders: readonly Holder[], cause: unknown) {
    super('a transaction that is not committed has a name that the masks need', { cause })
    this.holders = holders
  }
}

/** False where another node of this service is about to make the same schema, or nothing was seen. */
export async function isHeldByOthers(sql: Sql, holders: readonly Holder[]): Promise<boolean> {
  const pids = holders.flatMap((one) => ('pid' in one ? [one.pid] : []))
  if (holders.length === 0) return false
  const ours = await sql`
    select from pg_catalog.pg_stat_activity where pid = any(${pids}::int4[]) and usename = current_user`
  return ours.length === 0
}
