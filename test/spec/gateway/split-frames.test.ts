import assert from 'node:assert/strict'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { openWireClient, type WireClient } from '../../support/wire-client.ts'

/** A network that passes one byte at a time, both ways. */
async function openDrip(host: string, port: number): Promise<Server> {
  const pass = async (from: Socket, to: Socket) => {
    try {
      for await (const chunk of from)
        for (const byte of chunk as Buffer) {
          to.write(Buffer.from([byte]))
          await new Promise(setImmediate)
        }
    } catch {
      // The sender is gone.
    }
    to.end()
  }
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host, port, noDelay: true })
    for (const socket of [near, far]) socket.on('error', () => {})
    void pass(near, far)
    void pass(far, near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

const wrong = "select 'é', email from public.t where nothere = 1"
const portOf = (server: Server) => (server.address() as { port: number }).port

describe('messages that come byte by byte', () => {
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  /** One to whose clients, and one to whose database it drips. */
  let whole: Gateway
  let behind: Gateway
  const drips: Server[] = []
  before(async () => {
    target = await createMaskedDatabase()
    const analyst = await target.createRole('analyst')
    await target.database.sql.unsafe(`
      create table public.t (id int, email text);
      insert into public.t values (1, 'ann@example.com'), (2, null), (3, 'bob@example.com');
      grant select on public.t to "${analyst}"`)
    await takeTurn(target.database, policy([rule('public.t.email', 'Email')]))
    whole = await openBareGateway(target.database, target.url)
    const { hostname, port } = new URL(target.url)
    const toDatabase = await openDrip(hostname, Number(port))
    const address = { host: '127.0.0.1', port: portOf(toDatabase) }
    behind = await openBareGateway(target.database, target.url, {}, address)
    drips.push(toDatabase, await openDrip('127.0.0.1', whole.port), await openDrip('127.0.0.1', behind.port))
  })
  after(async () => {
    for (const drip of drips) drip.close()
    await whole.close(0)
    await behind.close(0)
    await target[Symbol.asyncDispose]()
  })

  const rounds: Record<string, (client: WireClient) => ReturnType<WireClient['simple']>> = {
    rows: (client) => client.simple('select id, email from public.t order by id'),
    'rows in binary': (client) => client.extended('select id, email from t where id <> $1', 1, ['2']),
    'an error whose position is mapped': (client) => client.simple(wrong),
    'the same, extended': (client) => client.extended('select email, nothere from public.t', 0),
    'a parameter': (client) => client.simple("set timezone = 'Asia/Tokyo'"),
    'an encoding': (client) =>
      client.simple("set client_encoding = 'latin1'; select 'é', email from public.t"),
    'a notice': (client) => client.simple('drop table if exists nothere'),
    nothing: (client) => client.simple(''),
  }
  const talk = async (port: number) => {
    const url = new URL(target.urlOf('analyst'))
    url.host = `127.0.0.1:${port}`
    const client = await openWireClient(url.href)
    const heard: Record<string, string[]> = {}
    for (const [name, say] of Object.entries(rounds))
      heard[name] = (await say(client)).frames.map((frame) => frame.toString('latin1'))
    await client.close()
    return heard
  }

  const networks: Record<string, () => number> = {
    'from the client, from its first byte on': () => portOf(drips[1] as Server),
    'from the database': () => behind.port,
    'from both': () => portOf(drips[2] as Server),
  }
  for (const [name, port] of Object.entries(networks))
    test(`${name}: the same answers`, async () => {
      const expected = await talk(whole.port)
      const heard = await talk(port())
      assert.deepEqual(heard, expected)
      const text = JSON.stringify(heard)
      assert.match(text, /aXXX@XXXX\.com[\s\S]*Asia\/Tokyo/)
      const position = `\0P${wrong.indexOf('nothere') + 1}\0`
      assert.ok(heard['an error whose position is mapped']?.join().includes(position))
      assert.doesNotMatch(text, /@example\.com/)
    })
})
