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
