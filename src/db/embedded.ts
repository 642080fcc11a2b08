import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { OperatorError } from '../kernel/operator-error.ts'
import { openDatabase } from './database.ts'
import type { DatabaseAddress } from './database-url.ts'
import { writePrivateFile } from './private-file.ts'
import { chooseAccount } from './server/account.ts'
import { prepareBinaries } from './server/binaries.ts'
import { initCluster } from './server/init-cluster.ts'
import { lockDirectory } from './server/lock.ts'
import { type RunningServer, runServer, type ServerPlan, ServerStartError } from './server/run-server.ts'
import { clearStaleServer } from './server/stale-server.ts'

export type EmbeddedOptions = {
  dataDir: string
  /** One short phrase for each step that may take a while. */
  onProgress?: (step: string) => void
  /** For tests: nothing is forced to disk. */
  fast?: boolean
  /** For servers that stand in for masked ones; absent: what the service itself needs. */
  maxConnections?: number
  /** 0 or absent: the port of last time if it is free, else any. */
  port?: number
  /** The server ended by itself; the embedded database is gone until the next start. */
  onExit?: (reason: string) => void
}

export type EmbeddedPostgres = {
  /** The service's own database as superuser, over the unix socket where there is one. */
  address: DatabaseAddress
  /** The same over loopback TCP. Holds the password. */
  url: string
  host: string
  port: number
  version: string
  pid: number
  stop(): Promise<void>
}

const host = '127.0.0.1'
const superuser = 'masquerade'
const databaseName = 'masquerade'

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const dataDirectory = prepareDataDirectory(options.dataDir)
  const lock = lockDirectory(dataDirectory)
  try {
    const embedded = await start(dataDirectory, options)
    return {
      ...embedded,
      async stop() {
        await embedded.stop()
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw explainFileError(error, dataDirectory)
  }
}

async function start(dataDirectory: string, options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const directory = path.join(dataDirectory, 'postgres')
  const { fast = false, maxConnections } = options
  const account = chooseAccount(directory)
  const { bin, version } = prepareBinaries(account, dataDirectory)
  const passwordFile = path.join(dataDirectory, 'postgres-password')
  if (!existsSync(directory)) {
    options.onProgress?.('creating the embedded database')
    const password = randomBytes(24).toString('base64url')
    writePrivateFile(passwordFile, password)
    await initCluster({ bin, version, directory, account, superuser, password, fast })
  }
  checkClusterVersion(directory, version)
  if (!existsSync(passwordFile)) {
    throw new OperatorError(
      `the file ${passwordFile} is missing: restore it from a backup of the data directory`,
    )
  }
  await clearStaleServer(directory)
  options.onProgress?.('starting the embedded database')
  const portFile = path.join(dataDirectory, 'postgres-port')
  const { server, port } = await runOnFreePort(
    { bin, directory, account, fast, maxConnections },
    options.port,
    portFile,
  )
  const password = readFileSync(passwordFile, 'utf8').trim()
  const address: DatabaseAddress = {
    host: server.socketDirectory ?? host,
    port,
    user: superuser,
    password,
    database: databaseName,
    // After the server has ended, any user of the machine may listen at its port; the socket is in a private directory.
    ...(server.socketDirectory === undefined && { weakestPassword: 'scram-sha-256', requiresProof: true }),
  }
  try {
    await ensureDatabase(address)
  } catch (error) {
    await server.stop()
    throw error
  }
  server.died.then((reason) => options.onExit?.(reason))
  const url = `postgres://${superuser}:${password}@${host}:${port}/${databaseName}`
  return { address, url, host, port, version, pid: server.pid, stop: server.stop }
}

function prepareDataDirectory(wanted: string): string {
  const directory = path.resolve(wanted)
  try {
    // macOS has no other way in for the account that root lends to the server than by the path.
    mkdirSync(directory, {
      recursive: true,
      mode: process.getuid?.() === 0 && process.platform !== 'linux' ? 0o711 : 0o700,
    })
    const probe = path.join(directory, '.write-probe')
    writePrivateFile(probe, 'x'.repeat(4096))
    rmSync(probe)
    return directory
  } catch (error) {
    throw explainFileError(error, directory)
  }
}

async function runOnFreePort(plan: Omit<ServerPlan, 'port'>, wanted = 0, portFile: string) {
  const earlier = existsSync(portFile) ? Number.parseInt(readFileSync(portFile, 'utf8'), 10) || 0 : 0
  let port = wanted || earlier || (await findFreePort())
  let server: RunningServer | undefined
  for (let attempt = 1; server === undefined; attempt++) {
    try {
      server = await runServer({ ...plan, port })
    } catch (error) {
      if (!(error instanceof ServerStartError) || attempt === 10) throw error
      if (error.isPortBusy && !wanted) port = await findFreePort()
      else if (error.isPredecessorEnding) await new Promise((resolve) => setTimeout(resolve, 1_000))
      else throw error
    }
  }
  writePrivateFile(portFile, String(port))
  return { server, port }
}

async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, host, resolve)
  })
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
  return address.port
}

async function ensureDatabase(address: DatabaseAddress): Promise<void> {
  const { sql, close } = openDatabase({ url: { ...address, database: 'postgres' }, poolSize: 1 })
  try {
    const [found] = await sql`select 1 from pg_database where datname = ${databaseName}`
    if (!found) await sql`create database ${sql(databaseName)}`
  } finally {
    await close()
  }
}

function checkClusterVersion(directory: string, version: string): void {
  const file = path.join(directory, 'PG_VERSION')
  if (!existsSync(file)) throw new OperatorError(`${directory} is not a database`)
  const made = readFileSync(file, 'utf8').trim()
  if (made !== String(Number.parseInt(version, 10))) {
    throw new OperatorError(
      `the embedded database in ${directory} was made by PostgreSQL ${made}, and this version brings ${version}: dump it with the old version and import it`,
    )
  }
}

const fileReasons: Record<string, string> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: "the user's disk quota is used up",
  ENOTDIR: 'a part of the path is not a directory',
  EEXIST: 'it is not a directory',
  ENOENT: 'it cannot be created',
  EIO: 'the disk reports an error',
}

function explainFileError(error: unknown, directory: string): unknown {
  const code = error instanceof Error && 'syscall' in error && 'code' in error ? String(error.code) : ''
  const reason = fileReasons[code]
  return reason
    ? new OperatorError(`the data directory ${directory} cannot be used: ${reason}`, { cause: error })
    : error
}
