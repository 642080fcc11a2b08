import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { int32, message, query, readFields } from '../../../src/wire/messages.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { connectWire } from '../../support/byte-client.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedTable, type MaskedTable, maskedEmail } from '../../support/masked-table.ts'
import { waitUntil } from '../../support/wait-until.ts'

const sync = message('S')
const parse = (text: string, name = '') => message('P', `${name}\0${text}\0`, Buffer.alloc(2))
const bind = (name = '') => message('B', `\0${name}\0`, Buffer.alloc(6))
const execute = message('E', '\0', Buffer.alloc(4))
const wrong = 'select email, nothere from public.t'
const position = String(wrong.indexOf('nothere') + 1)

describe('messages that come before others are answered', () => {
  let target: MaskedTable
  let gateway: Gateway
  before(async () => {
    target = await createMaskedTable()
    gateway = await openBareGateway(target.database, target.url)
  })
  after(async () => {
    await gateway.close(0)
    await target[Symbol.asyncDispose]()
  })
  const open = (through = gateway) => connectWire(target.through(through))
  type Client = Awaited<ReturnType<typeof open>>
  /** The gateway and the database agree on what is answered. */
  const checkStep = async (client: Client) => {
    client.write(query(wrong))
    assert.equal((await client.read()).error?.get('P'), position)
    client.write(query('select email from public.t where id = 1'))
    assert.equal((await client.read()).values[0]?.toString(), maskedEmail)
  }
  const until = async (client: Client, type: string) => {
    while ((await client.reader.takeFrame(1 << 20))[0] !== type.charCodeAt(0));
  }

  const quote = 'Errors point into the text that they are about however many messages are under way…'
  const courses: Record<string, (client: Client) => Promise<void>> = {
    'after an error everything is skipped up to Sync': async (client) => {
      client.write(parse(wrong), parse('select email from public.t'), bind(), execute, parse(wrong), sync)
      client.write(parse('select 1'), parse(wrong), sync, query(wrong))
      for (let round = 0; round < 3; round++) assert.equal((await client.read()).error?.get('P'), position)
    },
    'names, Describe and Close': async (client) => {
      const name = 'n'.repeat(5000)
      client.write(parse('select email from public.t where id = 1', name), message('D', `S${name}\0`))
      client.write(message('C', `S${name}\0`), parse('select email from public.t limit 1', name))
      client.write(bind(name), message('D', 'P\0'), execute, message('H'), sync)
      const { values, types, error } = await client.read()
      assert.equal(error, undefined)
      assert.equal(values[0]?.toString(), maskedEmail)
      assert.equal(types, '1tT312TDCZ')
    },
    'Sync while a COPY comes in is answered by nobody, as libpq sends it': async (client) => {
      client.write(parse('copy public.t (id) from stdin'), bind(), execute, sync)
      await until(client, 'G')
      client.write(sync, message('d', '5\n'), sync, message('c'), sync)
      assert.match((await client.read()).types, /^CZ$/)
      client.write(query('copy public.t (id) from stdin'), sync, message('d', '6\n'), sync, message('c'))
      await client.read()
      // All at once, and one that fails.
      client.write(
        parse('copy public.t (id) from stdin'),
        bind(),
        execute,
        sync,
        message('d', '7\n'),
        message('c'),
      )
      client.write(sync)
      await client.read()
      client.write(query('copy public.t (id) from stdin'), message('d', 'x\n'), message('c'))
      assert.equal((await client.read()).error?.get('C'), '22P02')
      client.write(query('copy public.t (id) from stdin'), message('f', 'no\0'), query('select 1'))
      assert.equal((await client.read(2)).error?.get('C'), '57014')
      client.write(query('copy public.nothere from stdin'), message('c'), query('select 1'))
      await client.read(2)
    },
    'COPY data that looks like messages': async (client) => {
      const hidden = [query('select email from public.t'), message('X'), sync, message('c')]
      client.write(query('create temp table notes (body text)'))
      await client.read()
      client.write(query("copy notes from stdin (encoding 'latin1', delimiter E'\\x02')"))
      for (const frame of hidden) {
        const harmless = frame.toString('latin1').replaceAll('\0', '\x01').replaceAll('\n', ' ')
        client.write(message('d', Buffer.from(`${harmless}\n`, 'latin1')))
      }
      client.write(message('d', Buffer.alloc(0)), message('c'))
      assert.match((await client.read()).types, /^GCZ$/)
      client.write(query('select count(*) from notes'))
      assert.equal((await client.read()).values[0]?.toString(), '4')
    },
    'statements too long to be looked at': async (client) => {
      const long = `select 1 /*${'x'.repeat(1_200_000)}*/`
      client.write(query(long), query(wrong), parse(long), parse(wrong), sync, query(wrong))
      assert.equal((await client.read()).error, undefined)
      for (let round = 0; round < 3; round++) assert.equal((await client.read()).error?.get('P'), position)
    },
    'a function call': async (client) => {
      const call = message('F', int32(2026), Buffer.alloc(6))
      client.write(call, query(wrong))
      const { types, error } = await client.read(2)
      assert.equal(types, 'VZEZ')
      assert.equal(error?.get('P'), position)
    },
    'a hundred thousand messages': async (client) => {
      client.write(Buffer.concat(Array<Buffer>(100_000).fill(sync)), query(wrong))
      assert.equal((await client.read(100_001)).error?.get('P'), position)
    },
  }
  for (const [name, run] of Object.entries(courses))
    clause('GATE-71', quote, async (t) => {
      await t.test(name, async () => {
        const client = await open()
        await run(client)
        await checkStep(client)
        await client.close()
      })
    })

  /** Writes as the gateway reads, until it ends the session or so many messages are sent. Fails when it does not end. */
  const flood = async (client: Client, frame: Buffer, most: number) => {
    const piece = Buffer.concat(Array<Buffer>(10_000).fill(frame))
    const closed = new Promise<void>((resolve) => client.stream.once('close', () => resolve()))
    client.stream.on('error', () => {})
    let error: string | undefined
    void (async () => {
      for (;;) {
        const answer = await client.reader.takeFrame(1 << 20)
        if (answer[0] === 0x45) error = new Map(readFields(answer)).get('C')
      }
    })().catch(() => {})
    for (let sent = 0; sent < most && error !== '54000' && !client.stream.destroyed; sent += 10_000) {
      const isFull = !client.stream.write(piece)
      if (!isFull) continue
      const drained = new Promise<void>((resolve) => client.stream.once('drain', () => resolve()))
      await Promise.race([drained, closed])
    }
    await waitUntil('the session ends', () => error === '54000')
    await client.close()
  }
  const unanswered =
    'A session with 200,000 messages that the database has not answered ends with 54000, and so…'
  const close = message('C', 'Sx\0')

  clause('GATE-212', unanswered, async (t) => {
    await t.test('a query behind a failed Bind, and no Sync', async () => {
      const client = await open()
      client.write(query('select pg_backend_pid()'))
      const pid = Number((await client.read()).values[0])
      client.write(bind('nope'), query('select 1'))
      await until(client, 'E')
      await flood(client, close, 3_000_000)
      await waitUntil('the backend is gone', async () => {
        const { sql } = target.database
        return (await sql`select from pg_stat_activity where pid = ${pid}`).length === 0
      })
    })

    await t.test('a database that reads and never answers', async () => {
      let isSilent = false
      const { hostname, port } = new URL(target.url)
      const lines = new Set<Socket>()
      const server = createServer((near) => {
        const far = connect(Number(port), hostname)
        for (const line of [near, far]) lines.add(line.on('error', () => {}))
        near.on('data', (bytes) => void (isSilent || far.write(bytes)))
        near.on('close', () => far.destroy())
        far.pipe(near)
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const place = { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
      const other = await openBareGateway(target.database, target.url, {}, place)
      const client = await open(other)
      isSilent = true
      await flood(client, sync, 3_000_000)
      await waitUntil('the connections to the database are closed', () =>
        [...lines].every((line) => line.destroyed),
      )
      await other.close(0)
      server.close()
    })

    await t.test('a pipeline of thirty thousand statements behind a slow one', async () => {
      const client = await open()
      const statements = 30_000
      const one = Buffer.concat([parse('select email from public.t where id = 1'), bind(), execute])
      client.write(query('select pg_sleep(1)'))
      for (let sent = 0; sent < statements; sent += 1_000)
        client.stream.write(Buffer.concat(Array<Buffer>(1_000).fill(one)))
      client.write(sync)
      const { values, error } = await client.read(2)
      assert.equal(error, undefined)
      assert.equal(values.length, statements + 1)
      assert.ok(values.slice(1).every((value) => value?.toString() === maskedEmail))
      await checkStep(client)
      await client.close()
    })

    await t.test('prepared statements, each with a Sync, behind a slow one', async () => {
      const client = await open()
      const statements = 60_000
      client.write(parse('select 1', 'a'), sync)
      await client.read()
      const one = Buffer.concat([bind('a'), execute, sync])
      client.write(query('select pg_sleep(1)'))
      for (let sent = 0; sent < statements; sent += 1_000)
        client.stream.write(Buffer.concat(Array<Buffer>(1_000).fill(one)))
      const { error } = await client.read(1 + statements)
      assert.equal(error, undefined)
      await checkStep(client)
      await client.close()
    })
  })

  test('a session with such a COPY is idle after it', async () => {
    const hasty = await openBareGateway(target.database, target.url, { idleMs: 2_000 })
    const client = await open(hasty)
    client.write(parse('copy public.t (id) from stdin'), bind(), execute, sync)
    await until(client, 'G')
    client.write(message('c'), sync)
    await client.read()
    const frame = await client.reader.takeFrame(1 << 20)
    assert.equal(new Map(readFields(frame)).get('C'), '57P05')
    await hasty.close(0)
  })
})
