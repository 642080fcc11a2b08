import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { nameNetwork } from '../../../src/kernel/network.ts'
import { int32 } from '../../../src/wire/messages.ts'
import { writeCancel } from '../../../src/wire/startup.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { runs } from '../../support/runs.ts'
import { promised, retryUntil, waitUntil } from '../../support/wait-until.ts'

const child = join(import.meta.dirname, '../../support/flood-child.ts')
/** A few more or less are those of the test's own pool. */
const own = 3
/** Of one login amidst all others. Machines that run tests are busy. */
const patienceMs = 20_000
/** The gateway's limits are reached with a few hundred; `npm run test:all` goes on to the whole number. */
const upTo = (count: number) => Math.min(count, runs(1_500))
const countSockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length

describe('connections that never log in', () => {
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  let gateway: Gateway
  before(async () => {
    target = await createMaskedDatabase()
    await target.createRole('analyst')
    gateway = await openBareGateway(target.database, target.url, { startupMs: 20_000 })
  })
  after(async () => {
    await gateway.close(0)
    await target[Symbol.asyncDispose]()
  })
  const login = async ({ port } = gateway, options: pg.ClientConfig = {}) => {
    const account = { user: target.role('analyst'), password: 'secret', database: 'any' }
    const client = new pg.Client({ host: '127.0.0.1', port, ...account, ...options })
    client.on('error', () => {})
    await client.connect()
    return client
  }
  const flood = (from: string, count: number, kind: string) => {
    const args = [String(gateway.port), from, String(count), kind, target.role('analyst')]
    const attacker = spawn(process.execPath, [child, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    attacker.stdout.on('data', (chunk) => {
      said += chunk
    })
    return { attacker, isDone: () => said.includes('tried') }
  }

  const quote =
    'Ten thousand connections that never log in cost the gateway a bounded amount of memory and lock out no other…'
  const floods = [
    { kind: 'silent', from: '127.0.0.2', count: 10_000 },
    { kind: 'silent', from: '127.0.0.1', count: upTo(10_000) },
    { kind: 'a byte', from: '127.0.0.2', count: upTo(10_000) },
    { kind: 'half of a handshake', from: '127.0.0.2', count: upTo(10_000) },
    { kind: 'a name', from: '127.0.0.2', count: upTo(3_000) },
    { kind: 'silent', from: 'many', count: upTo(5_000) },
    { kind: 'half of a handshake', from: 'many', count: upTo(3_000) },
  ]
  for (const { kind, from, count } of floods)
    clause('GATE-66', quote, async (t) => {
      const before = { sockets: countSockets(), memory: process.memoryUsage().rss }
      const { attacker, isDone } = flood(from, count, kind)
      t.after(() => attacker.kill('SIGKILL'))
      let logins = 0
      let most = 0
      let slowest = 0
      while (!isDone() || logins < 10) {
        const from = performance.now()
        const client = await login()
        slowest = Math.max(slowest, performance.now() - from)
        most = Math.max(most, countSockets())
        assert.equal((await client.query('select 1 as one')).rows[0].one, 1)
        await client.end()
        logins++
      }
      const grown = process.memoryUsage().rss - before.memory
      attacker.kill('SIGKILL')
      t.diagnostic(
        `${kind} from ${from}: ${logins} logins, the slowest ${slowest.toFixed(0)} ms, ${most - before.sockets} sockets, ${(grown / 1e6).toFixed(0)} MB`,
      )
      assert.ok(grown < 150e6, `${grown} bytes`)
      assert.ok(slowest < promised(patienceMs), `a login took ${slowest} ms`)
      assert.ok(most - before.sockets < 450, `${most} sockets`)
      await waitUntil('the end of all connections', () => countSockets() <= before.sockets + own)
    })

  test('a full gateway still cancels statements', async () => {
    const full = await openBareGateway(target.database, target.url, { connections: 1 })
    const client = await login(full)
    const slow = assert.rejects(client.query('select pg_sleep(60)'), { code: '57014' })
    await assert.rejects(login(full), { code: '53300' })
    // A cancel request that comes before the statement is for nothing.
    const { processID, secretKey } = client as unknown as { processID: number; secretKey: number }
    await waitUntil('the statement', async () => {
      const found = await target.database.sql`
        select from pg_stat_activity
        where pid = ${processID} and query = 'select pg_sleep(60)' and state = 'active'`
      return found.length > 0
    })
    const socket = connect(full.port, '127.0.0.1')
    socket.resume().write(writeCancel(processID, int32(secretKey)))
    await slow
    await client.end()
    await full.close(0)
  })

  test('sessions with TLS are counted out like others', async () => {
    const one = await openBareGateway(target.database, target.url, { connectionsPerRole: 1 })
    for (let round = 0; round < 3; round++) {
      const client = await retryUntil(() => login(one, { ssl: { rejectUnauthorized: false } }))
      const stream = Reflect.get(Reflect.get(client, 'connection'), 'stream')
      if (round === 1) stream.destroy()
      else await client.end()
    }
    await one.close(0)
  })

  test('addresses of one network count as one', () => {
    assert.equal(nameNetwork('::ffff:10.0.0.1'), '10.0.0.1')
    assert.equal(nameNetwork('2001:db8::1'), '2001:db8:0:0')
    assert.equal(nameNetwork('2001:db8:0:0:5::2'), '2001:db8:0:0')
    assert.equal(nameNetwork('::1'), '0:0:0:0')
    assert.notEqual(nameNetwork('2001:db8:0:1::1'), nameNetwork('2001:db8::1'))
  })
})
