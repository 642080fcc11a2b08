import type { Sql } from '../../db/sql.ts'

/** False: the role of the binding may not, or the session is gone. */
export async function signalSession(sql: Sql, signal: 'cancel' | 'end', pid: number): Promise<boolean> {
  try {
    const [row] =
      signal === 'cancel'
        ? await sql<{ done: boolean }[]>`select pg_catalog.pg_cancel_backend(${pid}) as done`
        : await sql<{ done: boolean }[]>`select pg_catalog.pg_terminate_backend(${pid}) as done`
    return row?.done ?? false
  } catch {
    return false
  }
}

export const endSession = (sql: Sql, pid: number) => signalSession(sql, 'end', pid)

/** The sessions of these roles in the database. */
export async function findSessions(sql: Sql, roles: readonly string[]) {
  return await sql<{ pid: number; role: string }[]>`
    select a.pid::int4 as pid, r.rolname::text as role from pg_catalog.pg_stat_activity a
    join pg_catalog.pg_roles r on r.oid = a.usesysid
    -- A superuser sees raw values with or without an exemption.
    where a.datname = current_database() and r.rolname = any(${roles}) and a.pid <> pg_backend_pid()
      and r.rolname <> current_user and not r.rolsuper`
}
