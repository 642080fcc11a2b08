import { quoteIdentifier, quoteLiteral } from '../db/quote.ts'

/** Holds a lock: a session, by its process id, or a prepared transaction, which has no process. */
export type Holder = { readonly pid: number } | { readonly gid: string }

export function nameHolder(holder: Holder): string {
  return 'pid' in holder ? `session ${holder.pid}` : `prepared transaction ${quoteLiteral(holder.gid)}`
}

/** The role of a session or prepared transaction. Both outlive it: one that was dropped goes by its OID. */
export interface HoldingRole {
  readonly role: string
  readonly isDropped: boolean
}

export function nameRole({ role, isDropped }: HoldingRole): string {
  return isDropped ? `dropped role ${role}` : `role ${quoteIdentifier(role)}`
}

export function statementToEnd(holder: Holder): string {
  return 'pid' in holder
    ? `SELECT pg_terminate_backend(${holder.pid})`
    : `ROLLBACK PREPARED ${quoteLiteral(holder.gid)}`
}
