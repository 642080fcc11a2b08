import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Socket } from 'node:net'
import { before, describe } from 'node:test'
import pg from 'pg'
import pino from 'pino'
import { Registry } from 'prom-client'
import { createLoginRecords } from '../../../src/gateway/audit/record-logins.ts'
import { createGatewayMetrics } from '../../../src/gateway/metrics.ts'
import { createLoginThrottle, takeAttempt } from '../../../src/issuer/sign-in-throttle.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { bringPeople } from '../../support/people.ts'
import { writeProxyHeader } from '../../support/proxy-header.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('logins that fail', () => {
  const gateway = useGateway()
  let people: Awaited<ReturnType<typeof bringPeople>>
  before(async () => {
    people = await bringPeople(gateway)
  })
  const store = () => gateway.masking.service().database.sql
  const forget = () => store()`delete from sign_in_attempt`
  let lastAddress = 1
  /** None of these has failed before. */
  const newAddress = () => `127.0.1.${++lastAddress}`

  /** The SQLSTATE with which a login fails; empty: it succeeds. `header`: of a proxy. */
  async function logIn(
    from: string,
    user: string,
    password: string,
    wishes: pg.ClientConfig & { header?: Buffer } = {},
  ) {
    const { header, ...config } = wishes
    const client = new pg.Client({
      host: '127.0.0.1',
      port: gateway.port(),
      database: gateway.name,
      user,
      password,
      stream: () => {
        const socket = new Socket()
        const connect = socket.connect.bind(socket)
        socket.connect = ((port: number, host: string) =>
          connect({ port, host, localAddress: from })) as typeof socket.connect
        if (header) socket.once('connect', () => socket.write(header))
        return socket
      },
      ...config,
    })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.end()
      return { code: '', message: '' }
    } catch (error) {
      const { code = '', message } = error as pg.DatabaseError
      return { code, message }
    }
  }
  const codeOf = async (...login: Parameters<typeof logIn>) => (await logIn(...login)).code
  /** So many failures of each of these names. */
  async function fail(from: string, names: number, times: number) {
    for (let at = 0; at < names * times; at++)
      assert.equal(await codeOf(from, `stranger-${at % names}`, 'wrong'), '28P01', `attempt ${at}`)
  }
  const auditedFrom = (from: string) =>
    store()<{ actor: { kind: string }; target: string; after: Record<string, unknown> }[]>`
      select actor, target, after from audit_event where action = 'gateway/refuse' and after ->> 'from' = ${from} order by id`

  clause(
    'GATE-384',
    '`masquerade_gateway_failed_logins_total` counts failed logins by reason, each from zero: a wrong password, token…',
    async () => {
      const read = async () => {
        const { text } = await gateway.masking.service().request('GET', '/metrics')
        const lines = text.matchAll(/^masquerade_gateway_failed_logins_total\{reason="(\w+)"\} (\d+)$/gm)
        return Object.fromEntries([...lines].map(([, reason, count]) => [reason, Number(count)]))
      }
      const first = await read()
      assert.ok(Object.keys(first).length > 10)
      const { name, token } = await people.user()
      const from = newAddress()
      const analyst = gateway.masked().role('analyst')
      assert.equal(await codeOf(from, analyst, 'wrong'), '28P01')
      assert.equal(await codeOf(from, 'nobody', 'wrong'), '28P01')
      assert.equal(await codeOf(from, analyst, 'secret', { database: 'elsewhere' }), '3D000')
      assert.equal(await codeOf(from, name, 'no token'), '28P01')
      assert.equal(await codeOf(from, name, token), '28000')
      assert.equal(await codeOf(from, `${name}+tool`, 'wrong'), '28P01')
      assert.equal(await codeOf(from, analyst, 'secret', { options: '-c post_auth_delay=1' }), '0A000')
      assert.equal(await codeOf(from, analyst, 'secret'), '')
      const grown = Object.entries(await read()).map(([reason, count]) => [
        reason,
        Number(count) - Number(first[reason]),
      ])
      assert.deepEqual(Object.fromEntries(grown.filter(([, count]) => count !== 0)), {
        wrongPassword: 2,
        unknownDatabase: 1,
        wrongToken: 1,
        noMapping: 1,
        wrongCredential: 1,
        protocol: 1,
      })
    },
  )

  clause(
    'GATE-385',
    'A failed login is in the log and the audit (`gateway/refuse`) with its address, name, database and reason, never with…',
    async () => {
      const lines: Record<string, unknown>[] = []
      const { database, tenantId } = gateway.masking.service()
      const registry = new Registry()
      const metrics = createGatewayMetrics(registry)
      const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
      const records = createLoginRecords({ sql: database.sql, tenantId, metrics, log })
      const { database: masked, url, role } = gateway.masked()
      const bare = await openBareGateway(masked, url, {}, {}, { ports: { ...records, log } })
      const port = { port: bare.port }
      const from = newAddress()
      const password = `s3cret-${randomUUID()}`
      try {
        const odd = `odd\n"name"`
        for (let time = 0; time < 4; time++)
          assert.equal(await codeOf(from, role('analyst'), password, port), '28P01')
        assert.equal(await codeOf(from, `${odd}@example.com`, password, port), '28P01')
        await waitUntil('both are in the audit', async () => (await auditedFrom(from)).length === 2)
        await records.flush()
        const entries = await auditedFrom(from)
        const shown = entries.map(({ after: { name, failure, count } }) => [name, failure, count])
        assert.deepEqual(shown, [
          [role('analyst'), 'wrongPassword', undefined],
          [`${odd}@example.com`, 'wrongToken', undefined],
          [role('analyst'), 'wrongPassword', 3],
        ])
        for (const { actor, target } of entries) assert.deepEqual([actor.kind, target], ['unknown', 'one'])
        assert.deepEqual(
          lines.map(({ login, address, failure, count }) => [login, address, failure, count]),
          [
            [role('analyst'), from, 'wrongPassword', 1],
            [`${odd}@example.com`, from, 'wrongToken', 1],
            [role('analyst'), from, 'wrongPassword', 3],
          ],
        )
        assert.doesNotMatch(JSON.stringify([lines, entries]), new RegExp(password))
      } finally {
        await bare.close(0)
      }
    },
  )

  clause(
    'GATE-386',
    'Of a minute a node lists ten different failed logins of one network and thirty in all, and counts further ones together…',
    async () => {
      const { database, tenantId } = gateway.masking.service()
      const lines: Record<string, unknown>[] = []
      const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
      const metrics = createGatewayMetrics(new Registry())
      const records = createLoginRecords({ sql: database.sql, tenantId, metrics, log })
      const flood = async (networks: number, names: number) => {
        for (let at = 0; at < networks * names; at++)
          await records.recordRefusal({
            failure: 'wrongPassword',
            name: `name-${at}`,
            principal: undefined,
            target: gateway.db,
            from: `2001:db8:0:${at % networks}::${at}`,
            reason: 'wrong',
          })
        await records.flush()
        return lines.splice(0).map(({ login, count }) => [login === '', count])
      }
      const listed = (count: number) => Array.from({ length: count }, () => [false, 1])
      assert.deepEqual(await flood(1, 1_000), [...listed(10), [true, 990]])
      assert.deepEqual(await flood(1_000, 2), [...listed(30), [true, 1_970]])
    },
  )

  clause(
    'GATE-387',
    'After 50 wrong passwords, tokens and credentials from one network, at the gateway or the sign-in page (TOK-42), its logins…',
    async () => {
      await forget()
      const { role } = gateway.masked()
      const from = newAddress()
      await fail(from, 5, 10)
      const { code, message } = await logIn(from, role('analyst'), 'secret')
      assert.equal(code, '28000')
      const [, seconds] =
        /^too many failed logins from your address; try again in (\d+) seconds$/.exec(message) ?? []
      assert.ok(Number(seconds) > 0 && Number(seconds) <= 20, message)
      assert.equal(await codeOf(from, 'nobody@example.com', 'no token'), '28000')
      assert.equal(await codeOf(newAddress(), role('analyst'), 'secret'), '')
      // Another node, and the page.
      assert.ok((await createLoginThrottle(store()).admitLogin('anybody', from)).waitSeconds > 0)
      assert.ok((await takeAttempt(store(), { address: from })) > 0)
      // What waits costs no more attempts, and a good login after the wait ends it.
      const [counted] = await store()`select max(failures) as most from sign_in_attempt`
      assert.equal(counted?.most, 50)
      await store()`update sign_in_attempt set blocked_until = now()`
      assert.equal(await codeOf(from, role('analyst'), 'secret'), '')
      assert.equal(await codeOf(from, role('auditor'), 'secret'), '')
      assert.equal(await codeOf(from, 'nobody', 'wrong'), '28P01')
    },
  )

  // Attempts that are sent at once.
  clause(
    'GATE-387',
    'After 50 wrong passwords, tokens and credentials from one network, at the gateway or the sign-in page (TOK-42), its logins…',
    async () => {
      await forget()
      const from = newAddress()
      await fail(from, 1, 1)
      const all = await Promise.all(
        Array.from({ length: 120 }, (_, at) => codeOf(from, `stranger-${at}`, 'wrong')),
      )
      assert.equal(all.filter((code) => code === '28P01').length, 49)
      // Logins that fail for other reasons take none.
      await forget()
      const other = newAddress()
      await fail(other, 1, 1)
      for (let at = 0; at < 60; at++)
        assert.equal(await codeOf(other, 'nobody', 'wrong', { database: 'elsewhere' }), '3D000')
      const { name, token } = await people.user()
      for (let at = 0; at < 60; at++) assert.equal(await codeOf(other, name, token), '28000')
      const [row] = await store()`select max(failures) as most from sign_in_attempt`
      assert.equal(row?.most, 1)
      assert.match((await logIn(other, name, token)).message, /no role of this database is mapped/)
    },
  )

  // By the address that a proxy tells, and of IPv6 by the network.
  clause(
    'GATE-387',
    'After 50 wrong passwords, tokens and credentials from one network, at the gateway or the sign-in page (TOK-42), its logins…',
    async () => {
      await forget()
      const { database, url, role } = gateway.masked()
      const proxy = newAddress()
      const limits = { proxies: [proxy], allowPlaintext: true }
      const bare = await openBareGateway(
        database,
        url,
        limits,
        {},
        { ports: createLoginThrottle(store()), workers: 2 },
      )
      const through = (source: string) => ({ port: bare.port, header: writeProxyHeader(source) })
      const network = '2001:db8:0:7'
      try {
        for (let at = 0; at < 50; at++)
          assert.equal(
            await codeOf(
              proxy,
              `stranger-${at % 5}`,
              'wrong',
              through(`${network}:0:0:0:${at.toString(16)}`),
            ),
            '28P01',
          )
        assert.equal(await codeOf(proxy, role('analyst'), 'secret', through(`${network}:f:f:f:f`)), '28000')
        assert.equal(await codeOf(proxy, role('analyst'), 'secret', through('2001:db8:0:8:0:0:0:1')), '')
        assert.equal(await codeOf(proxy, role('analyst'), 'secret', through('203.0.113.7')), '')
      } finally {
        await bare.close(0)
      }
    },
  )

  clause(
    'GATE-388',
    'A name that logged in from a network at a node within a day waits there for its own failures alone (GATE-164), whatever…',
    async () => {
      await forget()
      const { role } = gateway.masked()
      const from = newAddress()
      assert.equal(await codeOf(from, role('analyst'), 'secret'), '')
      await fail(from, 5, 10)
      assert.equal(await codeOf(from, role('auditor'), 'secret'), '28000')
      assert.equal(await codeOf(from, role('analyst'), 'secret'), '')
      for (let at = 0; at < 20; at++) assert.equal(await codeOf(from, role('analyst'), 'wrong'), '28P01')
      assert.equal(await codeOf(from, role('analyst'), 'secret'), '28000')
    },
  )
})
