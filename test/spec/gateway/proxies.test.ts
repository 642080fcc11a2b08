import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { findProgram, systemEnvironment } from '../../support/find-program.ts'
import { findFreePort } from '../../support/network.ts'
import { start } from '../../support/package.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { writeProxyHeader } from '../../support/proxy-header.ts'
import { retryUntil } from '../../support/wait-until.ts'

const client = '203.0.113.7'

describe('a gateway behind proxies', () => {
  let target: TestDatabase
  let gateway: Gateway
  let workers: Gateway
  /** Soon gives up on clients that do not say enough. */
  let hasty: Gateway
  /** Where the sessions came from that logged in, oldest first. */
  const from: string[] = []
  const proxies: Server[] = []
  before(async () => {
    target = await createTestDatabase()
    const ports = { recordSession: async (session: { from: string }) => void from.push(session.from) }
    const limits = { proxies: ['127.0.0.1', '10.0.0.0/8'] }
    gateway = await openBareGateway(target.database, target.url, limits, {}, { ports })
    hasty = await openBareGateway(target.database, target.url, { ...limits, startupMs: 2_000 }, {}, { ports })
    workers = await openBareGateway(target.database, target.url, limits, {}, { ports, workers: 2 })
  })
  after(async () => {
    for (const proxy of proxies) proxy.close()
    await gateway?.close(1000)
    await workers?.close(1000)
    await hasty?.close(1000)
    await target?.[Symbol.asyncDispose]()
  })

  /** A proxy that sends these bytes before the client's. It connects from the given address. */
  async function openProxy(first: Buffer, localAddress = '127.0.0.1', to = gateway): Promise<number> {
    const proxy = createServer((near) => {
      const far = connect({ host: '127.0.0.1', port: to.port, localAddress })
      for (const socket of [near, far]) socket.on('error', () => {})
      far.write(first)
      near.pipe(far).pipe(near)
    })
    proxies.push(proxy)
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    return (proxy.address() as AddressInfo).port
  }

  async function logIn(port: number, isEncrypted = true): Promise<void> {
    const { username, password, pathname } = new URL(target.url)
    const session = new pg.Client({
      host: '127.0.0.1',
      port,
      user: username,
      password: decodeURIComponent(password),
      database: pathname.slice(1),
      ssl: isEncrypted && { rejectUnauthorized: false },
    })
    session.on('error', () => {})
    try {
      await session.connect()
      await session.query('select 1')
    } finally {
      await session.end().catch(() => {})
    }
  }

  clause(
    'GATE-150',
    'A connection from an address of `MASQUERADE_GATEWAY_PROXIES` begins with a header of PROXY protocol version 2, and limits and audit go by the address in it. …',
    async () => {
      for (const to of [gateway, workers]) {
        await logIn(await openProxy(writeProxyHeader(client), '127.0.0.1', to))
        assert.equal(from.at(-1), client)
      }
      await logIn(await openProxy(writeProxyHeader('2001:db8:0:0:0:0:0:9')))
      assert.equal(from.at(-1), '2001:db8::9')
      await logIn(await openProxy(writeProxyHeader(client, { command: 0x20 })))
      assert.equal(from.at(-1), '127.0.0.1', 'a proxy that speaks for itself')
      await logIn(await openProxy(Buffer.alloc(0), '127.0.0.2'))
      assert.equal(from.at(-1), '127.0.0.2', 'a client that is no proxy')

      const count = from.length
      const refused: [string, Buffer, string?][] = [
        ['none', Buffer.alloc(0)],
        ['one from elsewhere', writeProxyHeader(client), '127.0.0.2'],
        ['version 1', Buffer.from(`PROXY TCP4 ${client} 127.0.0.1 1 2\r\n`)],
        ['two', Buffer.concat([writeProxyHeader(client), writeProxyHeader('203.0.113.8')])],
        ['another family', writeProxyHeader(client, { family: 0x31 })],
        ['one that is too long', writeProxyHeader(client, { more: Buffer.alloc(60_000) })],
      ]
      for (const [what, header, localAddress] of refused)
        await assert.rejects(logIn(await openProxy(header, localAddress, hasty)), Error, what)
      assert.equal(from.length, count)
    },
  )

  clause(
    'GATE-151',
    'Behind a proxy, clients need TLS as elsewhere: a login without TLS is let in where both the proxy and the client are on the machine of the gateway, …',
    async () => {
      await assert.rejects(logIn(await openProxy(writeProxyHeader(client)), false), /TLS|SSL|encrypt/i)
      await logIn(await openProxy(writeProxyHeader('127.0.0.1')), false)
      assert.equal(from.at(-1), '127.0.0.1')
    },
  )

  const haproxy = findProgram('haproxy')
  if (haproxy)
    clause(
      'GATE-150',
      'A connection from an address of `MASQUERADE_GATEWAY_PROXIES` begins with a header of PROXY protocol version 2, …',
      async () => {
        const folder = await mkdtemp(join(tmpdir(), 'masquerade-haproxy-'))
        const example = await readFile(join(import.meta.dirname, '../../../deploy/haproxy.cfg'), 'utf8')
        const port = await findFreePort()
        const gateways = example
          .replace(/frontend https[\s\S]*?(?=frontend postgresql)/, '')
          .replace('bind :6432', `bind 127.0.0.1:${port}`)
          .replace('option httpchk GET /readyz', '')
          .replaceAll(
            /server node-\d node-\d:6432 check port 8080/g,
            `server node 127.0.0.1:${gateway.port} source 127.0.0.1`,
          )
          .replace(/(server node .*\n) +server node .*\n/, '$1')
        await writeFile(join(folder, 'haproxy.cfg'), gateways)
        const running = start(
          [haproxy, '-db', '-f', join(folder, 'haproxy.cfg')],
          folder,
          systemEnvironment(),
        )
        try {
          await retryUntil(() => logIn(port))
          assert.equal(from.at(-1), '127.0.0.1', running.seen.errors)
        } finally {
          await running.stop()
          await rm(folder, { recursive: true, force: true })
        }
      },
    )
})
