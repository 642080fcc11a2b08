import { randomBytes } from 'node:crypto'
import { describe } from 'node:test'
import { type Database, openDatabase, type Sql } from '../../src/db/database.ts'
import { type Cluster, type ClusterName, majorOf, templateName } from './cluster.ts'
import { waitUntil } from './wait-until.ts'

export type TestDatabase = AsyncDisposable & { url: string; database: Database }

/** The runner starts the clusters once for all files, and names them here. */
const clusters: Cluster[] = JSON.parse(process.env.MASQUERADE_TEST_CLUSTERS ?? '[]')

export function listClusters(): ClusterName[] {
  return clusters.map(({ name }) => name)
}

/** Defines tests of what versions of PostgreSQL may treat differently: `npm test` runs them on the first, `npm run test:all` on each. */
export function forEachCluster(define: (cluster: ClusterName) => void): void {
  for (const { name } of process.env.MASQUERADE_TEST_ALL ? clusters : clusters.slice(0, 1))
    describe(`on ${name}`, () => define(name))
}

export { forEachCluster as forUsualCluster }

/** For variants of tests, such as kinds of bindings: `npm test` runs the most usual, `npm run test:all` each. */
export const hasAllVariants = process.env.MASQUERADE_TEST_ALL !== undefined

/** A database of its own with every migration applied. `await using` drops it. */
export async function createTestDatabase(cluster = usualCluster()): Promise<TestDatabase> {
  return await create(cluster, templateName)
}

/** The same without any of our tables, for tests of how they come about. */
export async function createEmptyDatabase(cluster = usualCluster()): Promise<TestDatabase> {
  return await create(cluster, 'template0')
}

async function create(clusterName: ClusterName, template: string): Promise<TestDatabase> {
  const cluster = findCluster(clusterName)
  const name = `test_${randomBytes(8).toString('hex')}`
  // Writing the copy to the log as well, as servers since 15 would, takes three times as long.
  const strategy = majorOf(clusterName) >= 15 ? 'strategy file_copy' : ''
  await administer(cluster, (sql) =>
    sql.unsafe(`create database "${name}" template "${template}" ${strategy}`),
  )
  const url = cluster.url.replace(/[^/]*$/, name)
  const database = openDatabase({ url, applicationName: 'masquerade-test' })
  return {
    url,
    database,
    async [Symbol.asyncDispose]() {
      await database.close()
      await administer(cluster, (sql) => sql`drop database if exists ${sql(name)} with (force)`)
    },
  }
}

/** The first one: in `npm test` the embedded one. */
function usualCluster(): ClusterName {
  return clusters[0]?.name ?? 'embedded-18'
}

function findCluster(name: ClusterName): Cluster {
  const found = clusters.find((cluster) => cluster.name === name)
  if (!found) throw new Error(`there is no PostgreSQL ${name}: run the tests by npm test`)
  return found
}

/** Cloning fails while another session, such as autovacuum, uses the template. */
async function administer(cluster: Cluster, run: (sql: Sql) => Promise<unknown>): Promise<void> {
  const { sql, close } = openDatabase({ url: cluster.url, poolSize: 1 })
  try {
    await waitUntil('the template is free', async () => {
      try {
        await run(sql)
        return true
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === '55006') return false
        throw error
      }
    })
  } finally {
    await close()
  }
}
