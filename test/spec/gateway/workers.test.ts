import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { describe } from 'node:test'
import type pg from 'pg'
import { readSettings } from '../../../src/settings.ts'
import { int32 } from '../../../src/wire/messages.ts'
import { writeCancel } from '../../../src/wire/startup.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { bringPeople, ended } from '../../support/people.ts'
import { promised, waitUntil } from '../../support/wait-until.ts'

const perRole = 6
const masked = 'aXXX@XXXX.com'
const readEmail = 'select email from public.customers where id = 1'

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('workers of the gateway', () => {
  const gateway = useGateway({
    MASQUERADE_GATEWAY_WORKERS: '2',
    MASQUERADE_GATEWAY_CONNECTIONS_PER_ROLE: String(perRole),
  })
  const processes = () => gateway.masking.service().gateway.processes
  const readMetric = async (name: string) => {
    const { listeners } = gateway.masking.service()
    const text = await (await fetch(`http://127.0.0.1:${listeners.httpPort}/metrics`)).text()
    return Number(text.match(new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (\\d+)`, 'm'))?.[1] ?? 0)
  }
  const areOpen = (count: number) => async () =>
    (await readMetric('masquerade_gateway_open_connections')) === count
  /** A worker tells that a session is over before its connection is closed, and connections go to the worker with the fewest. */
  const rest = async () => {
    await waitUntil('the end of all sessions', areOpen(0))
    for (let turn = 0; turn < 2; turn++) await gateway.masking.service().gateway.refreshAll()
  }
  const connectAll = (count: number) =>
    Promise.all(Array.from({ length: count }, () => gateway.connect('analyst')))
  const endAll = async (clients: readonly pg.Client[]) => {
    await Promise.all(clients.map((client) => client.end()))
    await rest()
  }
  const killOne = () => {
    const [pid = 0] = processes()
    process.kill(pid, 'SIGKILL')
    return pid
  }

  clause(
    'GATE-174',
    'Unset, `MASQUERADE_GATEWAY_WORKERS` is `auto`: a process for each core that the node may use, at most 8. On…',
    () => {
      const cores = Math.min(8, availableParallelism())
      assert.equal(readSettings({}).gatewayWorkers, cores)
      assert.equal(readSettings({ MASQUERADE_GATEWAY_WORKERS: 'auto' }).gatewayWorkers, cores)
      assert.equal(readSettings({ MASQUERADE_GATEWAY_WORKERS: '3' }).gatewayWorkers, 3)
      for (const wrong of ['0', '65', 'many', '1.5'])
        assert.throws(() => readSettings({ MASQUERADE_GATEWAY_WORKERS: wrong }), /Allowed: `auto`, or/)
    },
  )

  clause(
    'GATE-80',
    'With `MASQUERADE_GATEWAY_WORKERS` above 1, that many processes share the port of the…',
    async () => {
      assert.equal(processes().length, 2)
      assert.ok(!processes().includes(process.pid))
      const moved = 'masquerade_gateway_statements_total{outcome="moved"}'
      const before = await readMetric(moved)
      const clients = await connectAll(4)
      for (const client of clients) assert.equal((await client.query(readEmail)).rows[0].email, masked)
      await assert.rejects(clients[0]?.query('select nothere from public.customers') ?? Promise.resolve(), {
        code: '42703',
        position: '8',
      })
      await waitUntil('the count of sessions', areOpen(4))
      await waitUntil('the count of statements', async () => (await readMetric(moved)) === before + 5)
      await endAll(clients)
      await waitUntil('the audit', async () => {
        const { sql } = gateway.masking.service().database
        const rows =
          await sql`select action, count(*)::int as n from masquerade.audit_event where action like 'gateway/%' group by 1`
        const counts = Object.fromEntries(rows.map(({ action, n }) => [action, n]))
        return (
          counts['gateway/connect'] === 4 &&
          counts['gateway/disconnect'] === 4 &&
          counts['gateway/touch'] >= 4
        )
      })
    },
  )

  // The same by what a login of the directory, TLS and bulk data take.
  clause(
    'GATE-80',
    'With `MASQUERADE_GATEWAY_WORKERS` above 1, that many processes share the port of the…',
    async () => {
      const people = await bringPeople(gateway)
      const group = await people.directory.group()
      await people.map(group)
      const ana = await people.user(group)
      const ssl = { rejectUnauthorized: false }
      const sessions = await Promise.all([0, 1].map(() => people.connect(ana.name, ana.token, { ssl })))
      const count = 50_000
      const bulk = `select n, repeat('x', 100) as x, (${readEmail}) as email from generate_series(1, ${count}) n`
      for (const { rows } of await Promise.all(sessions.map((session) => session.query(bulk)))) {
        assert.equal(rows.length, count)
        assert.deepEqual(rows.at(-1), { n: count, x: 'x'.repeat(100), email: masked })
      }
      const ends = sessions.map((session) => ended(session, 10_000))
      await people.leave(group, ana.id)
      assert.deepEqual(await Promise.all(ends), ['57P01', '57P01'])
      await assert.rejects(people.connect(ana.name, ana.token, { ssl }), { code: '28000' })
      await rest()
    },
  )

  clause(
    'GATE-81',
    'Limits on connections, overall and for each role, hold for all workers together, and a request to…',
    async () => {
      const clients = await connectAll(perRole)
      await assert.rejects(gateway.connect('analyst'), { code: '53300' })
      for (const client of clients) {
        const { processID, secretKey } = client as pg.Client & { processID: number; secretKey: number }
        let isOver = false
        const waiting = assert.rejects(client.query('select pg_sleep(60)'), { code: '57014' }).finally(() => {
          isOver = true
        })
        // One that comes before the statement is for nothing.
        await waitUntil('the end of the statement', async () => {
          const other = connect(gateway.port(), '127.0.0.1')
          other.on('error', () => {})
          other.write(writeCancel(processID, int32(secretKey)))
          await once(other.resume(), 'close')
          return isOver
        })
        await waiting
      }
      await endAll(clients)
      const again = await gateway.connect('analyst')
      await endAll([again])
    },
  )

  clause(
    'GATE-82',
    'A change of rules is answered when the sessions of all workers follow it; a worker that…',
    async () => {
      const clients = await connectAll(4)
      const { db, masking } = gateway
      const name = 'select name from public.customers where id = 1'
      for (const client of clients) assert.equal((await client.query(name)).rows[0].name, 'ann')
      const rule = {
        schemaName: 'public',
        tableName: 'customers',
        columnName: 'name',
        maskingFunction: 'Default',
      }
      assert.equal((await masking.putRule(db, 'name', rule)).status, 201)
      for (const client of clients) assert.equal((await client.query(name)).rows[0].name, 'XXXX')
      killOne()
      const started = performance.now()
      await masking.send('DELETE', `${db}/dataMaskingPolicies/Default/rules/name`)
      assert.ok(performance.now() - started < promised(9_000))
      const answers = await Promise.allSettled(clients.map((client) => client.query(name)))
      const names = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value.rows[0].name] : []))
      assert.deepEqual(names, ['ann', 'ann'])
      await Promise.allSettled(clients.map((client) => client.end()))
      await rest()
    },
  )

  clause(
    'GATE-83',
    'A worker that dies ends its own sessions and no others: they are subtracted from the…',
    async () => {
      await waitUntil('the second worker', () => processes().length === 2)
      const clients = await connectAll(perRole)
      const gone = killOne()
      await waitUntil('the end of its sessions', areOpen(perRole / 2))
      const answers = await Promise.allSettled(clients.map((client) => client.query(readEmail)))
      assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, perRole / 2)
      const more = await connectAll(perRole / 2)
      for (const client of more) assert.equal((await client.query(readEmail)).rows[0].email, masked)
      await waitUntil('another worker', () => processes().length === 2 && !processes().includes(gone))
      await Promise.allSettled([...clients, ...more].map((client) => client.end()))
      await rest()
    },
  )

  clause(
    'GATE-84',
    "Workers receive no key, password or address of the service's store. They exit with the…",
    async (t) => {
      if (process.platform === 'linux')
        for (const pid of processes())
          assert.doesNotMatch(readFileSync(`/proc/${pid}/environ`, 'utf8'), /masquerade_|postgres/i)

      const child = spawn(process.execPath, [join(import.meta.dirname, '../../support/workers-child.ts')], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      t.after(() => child.kill('SIGKILL'))
      const [line] = await once(child.stdout, 'data')
      const workers = String(line).trim().split(' ').map(Number)
      assert.equal(workers.length, 2)
      assert.ok(workers.every(isRunning))
      child.kill('SIGKILL')
      await waitUntil('the end of the workers', () => !workers.some(isRunning))

      const { database, url, role } = gateway.masked()
      const bare = await openBareGateway(database, url, {}, {}, { workers: 2 })
      const pids = [...bare.processes]
      const options = { port: bare.port, user: role('analyst') }
      const [idle, busy] = [
        await gateway.connect('analyst', options),
        await gateway.connect('analyst', options),
      ]
      const told = once(idle, 'error')
      const answer = busy.query('select pg_sleep(2), 1 as done')
      await waitUntil('the statement', async () => {
        const [row] = await database.sql`
          select count(*)::int as n from pg_stat_activity
          where datname = current_database() and state = 'active' and query like 'select pg_sleep(2)%'`
        return row?.n === 1
      })
      await bare.close(10_000)
      assert.equal((await told)[0].code, '57P01')
      assert.equal((await answer).rows[0].done, 1)
      assert.ok(!pids.some(isRunning))
    },
  )
})
