import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeAudit } from '../../db/audit.ts'
import { createLoader, requireEmptyStore } from '../../db/backup/load-store.ts'
import type { BackedUpFile, Manifest } from '../../db/backup/manifest.ts'
import type { BackupSummary, BackupVisitor } from '../../db/backup/walk-backup.ts'
import { appendChanges } from '../../db/change-log.ts'
import { lockFileName, restoreMarker } from '../../db/data-directory.ts'
import { type Database, openDatabase, type Tx } from '../../db/database.ts'
import { startEmbedded } from '../../db/embedded.ts'
import { noteRestore } from '../../db/instance.ts'
import { writePrivateFile } from '../../db/private-file.ts'
import { lockDirectory } from '../../db/server/lock.ts'
import { clearStaleServer } from '../../db/server/stale-server.ts'
import { voidAllTokens } from '../../directory/accounts/standing.ts'
import { forgetSignIns } from '../../issuer/issuer-secret.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { removeAllStored } from '../../masking/credentials/credential-store.ts'
import { markUnchecked } from '../../masking/states/list-states.ts'
import type { Settings } from '../../settings.ts'
import { requireOwnDirectory } from '../own-directory.ts'
import { requireEmptyDirectory, writeFiles } from './files.ts'

type Walk = (visitor: BackupVisitor) => Promise<BackupSummary>

/**
 * Restores a checked backup into the place of the settings, in one transaction. After a failure the place is as empty as
 * before; after a crash the marker in the data directory keeps a service from starting on half of it, and lets the next
 * restore begin anew.
 */
export async function restoreInto(
  settings: Settings,
  files: readonly BackedUpFile[],
  walk: Walk,
  say: (step: string) => void,
): Promise<void> {
  const { dataDir, databaseUrl } = settings
  const outside = databaseUrl === undefined ? undefined : openDatabase({ url: databaseUrl, poolSize: 1 })
  if (outside) await requireEmptyStore(outside.sql).catch((error) => outside.close().then(() => fail(error)))
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  // Again: a service may have been started there while the file was read, or another user may have made it.
  await requireOwnDirectory(dataDir)
  requireEmptyDirectory(dataDir)
  const marker = join(dataDir, restoreMarker)
  if (existsSync(marker)) await clearUnfinished(dataDir)
  writePrivateFile(marker, 'A restore into this directory has not finished.\n')
  try {
    await using place = outside ? fromOutside(outside, dataDir) : await openEmbedded(settings, say)
    writeFiles(files, settings)
    await load(place.database, walk, say)
    await place.database.sql`analyze`
  } catch (error) {
    undo(dataDir, marker)
    throw error
  }
  rmSync(marker)
}

function fail(error: unknown): never {
  throw error
}

function emptyDirectory(dataDir: string, kept: readonly string[] = []): void {
  for (const name of readdirSync(dataDir).filter((name) => ![...kept, 'lost+found'].includes(name)))
    rmSync(join(dataDir, name), { recursive: true, force: true })
}

/** Empties the directory after a failure. A process that uses the directory by now, and is the failure, keeps its files. */
function undo(dataDir: string, marker: string): void {
  try {
    lockDirectory(dataDir).release()
  } catch (error) {
    rmSync(marker, { force: true })
    throw error
  }
  emptyDirectory(dataDir)
}

/** Removes what a restore that was killed left behind: files, and an embedded server that may still run. */
async function clearUnfinished(dataDir: string): Promise<void> {
  const lock = lockDirectory(dataDir)
  try {
    await clearStaleServer(join(dataDir, 'postgres'))
    emptyDirectory(dataDir, [lockFileName, restoreMarker])
  } finally {
    lock.release()
  }
}

/** The directory is locked as that of an embedded server is: a second restore must not take the first for a dead one. */
function fromOutside(database: Database, dataDir: string) {
  const lock = lockDirectory(dataDir)
  return {
    database,
    async [Symbol.asyncDispose]() {
      await database.close()
      lock.release()
      rmSync(join(dataDir, lockFileName), { force: true })
    },
  }
}

async function openEmbedded({ dataDir, embeddedPort: port }: Settings, say: (step: string) => void) {
  const server = await startEmbedded({ dataDir, port, onProgress: say })
  const database = openDatabase({ url: server.address, poolSize: 1 })
  return {
    database,
    async [Symbol.asyncDispose]() {
      await database.close()
      await server.stop()
    },
  }
}

async function load(database: Database, walk: Walk, say: (step: string) => void): Promise<void> {
  let attempts = 0
  await database.transaction(async (tx) => {
    if (attempts++ > 0) throw new OperatorError('The database failed under the restore. Start it again.')
    const { manifest } = await walk(createLoader(tx, (table) => say(`restoring ${table}`)))
    await settle(tx, manifest)
  })
}

/**
 * Changes after the backup are lost, revocations included. So sign-ins, tokens and credentials for tools end, nodes and
 * clients that follow the log of changes read everything anew, and no state of a bound database counts.
 */
async function settle(tx: Tx, { tenantId, createdAt, version }: Manifest): Promise<void> {
  await forgetSignIns(tx)
  await voidAllTokens(tx)
  await removeAllStored(tx)
  await markUnchecked(tx)
  await noteRestore(tx)
  await appendChanges(tx, tenantId, [{ entity: 'directory', entityId: tenantId, kind: 'rewritten' }])
  const actor = { kind: 'operator', tenantId, objectId: '', applicationId: '' }
  const after = { createdAt, version }
  await writeAudit(tx, actor, 'masquerade restore', { action: 'restore', target: '/store', after })
}
