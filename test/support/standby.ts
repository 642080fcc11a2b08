import { execFile } from 'node:child_process'
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { parseDatabaseUrl } from '../../src/db/database-url.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../src/db/embedded.ts'
import { waitUntil } from './wait-until.ts'

const run = promisify(execFile)

/** A primary with a physical standby. The files are copied while the server is stopped, as pg_basebackup is not at hand. */
export async function startStandby() {
  const folder = await mkdtemp(path.join(tmpdir(), 'masquerade-test-'))
  const dataDir = (name: string) => path.join(folder, name)
  const start = async (name: string): Promise<EmbeddedPostgres> => {
    const server = await startEmbedded({ dataDir: dataDir(name), fast: true })
    let stopping: Promise<void> | undefined
    return {
      ...server,
      stop: () => {
        stopping ??= server.stop()
        return stopping
      },
    }
  }
  await (await start('primary')).stop()
  await run('cp', ['-a', dataDir('primary'), dataDir('standby')])
  await rm(path.join(dataDir('standby'), 'postgres-port'))
  const primary = await start('primary')
  const { user, password, port } = parseDatabaseUrl(primary.url)
  const cluster = path.join(dataDir('standby'), 'postgres')
  await appendFile(
    path.join(cluster, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${port} user=${user} password=${password}'\n`,
  )
  await writeFile(path.join(cluster, 'standby.signal'), '')
  const standby = await start('standby')
  const opened: Database[] = []
  return {
    primary,
    standby,
    user,
    password,
    /** A superuser's connection to a database of one of the servers. */
    open({ port: at }: EmbeddedPostgres, database: string): Database {
      const url = `postgres://${user}:${password}@127.0.0.1:${at}/${database}`
      const session = openDatabase({ url, poolSize: 2, searchPath: 'public' })
      opened.push(session)
      return session
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(opened.map((session) => session.close()))
      await Promise.all([primary.stop(), standby.stop()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export type StandbyPair = Awaited<ReturnType<typeof startStandby>>

/** A primary of another cluster and of a later timeline, which takes the same login. */
export async function startStranger({ password }: Pick<StandbyPair, 'password'>) {
  const folder = await mkdtemp(path.join(tmpdir(), 'masquerade-test-'))
  const first = await startEmbedded({ dataDir: folder, fast: true })
  const use = async <T>(url: string, run: (sql: Database['sql']) => Promise<T>) => {
    const database = openDatabase({ url, poolSize: 1, searchPath: 'public' })
    try {
      return await run(database.sql)
    } finally {
      await database.close()
    }
  }
  await first.stop()
  await writeFile(path.join(folder, 'postgres', 'standby.signal'), '')
  const server = await startEmbedded({ dataDir: folder, fast: true })
  await use(server.url, async (sql) => void (await sql`select pg_promote()`))
  const { user } = parseDatabaseUrl(server.url)
  await use(server.url, async (sql) => {
    await sql`create database people`
    await sql.unsafe(`alter role "${user}" password '${password}'`)
  })
  const people = `postgres://${user}:${password}@127.0.0.1:${server.port}/people`
  return {
    port: server.port,
    /** Schemas that the service made there. */
    readSchemas: () =>
      use(
        people,
        (sql) => sql<{ name: string }[]>`
        select nspname::text as name from pg_namespace where nspname ~ '^mask'`,
      ),
    async [Symbol.asyncDispose]() {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Runs it while the standby replays nothing. */
export async function whilePaused({ sql }: Database, run: () => Promise<void>): Promise<void> {
  await sql`select pg_wal_replay_pause()`
  try {
    // The function asks for the pause and does not wait for it.
    await waitUntil('the replay is paused', async () => {
      const [row] = await sql`select pg_get_wal_replay_pause_state() = 'paused' as paused`
      return row?.paused
    })
    await run()
  } finally {
    await sql`select pg_wal_replay_resume()`
  }
}
