import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { message, query, readFields } from '../../../src/wire/messages.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { connectWire } from '../../support/byte-client.ts'
import { clause } from '../../support/clause.ts'
import { startCluster } from '../../support/cluster.ts'
import { policy, rule } from '../../support/masked-database.ts'
import { type Network, openNetwork } from '../../support/network.ts'
import { retryUntil, waitUntil } from '../../support/wait-until.ts'

type Client = Awaited<ReturnType<typeof connectWire>>

/** What a client may be in the middle of. Each has written a row by then. */
const situations: Record<string, (client: Client) => Promise<void>> = {
  'a transaction': async () => {},
  'a statement': async (client) => void client.write(query('select pg_sleep(600)')),
  'a COPY': async (client) => {
    client.write(query('copy public.t (id) from stdin'))
    while ((await client.reader.takeFrame(1 << 20))[0] !== 0x47);
    client.write(message('d', '77\n'))
  },
  'a result': async (client) => {
    client.write(query("select repeat('x', 1000) from generate_series(1, 10000000)"))
    for (let count = 0; count < 200; count++) await client.reader.takeFrame(1 << 20)
  },
}

describe('what breaks while a client is in the middle of something', () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>
  let admin: Database
  let gateway: Gateway
  /** The network between gateway and database. */
  let network: Network
  before(async () => {
    // Its own: others would not like what happens to it.
    cluster = await startCluster('embedded-18')
    admin = openDatabase({ url: cluster.url, poolSize: 3, searchPath: 'public' })
    await admin.sql.unsafe(`
      create role analyst login password 'secret'; create table public.t (id int, email text);
      insert into public.t values (1, 'ann@example.com'); grant select, insert on public.t to analyst`)
    await takeTurn(admin, policy([rule('public.t.email', 'Email')]))
    network = await openNetwork(cluster.url)
    gateway = await openBareGateway(admin, cluster.url, {}, network.address)
  })
  after(async () => {
    await gateway.close(0)
    network.close()
    await admin.close()
    await cluster.stop()
  })

  const open = (port = gateway.port) =>
    connectWire({ host: '127.0.0.1', port, user: 'analyst', password: 'secret', database: 'any' })
  const begin = async (client: Client): Promise<number> => {
    client.write(query('begin; insert into public.t (id) values (77); select pg_backend_pid()'))
    const { values, error } = await client.read()
    assert.equal(error, undefined)
    return Number(values[0]?.toString())
  }
  /** What a client hears from now on: the code of the last error, or that it was left in the middle of a message. */
  const hearEnd = async (client: Client): Promise<string> => {
    let last = 'nothing'
    try {
      for (;;) {
        const frame = await client.reader.takeFrame(1 << 20)
        if (frame[0] === 0x45) last = new Map(readFields(frame)).get('C') ?? ''
        else if (frame[0] === 0x44) last = 'rows'
      }
    } catch {
      return last
    }
  }
  const countLeft = async (): Promise<number> => {
    const [row] = await retryUntil(
      async () => await admin.sql`select count(*)::int as n from public.t where id = 77`,
    )
    return row?.n
  }
  const isGone = (pid: number) =>
    waitUntil('the end of the session at the database', async () => {
      const query = admin.sql`select 1 from pg_stat_activity where pid = ${pid}`
      // While it recovers it takes no questions.
      const found = await Promise.resolve(query).catch(() => undefined)
      return found?.length === 0
    })
  const within = async <T>(promise: Promise<T>): Promise<T> => {
    const late = AbortSignal.timeout(20_000)
    const hung = once(late, 'abort').then(() => assert.fail('it hangs'))
    return (await Promise.race([promise, hung])) as T
  }

  const breakages: Record<string, { run: (pid: number) => Promise<void>; codes: RegExp }> = {
    'the database ends the session': {
      run: async (pid) => void (await admin.sql`select pg_terminate_backend(${pid})`),
      codes: /^57P01$/,
    },
    'a process of the database is killed': {
      run: async (pid) => void process.kill(pid, 'SIGKILL'),
      codes: /^(08006|57P02)$/,
    },
    'the network resets the connection': {
      run: async () => {
        for (const line of network.lines) line.resetAndDestroy()
      },
      codes: /^08006$/,
    },
    'the network closes the connection': {
      run: async () => {
        for (const line of network.lines) line.destroySoon()
      },
      codes: /^08006$/,
    },
  }
  for (const [breakage, { run, codes }] of Object.entries(breakages))
    for (const [situation, enter] of Object.entries(situations))
      clause(
        'GATE-70',
        'When the database, the network or the gateway fails in the middle of a transaction, a…',
        async (t) => {
          await t.test(`${breakage}, in ${situation}`, async () => {
            const client = await open()
            const pid = await begin(client)
            await enter(client)
            const end = hearEnd(client)
            await run(pid)
            const heard = await within(end)
            // In the middle of a row there is no place for an error. A server that waits for its client ends without a word.
            if (situation !== 'a result') assert.match(heard, codes)
            else assert.match(heard, new RegExp(`${codes.source}|^rows$|^08006$`))
            assert.equal(await within(countLeft()), 0)
            assert.ok(await isGone(pid))
            // And the gateway is there for others.
            const next = await open()
            next.write(query('select email from public.t where id = 1'))
            assert.equal((await within(next.read())).values[0]?.toString(), 'aXXX@XXXX.com')
            await next.close()
          })
        },
      )

  for (const [situation, enter] of Object.entries(situations))
    test(`the gateway is killed in ${situation}: the connection ends, and nothing is half done`, async () => {
      const child = join(import.meta.dirname, '../../support/gateway-child.ts')
      const killed = spawn(process.execPath, [child, cluster.url], { stdio: ['ignore', 'pipe', 'inherit'] })
      const [said] = await once(killed.stdout, 'data')
      const client = await open(Number(/\d+/.exec(String(said))?.[0]))
      const pid = await begin(client)
      await enter(client)
      const end = hearEnd(client)
      killed.kill('SIGKILL')
      assert.match(await within(end), /^(nothing|rows)$/)
      // A process of the database that only waits is woken by the end of its connection; one that works hears of it later.
      if (situation === 'a statement') await admin.sql`select pg_terminate_backend(${pid})`
      assert.ok(await isGone(pid))
      assert.equal(await countLeft(), 0)
    })

  for (const [situation, enter] of Object.entries(situations))
    clause(
      'GATE-88',
      'When a client disconnects without Terminate, its statement is cancelled and its…',
      async (t) => {
        await t.test(`in ${situation}`, async () => {
          const client = await open()
          const pid = await begin(client)
          await enter(client)
          // A request to cancel that overtakes its statement does nothing.
          if (situation === 'a statement')
            await waitUntil('the statement runs', async () => {
              const [found] = await admin.sql`select state from pg_stat_activity where pid = ${pid}`
              return found?.state === 'active'
            })
          client.stream.resetAndDestroy()
          assert.ok(await isGone(pid))
          assert.equal(await countLeft(), 0)
        })
      },
    )

  test('whoever says goodbye behind statements is not taken for gone: they run to their end', async () => {
    const client = await open()
    const inserts = Array<Buffer>(1_000).fill(query('insert into public.t (id) values (78)'))
    client.write(query('select pg_sleep(0.3)'), ...inserts)
    client.stream.end(message('X'))
    client.stream.resume()
    await within(
      (async () => {
        for (let found = 0; found < 1_000; ) {
          const [row] = await admin.sql`select count(*)::int as n from public.t where id = 78`
          found = row?.n
        }
      })(),
    )
    await admin.sql`delete from public.t where id = 78`
  })

  const skip = process.platform === 'linux' ? false : 'it is looked up as Linux shows it'
  test('whoever vanishes without a word is asked for after a minute, on both legs', { skip }, async () => {
    const client = await open()
    const hex = (port: number | undefined) => (port ?? 0).toString(16).toUpperCase().padStart(4, '0')
    const listed = () =>
      readFileSync('/proc/net/tcp', 'utf8')
        .split('\n')
        .map((line) => line.trim().split(/\s+/))
    const legs = {
      own: ([, local]: string[]) => local?.endsWith(`:${hex(gateway.port)}`),
      toDatabase: ([, , remote]: string[]) => remote?.endsWith(`:${hex(network.address.port)}`),
    }
    // A timer for keeping alive (2), in hundredths of a second. Until the last bytes are confirmed it is another one.
    for (const [name, isOfLeg] of Object.entries(legs))
      await waitUntil(`${name} is kept alive`, () =>
        listed().some((row) => isOfLeg(row) && row[3] === '01' && /^02:0000(0|1[0-7])/.test(row[5] ?? '')),
      )
    await client.close()
  })
})
