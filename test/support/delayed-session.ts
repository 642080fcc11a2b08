import pg from 'pg'
import type { Database } from '../../src/db/database.ts'
import { waitUntil } from './wait-until.ts'

/**
 * Connects with options that delay the start of the session. Resolves when PostgreSQL has checked its role and sleeps. The superuser
 * `database` looks for it.
 */
export async function openDelayed({ sql }: Database, url: string, options: string) {
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
  let failure: unknown
  const connected = client.connect().then(() => client)
  connected.catch((error: unknown) => {
    failure = error
  })
  let pid = 0
  await waitUntil('the session starts', async () => {
    if (failure) throw failure
    pid = (await list()).find((one) => !before.includes(one)) ?? 0
    return pid !== 0
  })
  return {
    pid,
    isStarting: async () => (await list()).includes(pid),
    /** Rejects where the session was ended. */
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
