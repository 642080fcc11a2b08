import pg from 'pg'
import type { Finding, Preflight } from '../../contracts/preflight.ts'
import { takeConnection } from '../../db/database.ts'
import type { ConnectionCheck } from '../../db/database-marks.ts'
import type { DatabaseAddress } from '../../db/database-url.ts'
import { checkConnections, driverOptions } from '../../db/driver-options.ts'
import { choiceOf, type HostChoice } from '../../db/host-choice.ts'
import type { HostGuard } from '../../db/host-guard.ts'
import { withKnownSettings } from '../../db/known-settings.ts'
import { nameStatement } from '../../db/prepared.ts'
import type { SealedColumn } from '../../db/reseal.ts'
import { createSql, type Sql } from '../../db/sql.ts'
import { steadyOptions } from '../../db/steady-settings.ts'
import { type SecretBox, SecretBoxError } from '../../kernel/secret-box.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import { addressOf, type Binding } from './binding-address.ts'
import { type CatalogColumn, type ColumnName, findColumns } from './find-column.ts'

/** The columns of a database row that are needed to reach the real database. */
export interface BoundDatabase {
  readonly id: string
  readonly binding: Binding | null
  readonly bindingSecret: Uint8Array | null
  readonly bindingVersion: number
  readonly bindingSystem: string | null
}

/** The result of examining a database role that a mapping would grant. */
export interface RoleExamination {
  readonly exists: boolean
  readonly others: readonly string[]
  readonly objections: readonly Finding[]
}

type Tables = readonly { readonly schema: string; readonly table: string }[]

/** Those who know about roles and masks: enforcement. */
interface Examiners {
  examine(sql: Sql, tables: Tables): Promise<Preflight>
  examineRole(sql: Sql, role: string, tables: Tables, databaseId: string): Promise<RoleExamination>
}

interface CatalogOptions extends Examiners {
  readonly secrets: SecretBox
  readonly guard: HostGuard
  readonly checkConnection: ConnectionCheck
}

export type Reached<T> = { readonly value: T } | { readonly unreachable: string }

/** A pool, and the hosts that its connections choose from. */
interface Reachable {
  readonly pool: pg.Pool
  readonly hosts: HostChoice
}

/** The catalogs of the bound databases. One connection each, closed when it is idle. */
export interface BoundCatalogs {
  /** One answer for each column, in the same order. */
  findColumns(database: BoundDatabase, columns: readonly ColumnName[]): Promise<Reached<CatalogColumn[]>>
  /** Those of the names that are roles of the server. */
  findRoles(database: BoundDatabase, names: readonly string[]): Promise<Reached<string[]>>
  /** Whether a role can be given to people. Tables: those that rules name. */
  examineRole(database: BoundDatabase, role: string, tables: Tables): Promise<Reached<RoleExamination>>
  /** Whether the database lets us in, and whether its tables can be masked: those that rules name. */
  greet(binding: Binding, password: string, tables: Tables): Promise<Reached<Preflight>>
  close(): Promise<void>
}

const connectTimeoutMs = 5_000
const queryTimeoutMs = 5_000
const idleTimeoutMs = 20_000

export function openBoundCatalogs({
  secrets,
  guard,
  checkConnection,
  ...examiners
}: CatalogOptions): BoundCatalogs {
  const pools = new Map<string, { version: number } & Reachable>()

  function poolOf({ id, binding, bindingSecret, bindingVersion, bindingSystem }: BoundDatabase): Reachable {
    const known = pools.get(id)
    if (known?.version === bindingVersion) return known
    if (known) void known.pool.end()
    if (!binding) throw new Error('a database that is not bound was asked for its catalog')
    const password = bindingSecret ? secrets.open(secretPlace(id), bindingSecret) : ''
    const connected = connect(addressOf(binding, password, guard, bindingSystem), checkConnection)
    pools.set(id, { version: bindingVersion, ...connected })
    return connected
  }

  async function ask<T>(database: BoundDatabase, question: (sql: Sql) => Promise<T>): Promise<Reached<T>> {
    try {
      return await reach(poolOf(database), question)
    } catch (error) {
      if (!(error instanceof SecretBoxError)) throw error
      return { unreachable: 'its password was stored under another secret key' }
    }
  }

  return {
    findColumns: (database, columns) => ask(database, (sql) => findColumns(sql, columns)),
    findRoles: (database, names) => ask(database, (sql) => findRoles(sql, names)),
    examineRole: (database, role, tables) =>
      ask(database, (sql) => examiners.examineRole(sql, role, tables, database.id)),
    async greet(binding, password, tables) {
      const connected = connect(addressOf(binding, password, guard), checkConnection)
      try {
        return await reach(connected, (sql) => examiners.examine(sql, tables))
      } finally {
        void connected.pool.end()
      }
    },
    async close() {
      await Promise.all([...pools.values()].map(({ pool }) => pool.end()))
    },
  }
}

async function findRoles(sql: Sql, names: readonly string[]): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select rolname::text as name from pg_catalog.pg_roles where rolname = any(${names}::text[]::name[])`
  return rows.map(({ name }) => name)
}

/** The sealed password is bound to its row. */
export function secretPlace(databaseId: string): string {
  return `masked_database.binding_secret/${databaseId}`
}

export const sealedBindings: SealedColumn = {
  table: 'masked_database',
  key: ['id'],
  column: 'binding_secret',
  place: ([id = '']) => secretPlace(id),
}

function connect(address: DatabaseAddress, check: ConnectionCheck): Reachable {
  const pool = new pg.Pool({
    ...driverOptions(address),
    ...checkConnections(check),
    max: 1,
    connectionTimeoutMillis: address.others ? connectTimeoutMs / 2 : connectTimeoutMs,
    query_timeout: queryTimeoutMs,
    statement_timeout: queryTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    application_name: 'masquerade',
    // Functions and operators that a role of the database made must not be found in the place of built-ins.
    options: `-c search_path=pg_catalog${steadyOptions}`,
    allowExitOnIdle: true,
  })
  pool.on('error', () => {})
  return { pool, hosts: choiceOf(address) }
}

async function reach<T>({ pool, hosts }: Reachable, ask: (sql: Sql) => Promise<T>): Promise<Reached<T>> {
  const sql = createSql(({ text, values }) =>
    withKnownSettings(pool, async () => {
      const client = await takeConnection(pool, hosts)
      try {
        const result = await client.query({ text, values, ...nameStatement(text) })
        client.release()
        return result
      } catch (error) {
        client.release(true)
        throw error
      }
    }),
  )
  try {
    return { value: await ask(sql) }
  } catch (error) {
    return { unreachable: explain(error) }
  }
}

/** The one failure that refuses a binding: others may pass. */
export const ownStoreReason = 'it is the database of this service itself'

const reasons: Readonly<Record<string, string>> = {
  EOWNSTORE: ownStoreReason,
  ECONNREFUSED: 'nothing listens at that host and port',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name cannot be looked up at the moment',
  ETIMEDOUT: 'the host does not answer',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ECONNRESET: 'the server closed the connection',
  EHOSTREFUSED: 'the host is not one that this service may be bound to',
  EWEAKAUTH:
    "the server asks for the password in a way by which it learns it, or by SCRAM with fewer than 4096 rounds; let it use scram-sha-256 with 4096 rounds, or set 'properties.binding.authentication' to md5 or password",
  EANSWER: 'the server does not answer as PostgreSQL does, or asks for a login that is not known here',
  EFOREIGN: 'the hosts belong to different clusters',
  [sqlstate.invalidPassword]: 'the user or the password is wrong',
  [sqlstate.invalidAuthorization]: 'the server does not let this user in',
  [sqlstate.invalidCatalogName]: 'there is no such database on the server',
  [sqlstate.tooManyConnections]: 'the server has no connection left',
  [sqlstate.cannotConnectNow]: 'the server is starting or stopping',
  [sqlstate.readOnlyTransaction]: 'none of the servers takes writes',
}

function isCertificateFault(code: string): boolean {
  return /CERT|^(ERR_TLS|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)/.test(code)
}

/** Chosen by error code alone: the server may be hostile, so its message texts are not passed on. */
function explain(error: unknown): string {
  const code = codeOf(error)
  const known = reasons[code]
  if (known) return known
  if (isCertificateFault(code))
    return `the certificate of the server cannot be verified (${code}); send its authority in 'properties.binding.sslRootCertificate', or set 'properties.binding.sslmode' to verify-ca or require to verify less`
  if (/^[A-Z0-9_]{5,40}$/.test(code)) return `the connection failed (${code})`
  if (error instanceof Error && /does not support SSL/.test(error.message))
    return "the server offers no TLS; 'properties.binding.sslmode' disable goes without"
  return 'the server does not answer'
}
