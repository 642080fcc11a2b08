import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { after } from 'node:test'
import { TLSSocket } from 'node:tls'
import { createCa, issueCertificate } from '../../../src/http/local-ca.ts'
import { clause } from '../../support/clause.ts'
import { freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { openNetwork } from '../../support/network.ts'
import { refuseStored } from '../../support/stored-binding.ts'

const masking = useMasking()
const { send, service } = masking
const servers: Server[] = []
after(() => {
  for (const server of servers) server.close()
})

const bind = (db: string, binding: object) =>
  send('PUT', db, {
    properties: { binding: { host: '127.0.0.1', database: 'd', user: 'u', password: 'hunter2', ...binding } },
  })

async function listen(take: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    take(socket)
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** A server that asks for the password in its own way and keeps what it hears. */
async function startThief(request: Buffer) {
  const heard: Buffer[] = []
  const port = await listen((socket) =>
    socket.once('data', () => {
      socket.on('data', (bytes) => {
        heard.push(bytes)
        socket.destroy()
      })
      socket.write(request)
    }),
  )
  return { port, heard }
}

const cleartext = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])
const md5 = Buffer.from([0x52, 0, 0, 0, 12, 0, 0, 0, 5, 1, 2, 3, 4])

clause(
  'MASK-126',
  'A server that asks for the password of a binding in clear text or by MD5 gets none, unless…',
  async () => {
    for (const [request, weaker] of [
      [cleartext, 'password'],
      [md5, 'md5'],
    ] as const) {
      const { port, heard } = await startThief(request)
      const db = freshDatabase()
      const refused = await bind(db, { port })
      assert.equal(refused.status, 201)
      const { binding, connection } = refused.body.properties
      assert.deepEqual([binding.authentication, connection.state], ['scram-sha-256', 'Unreachable'])
      assert.match(connection.reason, /properties\.binding\.authentication/)
      // The controller and the watcher have tried it too by the time of this answer.
      assert.equal(refused.headers.get('x-masquerade-enforcement'), 'Pending')
      const state = await send('GET', `${db}/dataMaskingPolicies/Default/enforcement`)
      assert.match(state.body.reason, /method that the binding does not allow/)
      assert.equal(heard.length, 0)

      const told = await bind(db, { port, authentication: weaker })
      assert.equal(told.body.properties.binding.authentication, weaker)
      assert.ok(heard.length > 0)
      const first = heard[0]?.toString('latin1').slice(5, -1) ?? ''
      assert.match(first, weaker === 'password' ? /^hunter2$/ : /^md5[0-9a-f]{32}$/)
      if (weaker === 'md5') {
        const stillNot = await startThief(cleartext)
        await bind(freshDatabase(), { port: stillNot.port, authentication: 'md5' })
        assert.deepEqual(stillNot.heard, [])
      }
      const kept = await send('PUT', db, {
        properties: {
          binding: { host: '127.0.0.1', port, database: 'd', user: 'u', authentication: weaker },
        },
      })
      assert.equal(kept.status, 200)
    }
  },
)

clause(
  'MASK-127',
  'A binding to another machine has the sslmode `verify-full` unless it names another. Where the…',
  async () => {
    const remote = await bind(freshDatabase(), { host: 'no-such-host.invalid' })
    assert.equal(remote.body.properties.binding.sslmode, 'verify-full')
    const { ca } = await createCa(['localhost'], new Date())
    const certificate = await issueCertificate(ca, ['localhost'], new Date())
    const port = await listen((socket) =>
      socket.once('data', () => {
        socket.write('S')
        new TLSSocket(socket, { isServer: true, ...certificate }).on('error', () => {})
      }),
    )
    const { body } = await bind(freshDatabase(), { host: 'localhost', port, sslmode: 'verify-full' })
    assert.match(body.properties.connection.reason, /sslRootCertificate.*verify-ca or require/)
    const plain = await listen((socket) => socket.once('data', () => socket.write('N')))
    const none = await bind(freshDatabase(), { port: plain, sslmode: 'verify-full' })
    assert.match(none.body.properties.connection.reason, /offers no TLS.*disable/)
  },
)

clause(
  'MASK-128',
  'No binding leads to a link-local, metadata, multicast or unspecified address, by whatever name…',
  async () => {
    for (const host of ['169.254.169.254', '::ffff:169.254.169.254', 'fe80::1', '0.0.0.0', '2852039166']) {
      const { status, body } = await bind(freshDatabase(), { host })
      assert.equal(status, 400, host)
      assert.deepEqual([body.error.code, body.error.target], ['InvalidBinding', 'properties.binding.host'])
    }
    const db = freshDatabase()
    await bind(db, { port: 1 })
    await refuseStored(masking, db, { host: '169.254.169.254' })
  },
)

clause(
  'MASK-130',
  'No binding leads to the database of the service itself, by whatever host or address: PUT is 400…',
  async () => {
    const url = new URL(service().databaseUrl)
    const database = url.pathname.slice(1)
    const own = {
      port: Number(url.port),
      database,
      user: url.username,
      password: url.password,
      sslmode: 'disable',
    }
    for (const host of ['127.0.0.1', 'localhost', 'LOCALHOST']) {
      const put = await bind(freshDatabase(), { ...own, host })
      assert.equal(put.status, 400, put.text)
      assert.equal(put.body.error.code, 'UnfitBinding')
      assert.match(put.body.error.message, /the database of this service itself/)
    }
    // Another database of the same server can be bound.
    const other = await bind(freshDatabase(), { ...own, database: 'postgres' })
    assert.equal(other.status, 201, other.text)
    assert.equal(other.body.properties.connection.state, 'Reachable', other.text)

    // A role without privileges leads there as well, and so does a port that opens after the binding.
    const role = `weak_${randomUUID().slice(0, 8)}`
    const { sql } = service().database
    await sql.unsafe(
      `create role "${role}" login password 'p'; grant connect on database "${database}" to "${role}"`,
    )
    const weak = await bind(freshDatabase(), { ...own, user: role, password: 'p' })
    assert.match(weak.body.error?.message ?? '', /the database of this service itself/, weak.text)
    await sql.unsafe(`drop owned by "${role}"; drop role "${role}"`)

    const closed = await openNetwork(service().databaseUrl)
    closed.close()
    const db = freshDatabase()
    assert.equal((await bind(db, { ...own, port: closed.address.port })).status, 201)
    const opened = await openNetwork(service().databaseUrl, closed.address.port)
    try {
      const preview = { schemaName: 'masquerade', tableName: 'user_password' }
      const seen = await send('POST', `${policyUrl(db)}/preview`, preview)
      assert.equal(seen.status, 503, seen.text)
      assert.match(seen.body.error.message, /the one of this service itself/)
    } finally {
      opened.close()
    }
  },
)
