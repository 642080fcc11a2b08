import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe } from 'node:test'
import { openDatabase } from '../../../src/db/database.ts'
import { type DatabaseAddress, type Place, parseDatabaseUrl } from '../../../src/db/database-url.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../src/db/embedded.ts'
import { HostChoice, type HostConnection } from '../../../src/db/host-choice.ts'
import { SteadyConnection } from '../../../src/db/steady-connection.ts'
import { readSettings } from '../../../src/settings.ts'
import { NetworkLink } from '../../cluster/proxy.ts'
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

  clause(
    'SVC-72',
    'With several hosts, a node uses the answers of the present primary alone. It…',
    async () => {
      const [server] = servers
      assert.ok(server)
      await use({ ...parseDatabaseUrl(server.url), password: address.password }, async ({ sql }) => {
        await sql.unsafe('alter system set default_transaction_read_only = off')
        await sql`select pg_reload_conf()`
      })
      const link = await NetworkLink.open(server.port)
      const slow = { ...address, port: link.port, others: [{ host: '127.0.0.1', port: server.port }] }
      const database = openDatabase({ url: slow, poolSize: 3 })
      try {
        await waitUntil('the first host is used', () =>
          database.sql`select 1`.then(
            () => true,
            () => false,
          ),
        )
        const late = database.sql`select pg_sleep(1)`.then(
          () => 'answered',
          () => 'refused',
        )
        link.cut()
        const isElsewhere = async () => (await database.sql`select 1`.catch(() => [])).length === 1
        await waitUntil('the next host is used', isElsewhere, { withinMs: 15_000 })
        assert.equal(await late, 'refused')
        link.heal()
      } finally {
        await database.close()
        await link.close()
      }

      const hosts = new HostChoice({ ...address, others: [{ host: 'two', port: 2 }] })
      const ended: number[] = []
      const connect = (timeline: number, verifiedAt = performance.now()): HostConnection => ({
        place: hosts.present,
        verifiedAt,
        timeline,
        destroy: () => void ended.push(timeline),
      })
      assert.ok(hosts.admit(connect(1)) && hosts.admit(connect(2)))
      assert.deepEqual(ended, [1], 'the connection to the earlier primary stays')
      assert.equal(hosts.admit(connect(1)), false, 'an earlier primary is connected to')
      assert.equal(hosts.trusts(connect(2)), true)
      assert.equal(hosts.trusts(connect(2, performance.now() - 6_000)), false)
      hosts.beat(hosts.present, performance.now())
      assert.equal(hosts.trusts(connect(2, performance.now() - 6_000)), true)
    },
  )

  clause('SVC-73', 'A commit that the server acknowledges without its synchronous standby…', async () => {
    const [server] = servers
    assert.ok(server)
    const own = { ...parseDatabaseUrl(server.url), password: address.password }
    const setStandby = (name: string) =>
      use(own, async ({ sql }) => {
        await sql.unsafe(`alter system set synchronous_standby_names = '${name}'`)
        await sql`select pg_reload_conf()`
      })
    await use(own, async ({ sql }) => {
      await sql`create table public.kept (id int)`
      // Servers of tests do not wait for their disk.
      await sql.unsafe(`alter role ${JSON.stringify(own.user)} set synchronous_commit = on`)
    })
    const database = openDatabase({ url: own, searchPath: 'public' })
    /** As an operator does to a commit that waits for a standby. */
    const cancelWait = () =>
      use(own, async ({ sql }) => {
        const cancel = () =>
          sql`select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`
        await waitUntil('a commit waits', async () => (await cancel()).length > 0)
      })
    try {
      await setStandby('nobody')
      await waitUntil('the standby is missed', async () => {
        const [row] = await database.sql<{ names: string }[]>`
          select current_setting('synchronous_standby_names') as names`
        return row?.names === 'nobody'
      })
      const isUnavailable = { problem: 'DatabaseUnavailable' }
      const alone = assert.rejects(database.sql`insert into kept values (1)`, isUnavailable)
      await cancelWait()
      await alone
      const together = assert.rejects(
        database.transaction(async (tx) => void (await tx`insert into kept values (2)`)),
        isUnavailable,
      )
      await cancelWait()
      await together
      await setStandby('')
      await waitUntil('commits succeed', () =>
        database.sql`insert into kept values (3)`.then(
          () => true,
          () => false,
        ),
      )
    } finally {
      await setStandby('')
      await database.close()
    }
  })
})
