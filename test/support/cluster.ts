import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { nativeFolder } from '../../scripts/test/fetch-postgres.ts'
import { connectDatabase } from '../../src/db/connect.ts'
import { openDatabase } from '../../src/db/database.ts'
import { startEmbedded } from '../../src/db/embedded.ts'
import { chooseAccount } from '../../src/db/server/account.ts'
import { prepareBinaries } from '../../src/db/server/binaries.ts'
import { initCluster } from '../../src/db/server/init-cluster.ts'
import { runServer, type ServerPlan, ServerStartError } from '../../src/db/server/run-server.ts'
import { retryUntil } from './wait-until.ts'

/** `fetched` ones are there for `npm run test:all` alone. */
export type ClusterName = 'embedded-18' | `installed-${number}` | `fetched-${number}`
/** `url` is the superuser's, of the database `postgres`. */
export type Cluster = { name: ClusterName; url: string }
type StartedCluster = Cluster & { stop(): Promise<void> }

export function majorOf(name: ClusterName): number {
  return Number(name.split('-')[1])
}

export const templateName = 'masquerade_template'

/** Servers for each shard: many tests look at the sessions, locks and roles of a whole server, or end them. */
export async function startClusterSets(
  count: number,
  names: readonly ClusterName[],
): Promise<{ sets: Cluster[][]; stop(): Promise<void> }> {
  const all = Array.from({ length: count }, () => names).flat()
  const { clusters, stop } = await startClusters(all)
  const sets = Array.from({ length: count }, (_, at) =>
    clusters.slice(at * names.length, (at + 1) * names.length),
  )
  return { sets, stop }
}

export async function startClusters(
  names: readonly ClusterName[],
): Promise<{ clusters: Cluster[]; stop(): Promise<void> }> {
  const outcomes = await Promise.allSettled(names.map(startCluster))
  const started = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const stop = async () => {
    await Promise.all(started.map((cluster) => cluster.stop()))
  }
  const failure = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failure) {
    await stop()
    throw failure.reason
  }
  return { clusters: started.map(({ name, url }) => ({ name, url })), stop }
}

/** The embedded PostgreSQL, and the one installed on the machine where there is one. */
export function listClusterNames(): ClusterName[] {
  const installed = findInstalled()
  return installed ? ['embedded-18', `installed-${installed.major}`] : ['embedded-18']
}

/** Throw-away: nothing is forced to disk, and `stop` deletes it. It holds a migrated template database. */
export async function startCluster(name: ClusterName): Promise<StartedCluster> {
  const directory = mkdtempSync(path.join(tmpdir(), 'masquerade-test-'))
  const server = await (name === 'embedded-18' ? runEmbedded(directory) : runOther(directory, name))
  const cluster = { name, url: server.url }
  const stop = async () => {
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    await createTemplate(cluster)
  } catch (error) {
    await stop()
    throw error
  }
  return { ...cluster, stop }
}

async function runEmbedded(directory: string) {
  const { url, stop } = await startEmbedded({ dataDir: directory, fast: true })
  return { url: url.replace(/[^/]*$/, 'postgres'), stop }
}

async function runOther(parent: string, name: ClusterName) {
  const directory = path.join(parent, 'postgres')
  const account = chooseAccount(directory)
  // Programs before PostgreSQL 16 go back to their working directory by its path when they look for themselves.
  if (account) chmodSync(parent, 0o711)
  const [kind, version = ''] = name.split('-')
  const bin =
    kind === 'fetched'
      ? prepareBinaries(account, parent, nativeFolder(Number(version))).bin
      : findInstalled()?.bin
  if (!bin) throw new Error('no PostgreSQL is installed on this machine')
  if (kind !== 'fetched' && name !== `installed-${findInstalled()?.major}`)
    throw new Error(`${name} is not installed on this machine`)
  const password = randomBytes(12).toString('hex')
  const plan = { bin, directory, account, fast: true }
  await initCluster({ ...plan, version, superuser: 'masquerade', password })
  const { port, stop } = await runOnFreePort(plan)
  return { url: `postgres://masquerade:${password}@127.0.0.1:${port}/postgres`, stop }
}

/** Another server may take the port that was free. */
async function runOnFreePort(plan: Omit<ServerPlan, 'port'>) {
  const isPortBusy = (error: unknown) => error instanceof ServerStartError && error.isPortBusy
  return await retryUntil(async () => {
    const port = await findFreePort()
    return { ...(await runServer({ ...plan, port })), port }
  }, isPortBusy)
}

/** Without connections to it, the template can be cloned at any time. */
async function createTemplate(cluster: Cluster): Promise<void> {
  const { sql, close } = openDatabase({ url: cluster.url, poolSize: 1 })
  try {
    await sql`create database ${sql(templateName)}`
    const template = await connectDatabase({ url: cluster.url.replace(/[^/]*$/, templateName), poolSize: 1 })
    await template.close()
    await sql`alter database ${sql(templateName)} with is_template true allow_connections false`
  } finally {
    await close()
  }
}

/** The oldest we support: it differs most from the embedded one. */
function findInstalled(): { bin: string; major: number } | undefined {
  const debian = '/usr/lib/postgresql'
  const directories = [
    spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim(),
    ...(existsSync(debian) ? readdirSync(debian).map((version) => path.join(debian, version, 'bin')) : []),
    ...(process.env.PATH ?? '').split(path.delimiter),
  ]
  const found = directories.flatMap((bin) => {
    if (!bin || !existsSync(path.join(bin, 'initdb')) || !existsSync(path.join(bin, 'postgres'))) return []
    const { stdout } = spawnSync(path.join(bin, 'postgres'), ['--version'], { encoding: 'utf8' })
    const major = Number(/PostgreSQL\) (\d+)/.exec(stdout ?? '')?.[1] ?? 0)
    return major >= 14 ? [{ bin, major }] : []
  })
  return found.sort((a, b) => a.major - b.major)[0]
}

async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
  return address.port
}
