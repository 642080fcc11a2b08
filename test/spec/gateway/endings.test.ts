import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { message, query, readFields } from '../../../src/wire/messages.ts'
import { writeStartup } from '../../../src/wire/startup.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedTable, type MaskedTable } from '../../support/masked-table.ts'
import { type Network, openNetwork } from '../../support/network.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('how sessions of the gateway end', () => {
  let target: MaskedTable
  let network: Network
  before(async () => {
    target = await createMaskedTable()
    network = await openNetwork(target.url)
  })
  after(async () => {
    network.close()
    await target[Symbol.asyncDispose]()
  })

  const login = async (gateway: Gateway) => {
    const client = new pg.Client(target.through(gateway))
    client.on('error', () => {})
    await client.connect()
    return client
  }
  const overNetwork = () => openBareGateway(target.database, target.url, {}, network.address)

  test('the network is cut in the middle of a transaction: an error, and nothing half done', async () => {
    const gateway = await overNetwork()
    const client = await login(gateway)
    await client.query('begin; insert into public.t values (2)')
    const slow = assert.rejects(client.query('select pg_sleep(60)'), { code: '08006' })
    for (const line of network.lines) line.destroy()
    await slow
    const left = await target.database.sql`select 1 from public.t where id = 2`
    assert.equal(left.length, 0)
    await gateway.close(0)
  })

  test('the database cannot be reached', async () => {
    const gateway = await openBareGateway(target.database, target.url, {}, { port: 1 })
    await assert.rejects(login(gateway), { code: '08001' })
    await gateway.close(0)
  })

  test('a shutdown ends idle sessions at once and busy ones when they are done', async () => {
    const gateway = await openBareGateway(target.database, target.url)
    const idle = await login(gateway)
    const ended = new Promise((resolve) => idle.once('end', resolve))
    const busy = await login(gateway)
    const done = busy.query('select 1 as one, pg_sleep(1)')
    await waitUntil('the statement', async () => {
      const found = await target.database.sql`
        select from pg_stat_activity
        where datname = current_database() and query like '%as one, pg_sleep(1)' and state = 'active'
          and pid <> pg_backend_pid()`
      return found.length > 0
    })
    const closed = gateway.close(20_000)
    await ended
    assert.equal((await done).rows[0].one, 1)
    await closed
    await assert.rejects(login(gateway), { code: 'ECONNREFUSED' })
  })

  test('a shutdown whose time is up ends busy ones too', async () => {
    const gateway = await openBareGateway(target.database, target.url)
    const busy = await login(gateway)
    const slow = assert.rejects(busy.query('select pg_sleep(60)'), { code: '57P01' })
    await gateway.close(0)
    await slow
  })

  const limits = 'Limits end a connection with an error of their own: too many sessions, overall or …'
  clause('GATE-19', limits, async () => {
    const hasty = await openBareGateway(target.database, target.url, { startupMs: 300 })
    const mute = connect(hasty.port, '127.0.0.1')
    const [answer] = await once(mute, 'data')
    assert.equal(new Map(readFields(answer)).get('C'), '08006')
    await hasty.close(0)

    // Two gateways: on a busy machine the second login may take longer than the first session may be idle.
    const full = await openBareGateway(target.database, target.url, { connections: 1 })
    await login(full)
    await assert.rejects(login(full), { code: '53300' })
    await full.close(0)
    const gateway = await openBareGateway(target.database, target.url, { idleMs: 2_000 })
    const error = once(await login(gateway), 'error')
    assert.equal((await error)[0].code, '57P05')
    await gateway.close(0)
  })

  // The same for how many one role may have, and for a message that is too long.
  clause('GATE-19', limits, async () => {
    const gateway = await openBareGateway(target.database, target.url, {
      connectionsPerRole: 1,
      messageBytes: 70_000,
    })
    const client = await login(gateway)
    await assert.rejects(login(gateway), { code: '53300', message: /too many connections of/ })
    const { rows } = await client.query('select length($1) as n', ['x'.repeat(60_000)])
    assert.equal(rows[0].n, 60_000)
    await assert.rejects(client.query('select length($1)', ['x'.repeat(80_000)]), {
      code: '54000',
      message: /is longer than the 70000 that the gateway takes/,
    })
    await gateway.close(0)
  })

  // A session that says nothing that the database works on is idle; one that waits for a statement is not.
  clause('GATE-19', limits, async () => {
    // Longer than a busy machine takes from the end of a login to its first statement.
    const gateway = await openBareGateway(target.database, target.url, { idleMs: 1_500 })
    const silences: Record<string, Buffer> = {
      'one byte': Buffer.from('Q'),
      'a lone Flush': message('H'),
      'Parse without Sync': message('P', '\0select 1\0', Buffer.alloc(2)),
    }
    const fallSilent = async (name: string, speak: (client: pg.Client) => unknown) => {
      const client = await login(gateway)
      const error = once(client, 'error')
      await speak(client)
      assert.equal((await error)[0].code, '57P05', name)
    }
    await Promise.all([
      ...Object.entries(silences).map(([name, bytes]) =>
        fallSilent(name, (client) => streamOf(client).write(bytes)),
      ),
      fallSilent('an open transaction', (client) => client.query('begin')),
    ])
    const busy = await login(gateway)
    assert.equal((await busy.query('select 1 as one, pg_sleep(3)')).rows[0].one, 1)
    await gateway.close(0)
  })

  test('statements that the database skips after an error are not kept', async () => {
    const gateway = await openBareGateway(target.database, target.url)
    const client = await login(gateway)
    const stream = streamOf(client)
    stream.removeAllListeners('data')
    const isReady = new Promise<void>((resolve) => {
      stream.on('data', (bytes: Buffer) => void (bytes.includes('Z\0\0\0\x05') && resolve()))
    })
    const statement = `\0select email from public.t where email = '${'x'.repeat(3000)}'\0`
    stream.write(message('P', '\0wrong\0', Buffer.alloc(2)))
    const many = Buffer.concat(Array.from({ length: 300 }, () => message('P', statement, Buffer.alloc(2))))
    const used = () => process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed
    globalThis.gc?.()
    const before = used()
    for (let round = 0; round < 100; round++) if (!stream.write(many)) await once(stream, 'drain')
    stream.write(message('S'))
    await isReady
    globalThis.gc?.()
    assert.ok(used() - before < 60 * 1024 * 1024, `${(used() - before) >> 20} MB of 90 MB are kept`)
    await gateway.close(0)
  })

  test('a login that the database asks no good proof for is refused', async () => {
    const ask = (code: number) => message('R', Buffer.from([0, 0, 0, code]), ...(code === 5 ? ['salt'] : []))
    for (const code of [0, 3, 5, 7]) {
      const trusting = createServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => socket.write(ask(code)))
      })
      await new Promise<void>((resolve) => trusting.listen(0, '127.0.0.1', resolve))
      const { port } = trusting.address() as { port: number }
      const gateway = await openBareGateway(target.database, target.url, {}, { host: '127.0.0.1', port })
      const socket = connect(gateway.port, '127.0.0.1')
      socket.write(writeStartup([['user', 'postgres']]))
      const [answer] = await once(socket, 'data')
      assert.equal(new Map(readFields(answer)).get('C'), '28000')
      await gateway.close(0)
      trusting.close()
    }
  })

  test('a reader that stops costs a bounded amount of memory', async (t) => {
    const gateway = await openBareGateway(target.database, target.url)
    const client = await login(gateway)
    const stream = streamOf(client)
    stream.removeAllListeners('data')
    const before = process.memoryUsage()
    stream.pause()
    stream.write(query("select repeat('x', 1000) from generate_series(1, 1000000)"))
    const waiting = async () => {
      const [row] = await target.database.sql`
        select wait_event from pg_stat_activity where query like '%generate_series(1, 1000000)' and pid <> pg_backend_pid()`
      return row?.wait_event === 'ClientWrite'
    }
    // The database itself waits for us: nobody takes in what nobody reads.
    let inARow = 0
    await waitUntil('the database waits for its client', async () => {
      inARow = (await waiting()) ? inARow + 1 : 0
      return inARow === 20
    })
    const after = process.memoryUsage()
    const grown = after.arrayBuffers + after.external - before.arrayBuffers - before.external
    assert.ok(grown < 64 * 1024 * 1024, `${grown} bytes`)
    const resident = after.rss - before.rss
    t.diagnostic(`a stopped reader: ${grown} bytes of buffers, ${resident} bytes resident`)
    assert.ok(resident < 128 * 1024 * 1024, `${resident} bytes`)
    let read = 0
    stream.on('data', (chunk) => {
      read += chunk.length
      if (read > 1_000_000_000) stream.destroy()
    })
    stream.resume()
    await new Promise((resolve) => stream.once('close', resolve))
    assert.ok(read > 1_000_000_000)
    await gateway.close(0)
  })
})

function streamOf(client: pg.Client): Socket {
  return Reflect.get(Reflect.get(client, 'connection'), 'stream') as Socket
}
