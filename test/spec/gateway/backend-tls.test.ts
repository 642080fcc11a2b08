import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { createSecureContext, TLSSocket } from 'node:tls'
import pg from 'pg'
import type { BackendAddress } from '../../../src/gateway/ports.ts'
import { createCa, issueCertificate, toPem } from '../../../src/http/local-ca.ts'
import { int32, message, readFields, writeMechanisms } from '../../../src/wire/messages.ts'
import { writeStartup } from '../../../src/wire/startup.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'

describe('the way from the gateway to the database', () => {
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  let ca: Awaited<ReturnType<typeof createCa>>['ca']
  let certificate: { cert: string; key: string }
  before(async () => {
    target = await createMaskedDatabase()
    await target.createRole('analyst')
    ca = (await createCa(['localhost'], new Date())).ca
    certificate = await issueCertificate(ca, ['localhost'], new Date())
  })
  after(() => target[Symbol.asyncDispose]())

  /** A server of which `serve` says how it answers the request for TLS. */
  const listen = async (serve: (socket: Socket) => void) => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      serve(socket)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return { server, port: (server.address() as { port: number }).port }
  }
  const encrypt = (socket: Socket, then: (secure: TLSSocket) => void) =>
    socket.once('data', () => {
      socket.write('S')
      const secure = new TLSSocket(socket, {
        isServer: true,
        secureContext: createSecureContext(certificate),
      })
      secure.on('error', () => {})
      then(secure)
    })
  /** The database, behind TLS. */
  const relay = (socket: Socket) =>
    encrypt(socket, (secure) => {
      const { hostname, port } = new URL(target.url)
      const far = connect(Number(port), hostname)
      far.on('error', () => {})
      secure.on('close', () => far.destroy())
      secure.pipe(far).pipe(secure)
    })

  const ask = async (serve: (socket: Socket) => void, address: Partial<BackendAddress>) => {
    const { server, port } = await listen(serve)
    const gateway = await openBareGateway(target.database, target.url, {}, { port, ...address })
    const client = new pg.Client({
      host: '127.0.0.1',
      port: gateway.port,
      user: target.role('analyst'),
      password: 'secret',
      database: 'any',
    })
    client.on('error', () => {})
    try {
      await client.connect()
      return (await client.query('select current_user as me')).rows[0].me
    } finally {
      await client.end().catch(() => {})
      await gateway.close(0)
      server.close()
    }
  }
  const full = () => ({ host: 'localhost', ssl: { rejectUnauthorized: true, ca: toPem(ca.certificate) } })

  test("is encrypted as the binding says, and the server's certificate is checked", async () => {
    assert.equal(await ask(relay, full()), target.role('analyst'))
    assert.equal(
      await ask(relay, { host: '127.0.0.1', ssl: { rejectUnauthorized: false } }),
      target.role('analyst'),
    )
  })

  test('a server that nobody vouches for is not used', async () => {
    const other = await createCa(['localhost'], new Date())
    const ssl = { rejectUnauthorized: true, ca: toPem(other.ca.certificate) }
    await assert.rejects(ask(relay, { host: 'localhost', ssl }), { code: '08001', message: /certificate/ })
    await assert.rejects(ask(relay, { ...full(), host: '127.0.0.1' }), { code: '08001' })
  })

  test('a server without TLS is not used, nor one that slips something in before it', async () => {
    const refuse = (socket: Socket) => socket.once('data', () => socket.write('N'))
    await assert.rejects(ask(refuse, full()), { code: '08001', message: /no TLS/ })
    const stuff = (socket: Socket) => socket.once('data', () => socket.write(`S${message('R', int32(0))}`))
    await assert.rejects(ask(stuff, full()), { code: '08P01' })
  })

  test('channel binding is not offered, and a client that misses it is told what to do', async () => {
    const offer = (socket: Socket) =>
      encrypt(socket, (secure) =>
        secure.once('data', () => secure.write(writeMechanisms(['SCRAM-SHA-256-PLUS', 'SCRAM-SHA-256']))),
      )
    const { server, port } = await listen(offer)
    const gateway = await openBareGateway(target.database, target.url, {}, { ...full(), port })
    const socket = connect(gateway.port, '127.0.0.1')
    socket.write(writeStartup([['user', 'ann']]))
    const [offered] = await once(socket, 'data')
    assert.deepEqual(offered, writeMechanisms(['SCRAM-SHA-256']))
    socket.write(message('p', 'SCRAM-SHA-256\0', int32(9), 'y,,n=,r=x'))
    const [answer] = await once(socket, 'data')
    const fields = new Map(readFields(answer))
    assert.equal(fields.get('C'), '28000')
    assert.match(fields.get('M') ?? '', /channel_binding=disable/)
    await gateway.close(0)
    server.close()
  })

  test('a client of a later protocol is told that this is 3.2', async () => {
    const gateway = await openBareGateway(target.database, target.url)
    const socket = connect(gateway.port, '127.0.0.1')
    const packet = writeStartup([
      ['user', target.role('analyst')],
      ['_pq_.new', '1'],
    ])
    packet.writeUInt32BE((3 << 16) + 9, 4)
    socket.write(packet)
    const heard: Buffer[] = []
    socket.on('data', (chunk) => heard.push(chunk))
    while (Buffer.concat(heard).length < 40) await once(socket, 'data')
    const expected = Buffer.concat([
      message('v', int32((3 << 16) + 2), int32(1), '_pq_.new\0'),
      writeMechanisms(['SCRAM-SHA-256']),
    ])
    assert.deepEqual(Buffer.concat(heard), expected)
    socket.destroy()
    await gateway.close(0)
  })
})
