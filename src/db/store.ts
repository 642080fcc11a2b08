import type { Logger } from 'pino'
import { OperatorError } from '../kernel/operator-error.ts'
import { findOpenStore } from './close-store.ts'
import { connectDatabase } from './connect.ts'
import type { Database } from './database.ts'
import { type DatabaseAddress, describeAddress, parseDatabaseUrl } from './database-url.ts'
import { type EmbeddedPostgres, startEmbedded } from './embedded.ts'
import { readTenantId } from './instance.ts'
import { Pulse } from './pulse.ts'

/** The service's own database, embedded or outside, migrated and ready. */
export interface Store {
  readonly database: Database
  /** Where it is, for those who listen to it. */
  readonly address: DatabaseAddress
  /** The embedded server, as its superuser; undefined with an outside one. */
  readonly server: EmbeddedPostgres | undefined
  /** For the screen: what database this is. Never has a password. */
  readonly description: string
  readonly tenantId: string
  readonly pulse: Pulse
  close(): Promise<void>
}

export interface StoreSettings {
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  readonly databasePoolSize: number
  readonly embeddedPort: number
  readonly auditSeconds: number
}

interface StoreHooks {
  readonly log: Logger
  onProgress(step: string): void
  onFatal(error: Error): void
  /** Hears of every statement and transaction that failed. */
  onFailure?(error: unknown): void
}

export async function openStore(settings: StoreSettings, hooks: StoreHooks): Promise<Store> {
  return settings.databaseUrl === undefined
    ? openEmbedded(settings, hooks)
    : openOutside(settings, settings.databaseUrl, hooks)
}

async function openEmbedded(
  settings: StoreSettings,
  { log, onProgress, onFatal, onFailure }: StoreHooks,
): Promise<Store> {
  const server = await startEmbedded({
    dataDir: settings.dataDir,
    port: settings.embeddedPort,
    onProgress,
    onExit: (reason) => onFatal(new Error(`The embedded PostgreSQL ended: ${reason}`)),
  })
  try {
    onProgress('migrating the database')
    const database = await connectDatabase({
      url: server.address,
      poolSize: settings.databasePoolSize,
      onFailure,
    })
    log.info({ version: server.version, port: server.port }, 'embedded PostgreSQL started')
    return await describeStore(database, settings, {
      address: server.address,
      server,
      description: `embedded PostgreSQL ${server.version} on ${server.host}:${server.port}`,
      stop: () => server.stop(),
    })
  } catch (error) {
    await server.stop()
    throw error
  }
}

async function openOutside(
  settings: StoreSettings,
  url: string,
  { log, onProgress, onFailure }: StoreHooks,
): Promise<Store> {
  onProgress('migrating the database')
  // One address for all connections: they learn from each other which of its hosts is the primary.
  const address = parseDatabaseUrl(url)
  const database = await connectDatabase({ url: address, poolSize: settings.databasePoolSize, onFailure })
  const statement = await findOpenStore(database.sql)
  if (statement)
    log.warn(
      { statement },
      'every role of the server may connect to the database of the service, and hold its locks',
    )
  return describeStore(database, settings, {
    address,
    server: undefined,
    description: `PostgreSQL at ${describeAddress(address)}`,
    stop: async () => {},
  })
}

interface Place {
  readonly address: DatabaseAddress
  readonly server: EmbeddedPostgres | undefined
  readonly description: string
  stop(): Promise<void>
}

async function describeStore(
  database: Database,
  { auditSeconds }: StoreSettings,
  { address, server, description, stop }: Place,
): Promise<Store> {
  const tenantId = await readTenantId(database.sql)
  if (tenantId === undefined) throw new OperatorError('the database is damaged: its instance row is missing')
  const pulse = new Pulse(database.sql, Math.min(2, auditSeconds) * 1000)
  return {
    database,
    pulse,
    address,
    server,
    description,
    tenantId,
    async close() {
      await pulse.close()
      await database.close()
      await stop()
    },
  }
}
