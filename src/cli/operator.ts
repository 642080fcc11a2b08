import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { publicOrigin } from '../auth/identity.ts'
import { openSecretRing } from '../auth/secret-ring.ts'
import { openSigningKeys, type SigningKeys } from '../auth/signing-keys.ts'
import { type Database, openDatabase } from '../db/database.ts'
import type { DatabaseAddress } from '../db/database-url.ts'
import { readTenantId } from '../db/instance.ts'
import { listPending } from '../db/migrate.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import type { SecretRing } from '../kernel/secret-box.ts'
import type { Settings } from '../settings.ts'
import { startCommand } from './invocation.ts'
import { requireOwnDirectory } from './own-directory.ts'
import { readOrigin } from './run-file.ts'

/** Access of an operator who can read the data directory: the service's database and its keys. */
export interface OperatorAccess extends AsyncDisposable {
  readonly database: Database
  readonly tenantId: string
  readonly signingKeys: SigningKeys
  readonly secrets: SecretRing
  /** In whose name tokens are issued. */
  readonly origin: string
}

export async function openOperatorAccess(settings: Settings): Promise<OperatorAccess> {
  const { dataDir } = settings
  // The store and the key of another user are no place for what the operator writes.
  await requireOwnDirectory(dataDir)
  const origin = await readOrigin(dataDir)
  const url = addressOf(settings)
  const database = openDatabase({ url, poolSize: 1 })
  try {
    const tenantId = await readTenant(database, settings)
    const secretBox = await openSecretRing(database.sql, settings, true)
    const signingKeys = await openSigningKeys({
      database,
      secretBox,
      rotationDays: settings.keyRotationDays,
      log: pino({ level: 'silent' }),
    })
    return {
      database,
      tenantId,
      signingKeys,
      secrets: secretBox,
      origin: origin ?? publicOrigin(settings),
      async [Symbol.asyncDispose]() {
        signingKeys.close()
        await database.close()
      },
    }
  } catch (error) {
    const explained = await explainVersion(database, error)
    await database.close()
    throw explained
  }
}

/** A command fails anywhere over tables of an older version, as before the restart after an upgrade. */
async function explainVersion({ sql }: Database, error: unknown): Promise<unknown> {
  if (error instanceof OperatorError) return error
  try {
    if ((await listPending(sql)).length === 0) return error
  } catch (cause) {
    return cause instanceof OperatorError ? cause : error
  }
  return new OperatorError(
    "The database of the service is of an older version. Restart the service with this version, or run 'masquerade migrate'.",
    { cause: error },
  )
}

export function addressOf({ databaseUrl, dataDir }: Settings): string | DatabaseAddress {
  return databaseUrl ?? readEmbeddedAddress(dataDir)
}

function readEmbeddedAddress(dataDir: string): DatabaseAddress {
  return {
    host: '127.0.0.1',
    port: Number(readPrivate(dataDir, 'postgres-port')),
    user: 'masquerade',
    password: readPrivate(dataDir, 'postgres-password'),
    database: 'masquerade',
    // After the server was killed, any user of the machine may listen at its port.
    weakestPassword: 'scram-sha-256',
    requiresProof: true,
  }
}

function readPrivate(dataDir: string, name: string): string {
  const file = join(dataDir, name)
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OperatorError(
      code === 'ENOENT'
        ? `There is no service in ${dataDir}: start it with '${startCommand}', or set MASQUERADE_DATA_DIR or MASQUERADE_DATABASE_URL.`
        : `${file} cannot be read (${code}): this command is for the user who runs the service.`,
      { cause },
    )
  }
}

export async function readTenant(database: Database, { dataDir, databaseUrl }: Settings): Promise<string> {
  try {
    const tenantId = await readTenantId(database.sql)
    if (tenantId !== undefined) return tenantId
  } catch (cause) {
    throw new OperatorError(
      databaseUrl === undefined
        ? `The service of ${dataDir} is not running: start it with '${startCommand}'.`
        : 'The database of MASQUERADE_DATABASE_URL cannot be used: it does not answer, or the service never ran on it.',
      { cause },
    )
  }
  throw new OperatorError('The database is damaged: its instance row is missing.')
}
