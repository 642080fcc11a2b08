import type { Query } from './query.ts'

/**
 * Marks of the database behind a connection: the server's system identifier, or the start of its postmaster where the
 * role may not read the former, with the name of the database. Host names and addresses do not count: a database has
 * many. Connections that share a mark lead to one database.
 */
export async function readDatabaseMarks(sql: Query): Promise<string[]> {
  const [row] = await sql<{ database: string; start: string; readable: boolean }[]>`
    select current_database()::text as database, pg_catalog.pg_postmaster_start_time()::text as start,
      pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'execute') as readable`
  if (!row) throw new Error('the server did not answer')
  const [control] = row.readable
    ? await sql<{ id: string }[]>`select system_identifier::text as id from pg_catalog.pg_control_system()`
    : []
  return [row.start, ...(control ? [control.id] : [])].map((server) => `${server}/${row.database}`)
}

/** The connection of a binding leads to the service's own database. */
export class OwnStoreRefused extends Error {
  readonly code = 'EOWNSTORE'

  constructor() {
    super('the database is the one of this service itself')
  }
}

/** Checks a new connection to a bound database. */
export type ConnectionCheck = (sql: Query) => Promise<void>

/**
 * Refuses connections to the service's own database: it holds the directory and the secrets, and a caller who may bind
 * and preview would read them where the server trusts local connections.
 */
export function createOwnStoreCheck(own: Query): ConnectionCheck {
  return async (sql) => {
    const [marks, others] = await Promise.all([readDatabaseMarks(own), readDatabaseMarks(sql)])
    if (others.some((mark) => marks.includes(mark))) throw new OwnStoreRefused()
  }
}
