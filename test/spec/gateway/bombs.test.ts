import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { message, query } from '../../../src/wire/messages.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { connectWire } from '../../support/byte-client.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedTable, type MaskedTable } from '../../support/masked-table.ts'
import { type Network, openNetwork } from '../../support/network.ts'

const numbers = Array.from({ length: 100_000 }, (_, index) => index)
const timeout = 120_000

describe('statements and data made to wear the gateway out', { timeout }, () => {
  let target: MaskedTable
  let gateway: Gateway
  let network: Network
  before(async () => {
    target = await createMaskedTable()
    network = await openNetwork(target.url)
    gateway = await openBareGateway(target.database, target.url, {}, network.address)
  })
  after(async () => {
    await gateway.close(0)
    network.close()
    await target[Symbol.asyncDispose]()
  })
  const config = () => target.through(gateway)

  clause(
    'GATE-72',
    'No statement keeps the gateway from serving others for long, nor breaks it…',
    async (t) => {
      const client = await connectWire(config())
      const other = new pg.Client(config())
      other.on('error', () => {})
      await other.connect()
      const read = `select email from public.t where id`
      const good = {
        numbers: `${read} in (${numbers.slice(1)})`,
        strings: `${read}::text in (${numbers.slice(0, 20_000).map((number) => `'no ${number}'`)}, '1')`,
        rows: `with v (a, b) as (values ${numbers.slice(1, 20_000).map((number) => `(${number}, 'x')`)}) select email from public.t, v where id = a`,
      }
      const bad = {
        parentheses: `${read} = ${'('.repeat(30_000)}1${')'.repeat(30_000)}`,
        nested: `${read} = ${'('.repeat(9_000)}1${',2)'.repeat(9_000)}`,
        sum: `${read} = 1${'+1'.repeat(30_000)}`,
        or: `${read} = 1${' or id = 1'.repeat(2_900)}`,
        subqueries: `select email from ${'(select * from '.repeat(2_000)}public.t${') t'.repeat(2_000)}`,
        statements: `${read} = 1;`.repeat(1_500),
        megabyte: `${read} = 1 -- ${'t '.repeat(500_000)}`,
        unfinished: `${read} = '${'t'.repeat(1_000_000)}`,
        comments: `${read} = 1 ${'/* '.repeat(300_000)}`,
        words: `select ${'email, '.repeat(100_000)} 1 from public.t`,
      }
      const prepared = (text: string) =>
        Buffer.concat([
          message('P', `\0${text}\0`, Buffer.alloc(2)),
          message('B', '\0\0', Buffer.alloc(6)),
          message('E', '\0', Buffer.alloc(4)),
          message('S'),
        ])
      const sent = Object.entries({ ...good, ...bad }).flatMap(([name, text]) => [
        { name, text, bytes: query(text) },
        { name, text, bytes: prepared(text) },
      ])
      for (const { name, text, bytes } of sent) {
        const delay = monitorEventLoopDelay({ resolution: 5 })
        delay.enable()
        client.write(bytes)
        const asked = performance.now()
        assert.equal((await other.query('select 1 as one')).rows[0].one, 1)
        const waited = performance.now() - asked
        assert.ok(waited < 10_000, `${name} kept others waiting for ${waited} ms`)
        const answer = await client.read()
        delay.disable()
        assert.ok(!answer.bytes.includes('ann@example.com'), name)
        if (name in good) {
          assert.equal(answer.error, undefined, name)
          assert.equal(answer.values[0]?.toString(), 'aXXX@XXXX.com', name)
        }
        const stalled = delay.max / 1e6
        t.diagnostic(
          `${name}, ${text.length} bytes: others waited ${waited.toFixed(0)} ms, at most ${stalled.toFixed(0)} ms`,
        )
        assert.ok(stalled < 2_000, `${name} stopped everything for ${stalled} ms`)
      }
      client.write(query(`${read} = 1`))
      assert.equal((await client.read()).values[0]?.toString(), 'aXXX@XXXX.com')
      await client.close()
      await other.end()
    },
  )

  clause(
    'GATE-73',
    'A database that stops reading costs the gateway a bounded amount of memory, however fast a…',
    async (t) => {
      const client = await connectWire(config())
      client.write(query('copy public.t (id) from stdin'))
      while ((await client.reader.takeFrame(1 << 20))[0] !== 0x47);
      for (const line of network.lines) line.pause()
      const before = process.memoryUsage()
      const rows = message('d', '77\n'.repeat(20_000))
      let taken = 0
      let isStopped = false
      // Until nothing has been taken for a second.
      while (!isStopped && taken < 1_000_000_000) {
        taken += rows.length
        if (client.stream.write(rows)) continue
        const drained = new Promise<boolean>((resolve) => client.stream.once('drain', () => resolve(false)))
        const late = new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 1_000))
        isStopped = await Promise.race([drained, late])
      }
      const after = process.memoryUsage()
      const grown = after.rss - before.rss
      t.diagnostic(`${taken} bytes were taken, ${grown} bytes of memory`)
      assert.ok(isStopped, `${taken} bytes were taken`)
      assert.ok(taken < 64e6, `${taken} bytes were taken`)
      assert.ok(grown < 100e6, `${grown} bytes of memory`)
      client.stream.destroy()
      for (const line of network.lines) line.resume()
    },
  )
})
