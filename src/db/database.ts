import postgres from 'postgres'
import { type DatabaseAddress, parseDatabaseUrl } from './database-url.ts'
import { isRetryable, translateDatabaseError } from './sqlstate.ts'

// biome-ignore lint/complexity/noBannedTypes: the client's own notation for "no custom types"
export type Sql = postgres.Sql<{}>
// biome-ignore lint/complexity/noBannedTypes: the client's own notation for "no custom types"
export type Tx = postgres.TransactionSql<{}>

export type DatabaseOptions = {
  /** A URL, or an address when a unix socket or a parsed URL is at hand. */
  url: string | DatabaseAddress
  poolSize?: number
  applicationName?: string
  statementTimeoutMs?: number
  idleInTransactionTimeoutMs?: number
}

export type Database = {
  /** For single statements. Errors of these pass `translateDatabaseError` where they are rendered. */
  sql: Sql
  /** Runs `run` again from its start after a serialization failure or deadlock, so it must have no other effects. */
  transaction<T>(run: (tx: Tx) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const attempts = 6
export const schemaName = 'masquerade'

export function openDatabase(options: DatabaseOptions): Database {
  const address = typeof options.url === 'string' ? parseDatabaseUrl(options.url) : options.url
  const clientOptions = {
    ...address,
    max: options.poolSize ?? 10,
    connect_timeout: 10,
    connection: {
      application_name: options.applicationName ?? 'masquerade',
      search_path: schemaName,
      statement_timeout: options.statementTimeoutMs ?? 30_000,
      idle_in_transaction_session_timeout: options.idleInTransactionTimeoutMs ?? 60_000,
      TimeZone: 'UTC',
    },
    onnotice: () => {},
    types: { int8: safeInteger },
  }
  // The client's types leave out the lists of hosts and ports that it takes.
  const sql: Sql = postgres(clientOptions as object as postgres.Options<Record<never, never>>)
  return {
    sql,
    transaction: (run) => runTransaction(sql, run),
    close: () => sql.end({ timeout: 5 }),
  }
}

/**
 * int8 arrives as a number while that is exact, else as the decimal string it was: our identities and revisions
 * never get there, and a sum of somebody's that does is not rounded.
 */
const safeInteger = {
  to: 20,
  from: [20],
  serialize: (value: unknown) => String(value),
  parse: (text: string): unknown => (Number.isSafeInteger(Number(text)) ? Number(text) : text),
}

async function runTransaction<T>(sql: Sql, run: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return (await sql.begin((tx) => run(tx))) as T
    } catch (error) {
      if (!isRetryable(error) || attempt === attempts) throw translateDatabaseError(error)
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 10 * 2 ** attempt))
    }
  }
}
