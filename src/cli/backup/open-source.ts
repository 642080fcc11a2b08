import { type Database, openDatabase } from '../../db/database.ts'
import { startEmbedded } from '../../db/embedded.ts'
import type { Settings } from '../../settings.ts'
import { addressOf, readTenant } from '../operator.ts'
import { requireOwnDirectory } from '../own-directory.ts'

interface Source extends AsyncDisposable {
  readonly database: Database
}

/** The database of the service as it is: it is not migrated. The embedded server is started where the service does not run. */
export async function openSource(settings: Settings): Promise<Source> {
  await requireOwnDirectory(settings.dataDir)
  const database = openDatabase({ url: addressOf(settings), poolSize: 1 })
  try {
    await readTenant(database, settings)
    return { database, [Symbol.asyncDispose]: () => database.close() }
  } catch (error) {
    await database.close()
    if (settings.databaseUrl !== undefined) throw error
  }
  const server = await startEmbedded({ dataDir: settings.dataDir, port: settings.embeddedPort })
  const own = openDatabase({ url: server.address, poolSize: 1 })
  return {
    database: own,
    async [Symbol.asyncDispose]() {
      await own.close()
      await server.stop()
    },
  }
}
