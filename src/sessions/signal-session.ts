import type { Sql } from '../db/sql.ts'

/** False: the role of the binding may not, or the session is gone or, where that is waited for, still there. */
export async function endSession(sql: Sql, pid: number, waitMs = 0): Promise<boolean> {
  const [row] = await sql<{ done: boolean }[]>`
    select pg_catalog.pg_terminate_backend(${pid}, ${waitMs}) as done`.catch(() => [])
  return row?.done ?? false
}

/** A session of a role that is looked for by its OID. */
export interface Session {
  readonly pid: number
  readonly role: number
  readonly name: string
  /** Then the name is its OID. */
  readonly isDropped?: boolean
  /** Null: not for the role of the binding to see. */
  readonly start: string | null
}

/** True where it is gone already. A process id that another role's session has by now is left alone. */
export async function endSessionOf(sql: Sql, { pid, role }: Session): Promise<boolean> {
  try {
    const [row] = await sql<{ done: boolean }[]>`
      select pg_catalog.pg_terminate_backend(a.pid) as done from pg_catalog.pg_stat_activity a
      where a.pid = ${pid} and a.usesysid = ${role}::int8::oid`
    return row?.done ?? true
  } catch {
    return false
  }
}

/** SQL: the role `r` of a session is spared. One that was dropped has no row, and is not. */
export function isSpared(sql: Sql, exempt: readonly string[]) {
  return sql`coalesce(r.rolsuper or r.rolname = current_user or exists (
    select from pg_catalog.pg_roles e where e.rolname = any(${exempt}::text[])
      and pg_catalog.pg_has_role(r.oid, e.oid, 'MEMBER')), false)`
}
