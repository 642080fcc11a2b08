import { quoteLiteral } from '../../db/quote.ts'

/** Holds a lock: a session, by its process id, or a prepared transaction, which has no process. */
export type Holder = { readonly pid: number } | { readonly gid: string }

export function nameHolder(holder: Holder): string {
  return 'pid' in holder ? `session ${holder.pid}` : `prepared transaction ${quoteLiteral(holder.gid)}`
}

export function statementToEnd(holder: Holder): string {
  return 'pid' in holder
    ? `SELECT pg_terminate_backend(${holder.pid})`
    : `ROLLBACK PREPARED ${quoteLiteral(holder.gid)}`
}
