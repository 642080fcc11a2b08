import postgres from 'postgres'
import { OperatorError } from '../kernel/operator-error.ts'
import { type Database, type DatabaseOptions, openDatabase } from './database.ts'
import { type DatabaseAddress, describeAddress, parseDatabaseUrl } from './database-url.ts'
import { migrate } from './migrate.ts'

const oldestVersion = 14

/** Opens a PostgreSQL, ours or an outside one, checks that it will do and migrates it. */
export async function connectDatabase(options: DatabaseOptions): Promise<Database> {
  const address = typeof options.url === 'string' ? parseDatabaseUrl(options.url) : options.url
  const database = openDatabase({ ...options, url: address })
  try {
    await checkVersion(database)
    await migrate(database.sql)
    return database
  } catch (error) {
    await database.close()
    if (error instanceof OperatorError) throw error
    throw new OperatorError(
      `cannot use the database ${describeAddress(address)}: ${explain(error, address)}`,
      {
        cause: error,
      },
    )
  }
}

async function checkVersion({ sql }: Database): Promise<void> {
  const [row] = await sql<{ number: number; version: string }[]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as version`
  if (!row || row.number < oldestVersion * 10_000) {
    throw new OperatorError(`PostgreSQL ${oldestVersion} or later is needed; the server is ${row?.version}`)
  }
}

const clientReasons: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name cannot be looked up at the moment',
  ENOENT: 'there is no such socket',
  EACCES: 'the socket may not be used by this user',
  ETIMEDOUT: 'the host does not answer',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  CONNECT_TIMEOUT: 'the server does not answer',
  CONNECTION_CLOSED: 'the server closed the connection',
  ECONNRESET: 'the server closed the connection',
}

const serverReasons: Record<string, string> = {
  '28P01': 'the password is wrong',
  '28000': 'the server does not let this user in',
  '3D000': 'there is no such database',
  '42501': 'the user may not create the schema or tables there',
  '53300': 'the server has no connection left',
  '57P03': 'the server is starting or stopping',
  '25006': 'the server is read-only',
}

function explain(error: unknown, address: DatabaseAddress): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reason = serverReasons[code] ?? clientReasons[code]
  if (code === 'ECONNRESET' && address.ssl) return `${reason}, or offers no TLS`
  if (reason) return reason
  if (error instanceof postgres.PostgresError) return `${error.message} (SQLSTATE ${code})`
  if (/certificate|SSL|TLS/i.test(`${code} ${error instanceof Error ? error.message : ''}`)) {
    return `TLS failed (${code || 'no code'})`
  }
  return code || 'unknown reason'
}
