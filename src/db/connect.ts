import { OperatorError } from '../kernel/operator-error.ts'
import { Problem } from '../kernel/problem.ts'
import { codeOf } from '../kernel/sqlstate.ts'
import { closeStore } from './close-store.ts'
import { type Database, type DatabaseOptions, openDatabase } from './database.ts'
import { describeAddress, parseDatabaseUrl } from './database-url.ts'
import { migrate } from './migrate.ts'
import { translateDatabaseError } from './sqlstate.ts'

const oldestVersion = 14

/** Opens a PostgreSQL, ours or an outside one, checks that it will do and migrates it. */
export async function connectDatabase(options: DatabaseOptions): Promise<Database> {
  const address = typeof options.url === 'string' ? parseDatabaseUrl(options.url) : options.url
  const database = openDatabase({ ...options, url: address })
  try {
    await checkVersion(database)
    // Before the first lock: a role that holds it would keep the service from starting.
    await closeStore(database.sql)
    await migrate(database)
    return database
  } catch (error) {
    await database.close()
    if (error instanceof OperatorError) throw error
    const cause = translateDatabaseError(error)
    throw new OperatorError(`cannot use the database ${describeAddress(address)}: ${explain(cause)}`, {
      cause,
    })
  }
}

async function checkVersion({ sql }: Database): Promise<void> {
  const [row] = await sql<{ number: number; version: string }[]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as version`
  if (!row || row.number < oldestVersion * 10_000) {
    throw new OperatorError(`PostgreSQL ${oldestVersion} or later is needed; the server is ${row?.version}`)
  }
}

/** By SQLSTATE, system error, or the driver's own words. */
const reasons: [RegExp, string][] = [
  [/^28P01$/, 'the password is wrong'],
  [/^28000$/, 'the server does not let this user in'],
  [/^3D000$/, 'there is no such database'],
  [/^42501$/, 'the user may not create the schema or tables there'],
  [/^53300$/, 'the server has no connection left'],
  [/^57P03$/, 'the server is starting or stopping'],
  [/^25006$/, 'the server is read-only'],
  [/^ECONNREFUSED$/, 'nothing listens there'],
  [/^ENOTFOUND$/, 'the host name is unknown'],
  [/^EAI_AGAIN$/, 'the host name cannot be looked up at the moment'],
  [/^ENOENT$/, 'there is no such socket'],
  [/^EACCES$/, 'this user may not use the socket'],
  [/^(EHOSTUNREACH|ENETUNREACH)$/, 'the host cannot be reached'],
  [/^ETIMEDOUT$|timeout/, 'the server does not answer'],
  [/^(ECONNRESET|EPIPE)$|terminated/, 'the server closed the connection'],
  [/does not support SSL/, 'the server offers no TLS'],
  [
    /^EWEAKAUTH$/,
    'the server asks for the password in a way that the URL does not allow; use sslmode=verify-full, or list the way in require_auth',
  ],
  [/^EUNPROVEN$/, 'the server does not prove that it knows the password'],
  [/CERT|^(ERR_TLS|ERR_SSL|EPROTO|UNABLE_TO|SELF_SIGNED)/, "the server's certificate is not to be trusted"],
]

function explain(error: unknown): string {
  const inner = error instanceof Problem && error.cause ? error.cause : error
  const known = reasons.find(([pattern]) => pattern.test(codeOf(inner)))?.[1]
  return known ?? (inner instanceof Error ? inner.message : 'unknown reason')
}
