import pg from 'pg'
import type { Database } from '../../src/db/database.ts'
import { waitUntil } from './wait-until.ts'

interface Delayed extends AsyncDisposable {
  readonly pid: number
  readonly isStarting: () => Promise<boolean>
  /** Whether it was not ended, asleep or not. */
  readonly isOpen: () => Promise<boolean>
  /** Rejects where the session was ended. */
  readonly query: (text: string) => Promise<unknown[]>
}

/**
 * Connects with options that delay the start of the session. Resolves when PostgreSQL has checked its role and sleeps. The superuser
 * `database` looks for it. A signal ends the sleep early, and every DROP DATABASE of the cluster sends one to all sessions: no test counts
 * on the sleep.
 */
export async function openDelayed(database: Database, url: string, options: string): Promise<Delayed> {
  const { sql } = database
  const [row] = await sql<{ oid: number }[]>`
    select oid::int8 as oid from pg_database where datname = ${new URL(url).pathname.slice(1)}`
  /** By the lock on the database, as PostgreSQL 15 shows nothing else. */
  const list = async () => {
    const locks = await sql<{ pid: number }[]>`
      select pid from pg_locks where locktype = 'object' and classid = 'pg_database'::regclass and objid = ${row?.oid ?? 0}::int8::oid
        and pid is not null and pid not in (select pid from pg_stat_activity where usesysid is not null)`
    return locks.map(({ pid }) => pid)
  }
  const before = await list()
  const client = new pg.Client({ connectionString: url, options })
  client.on('error', () => {})
  let outcome: { failure?: unknown } | undefined
  const connected = client.connect().then(() => client)
  connected.then(
    () => {
      outcome = {}
    },
    (failure: unknown) => {
      outcome = { failure }
    },
  )
  let pid = 0
  await waitUntil('the session starts', async () => {
    pid = (await list()).find((one) => !before.includes(one)) ?? 0
    if (outcome?.failure) throw outcome.failure
    return pid !== 0 || outcome
  })
  if (pid === 0) {
    await client.end()
    return await openDelayed(database, url, options)
  }
  const isStarting = async () => (await list()).includes(pid)
  return {
    pid,
    isStarting,
    async isOpen() {
      if (await isStarting()) return true
      const found = await sql`select from pg_stat_activity where pid = ${pid} and usesysid is not null`
      return found.length === 1
    },
    query: async (text: string) => (await (await connected).query(text)).rows,
    async [Symbol.asyncDispose]() {
      await sql`select pg_terminate_backend(${pid})`
      await connected.then(
        (one) => one.end().catch(() => {}),
        () => {},
      )
    },
  }
}
