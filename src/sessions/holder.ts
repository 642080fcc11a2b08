import { quoteIdentifier, quoteLiteral } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'
import { sqlstate } from '../kernel/sqlstate.ts'

/** Holds a lock: a session, by its process id, or a prepared transaction, which has no process. */
export type Holder = { readonly pid: number } | { readonly gid: string }

export function nameHolder(holder: Holder): string {
  return 'pid' in holder ? `session ${holder.pid}` : `prepared transaction ${quoteLiteral(holder.gid)}`
}

/** The role of a session or prepared transaction may have been dropped: its name is its OID then. */
export const nameRole = (name: string, oid: number) =>
  name === String(oid) ? `dropped role ${name}` : `role ${quoteIdentifier(name)}`

export function statementToEnd(holder: Holder): string {
  return 'pid' in holder
    ? `SELECT pg_terminate_backend(${holder.pid})`
    : `ROLLBACK PREPARED ${quoteLiteral(holder.gid)}`
}

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
