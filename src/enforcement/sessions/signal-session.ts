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

/** The sessions of these roles in the database, by their OIDs: a session outlives its role, and its role's name. */
export async function findSessions(sql: Sql, roles: readonly number[]): Promise<Session[]> {
  return await sql<Session[]>`
    select a.pid::int4 as pid, a.usesysid::int8 as role, coalesce(r.rolname, a.usesysid::text)::text as name, r.oid is null as "isDropped",
      extract(epoch from a.backend_start)::text as start
    from pg_catalog.pg_stat_activity a left join pg_catalog.pg_roles r on r.oid = a.usesysid
    -- A superuser sees raw values with or without an exemption.
    where a.datname = current_database() and a.usesysid = any(${roles}::int8[]::oid[]) and a.pid <> pg_backend_pid()
      and r.rolname is distinct from current_user and r.rolsuper is not true`
}
