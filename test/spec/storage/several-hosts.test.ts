import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe } from 'node:test'
import { openDatabase } from '../../../src/db/database.ts'
import { type DatabaseAddress, type Place, parseDatabaseUrl } from '../../../src/db/database-url.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../src/db/embedded.ts'
import { SteadyConnection } from '../../../src/db/steady-connection.ts'
import { readSettings } from '../../../src/settings.ts'
import { clause } from '../../support/clause.ts'
import { waitUntil } from '../../support/wait-until.ts'

const placeOf = ({ host, port }: Place): Place => ({ host, port })

describe('a store on several servers', () => {
  let folder: string
  let servers: EmbeddedPostgres[]
  let address: DatabaseAddress

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'masquerade-test-'))
    const start = (name: string) => startEmbedded({ dataDir: path.join(folder, name), fast: true })
    servers = await Promise.all([start('one'), start('two')])
    const [one, two] = servers.map(({ url }) => parseDatabaseUrl(url))
    assert.ok(one && two)
    // The first place is one where nothing listens. Both servers get the password of the first.
    address = { ...one, host: '127.0.0.1', port: 1, others: [one, two].map(placeOf) }
    const password = `alter role ${JSON.stringify(two.user)} password '${one.password}'`
    await use(two, async ({ sql }) => void (await sql.unsafe(password)))
  })
  after(async () => {
    await Promise.all(servers.map((server) => server.stop()))
    await rm(folder, { recursive: true, force: true })
  })

  async function use<T>(at: DatabaseAddress, run: (database: ReturnType<typeof openDatabase>) => Promise<T>) {
    const database = openDatabase({ url: at })
    try {
      return await run(database)
    } finally {
      await database.close()
    }
  }

  /** What a promotion elsewhere does to a primary: it answers, and takes no writes any more. */
  async function makePrimary(primary: number) {
    for (const [at, { url }] of servers.entries()) {
      const own = { ...parseDatabaseUrl(url), password: address.password }
      await use(own, async ({ sql }) => {
        await sql.unsafe(`alter system set default_transaction_read_only = ${at === primary ? 'off' : 'on'}`)
        await sql`select pg_reload_conf()`
        const isWritable = async () => {
          const [row] = await sql<
            { value: string }[]
          >`select current_setting('transaction_read_only') as value`
          return (row?.value === 'off') === (at === primary)
        }
        await waitUntil('the setting is read', isWritable)
      })
    }
  }

  clause('SVC-70', '`MASQUERADE_DATABASE_URL` may name several hosts, as psql takes them…', async () => {
    const url = 'postgres://user:password@one:5432,two:5432/database?target_session_attrs=read-write'
    assert.equal(readSettings({ MASQUERADE_DATABASE_URL: url }).databaseUrl, url)
    const ports = servers.map(({ port }) => port)
    await makePrimary(1)
    const database = openDatabase({ url: address, poolSize: 3 })
    const steady = new SteadyConnection(address, 'steady')
    const write = () =>
      database.transaction(async (tx) => {
        await tx`create temp table if not exists note (text text)`
        const [row] = await tx<{ port: number }[]>`select current_setting('port')::int as port`
        return row?.port
      })
    const readPort = async () => {
      const [row] = await steady.query('port', "select current_setting('port')", [])
      return Number(row?.[0])
    }
    try {
      assert.equal(await write(), ports[1])
      assert.equal(
        await waitUntil('the steady connection is there', () => readPort().catch(() => 0)),
        ports[1],
      )
      await makePrimary(0)
      // A connection from before the change is refused once, and is then given up.
      const moved = await waitUntil('writes reach the new primary', () => write().catch(() => undefined))
      assert.equal(moved, ports[0])
      const [alone] = await database.sql<{ port: number }[]>`select current_setting('port')::int as port`
      assert.equal(alone?.port, ports[0])
      await makePrimary(1)
      await servers.shift()?.stop()
      assert.equal(
        await waitUntil('the other server is found', () => write().catch(() => undefined)),
        ports[1],
      )
    } finally {
      await steady.close()
      await database.close()
    }
  })
})
