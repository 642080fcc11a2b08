import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { message, query, readFields } from '../../../src/wire/messages.ts'
import { sslRequest, writeStartup } from '../../../src/wire/startup.ts'
import { useGateway } from '../../support/gateway.ts'

const gssRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 48])

describe('clients of the gateway that do not keep to the protocol', () => {
  const gateway = useGateway()

  const open = () => {
    const socket = connect(gateway.port(), '127.0.0.1')
    socket.on('error', () => {})
    return socket
  }
  /** Everything that comes back until the gateway hangs up. */
  const read = async (socket: Socket): Promise<Buffer> => {
    const heard: Buffer[] = []
    socket.on('data', (chunk) => heard.push(chunk))
    await new Promise((resolve) => socket.once('close', resolve))
    return Buffer.concat(heard)
  }
  const codeOf = (answer: Buffer, at = 0) => new Map(readFields(answer.subarray(at))).get('C')
  const startup = () =>
    writeStartup([
      ['user', gateway.masked().role('analyst')],
      ['database', gateway.name],
    ])

  const attacks: Record<string, { send: () => Buffer; code: string }> = {
    'a startup packet of 7 bytes': { send: () => Buffer.from([0, 0, 0, 7, 0, 3, 0]), code: '08P01' },
    'a startup packet of 4 GB': { send: () => Buffer.from([255, 255, 255, 255, 0, 3, 0, 0]), code: '08P01' },
    'a startup packet beyond the limit': { send: () => Buffer.from([0, 0, 0x27, 0x11]), code: '08P01' },
    'a startup packet without end': { send: () => Buffer.from([0, 0, 0, 9, 0, 3, 0, 0, 65]), code: '08P01' },
    'protocol 2': { send: () => Buffer.from([0, 0, 0, 9, 0, 2, 0, 0, 0]), code: '0A000' },
    'no user': { send: () => writeStartup([['database', 'x']]), code: '28000' },
    replication: {
      send: () =>
        writeStartup([
          ['user', 'a'],
          ['replication', 'database'],
        ]),
      code: '0A000',
    },
    'HTTP instead': { send: () => Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), code: '08P01' },
    'protocol 4': { send: () => Buffer.from([0, 0, 0, 9, 0, 4, 0, 0, 0]), code: '0A000' },
    'a startup packet behind a request for GSS': {
      send: () => Buffer.concat([gssRequest, startup()]),
      code: '08P01',
    },
    'an SSL request of 9 bytes': { send: () => Buffer.from([0, 0, 0, 9, 4, 210, 22, 47, 0]), code: '08P01' },
    'a cancel request without a key': {
      send: () => Buffer.from([0, 0, 0, 12, 4, 210, 22, 46, 0, 0, 0, 1]),
      code: '08P01',
    },
    'a startup packet with data behind its end': {
      send: () => Buffer.from([0, 0, 0, 12, 0, 3, 0, 0, 0, 65, 0, 0]),
      code: '08P01',
    },
    'a startup packet behind an SSL request': {
      send: () => Buffer.concat([sslRequest, startup()]),
      code: '08P01',
    },
  }
  for (const [name, { send, code }] of Object.entries(attacks))
    test(`${name}: ${code}`, async () => {
      const socket = open()
      socket.write(send())
      assert.equal(codeOf(await read(socket)), code)
    })

  test('an empty connection', async () => {
    const socket = open()
    socket.end()
    assert.equal((await read(socket)).length, 0)
  })

  /** What TLS says when it gives up. */
  const alert = 0x15
  for (const [name, send] of Object.entries({
    'SSL asked for twice': () => sslRequest,
    'a startup packet': startup,
  }))
    test(`${name} where a handshake is due: no answer`, async () => {
      const socket = open()
      socket.write(sslRequest)
      assert.equal((await once(socket, 'data'))[0].toString(), 'S')
      socket.write(send())
      const heard = await read(socket)
      assert.ok(heard.length === 0 || heard[0] === alert, heard.toString('latin1'))
    })

  test('SSL asked for behind TLS: 08P01', async () => {
    const secure = connectTls({
      port: gateway.port(),
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ALPNProtocols: ['postgresql'],
    })
    secure.write(sslRequest)
    assert.equal(codeOf(await read(secure)), '08P01')
  })

  test('handshakes that end in nonsense leave the gateway as it is', async () => {
    const hello = await recordHello()
    const count = 120
    const tries = Array.from({ length: count }, async (_, index) => {
      const bytes = Buffer.from(hello)
      const at = (index * 37) % bytes.length
      if (index % 3 === 0) bytes.writeUInt8((bytes[at] ?? 0) ^ 0xff, at)
      const sent = index % 3 === 1 ? bytes.subarray(0, at) : Buffer.concat([bytes, Buffer.alloc(at, index)])
      const socket = open()
      if (index % 2 === 0) {
        socket.write(sslRequest)
        await once(socket, 'data')
      }
      socket.end(sent)
      await read(socket)
    })
    await Promise.all(tries)
    const client = await gateway.connect('analyst', { ssl: { rejectUnauthorized: false } })
    assert.equal((await client.query('select 1 as one')).rows[0].one, 1)
    await client.end()
  })

  /** The first message of a TLS client. */
  const recordHello = async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const client = connectTls({ port, host: '127.0.0.1', ALPNProtocols: ['postgresql'] })
    client.on('error', () => {})
    const [socket] = (await once(server, 'connection')) as [Socket]
    const [hello] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    server.close()
    return hello
  }

  test('an error behind TLS is told behind TLS', async () => {
    const secure = connectTls({
      port: gateway.port(),
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ALPNProtocols: ['postgresql'],
    })
    secure.write(Buffer.from([0, 0, 0, 7, 0, 3, 0]))
    assert.equal(codeOf(await read(secure)), '08P01')
  })

  test('GSS is refused once, and TLS may follow it', async () => {
    const socket = open()
    socket.write(gssRequest)
    assert.equal((await once(socket, 'data'))[0].toString(), 'N')
    socket.write(sslRequest)
    assert.equal((await once(socket, 'data'))[0].toString(), 'S')
    socket.destroy()
    const twice = open()
    twice.write(gssRequest)
    await once(twice, 'data')
    twice.write(gssRequest)
    assert.equal(codeOf(await read(twice)), '08P01')
  })

  test('a login that answers with something else', async () => {
    for (const answer of [
      message('Q', 'select 1\0'),
      message('p', 'SCRAM-SHA-256-PLUS\0', Buffer.alloc(4)),
      message('p', 'SCRAM-SHA-256\0', Buffer.from([0, 0, 0, 9]), 'n,,'),
      Buffer.from([0x70, 0, 0, 0, 3]),
      Buffer.from([0x70, 0x7f, 0xff, 0xff, 0xff]),
    ]) {
      const socket = open()
      socket.write(startup())
      const [offer] = await once(socket, 'data')
      assert.equal(offer.subarray(9).toString(), 'SCRAM-SHA-256\0\0')
      socket.write(answer)
      assert.equal(codeOf(await read(socket)), '08P01')
    }
  })

  /** The bare connection of a client that is logged in. */
  const loggedIn = async () => {
    const client = await gateway.connect('analyst')
    const stream = Reflect.get(Reflect.get(client, 'connection'), 'stream') as Socket
    stream.removeAllListeners('data')
    return stream
  }
  const hostile: Record<string, Buffer> = {
    'an unknown type': Buffer.from([0x21, 0, 0, 0, 4]),
    'a password after the login': message('p', 'x\0'),
    'a length of 3': Buffer.from([0x51, 0, 0, 0, 3]),
    'a length of 4 GB': Buffer.from([0x64, 255, 255, 255, 255]),
    'a query with a NUL': message('Q', 'select 1\0; select email from public.customers\0'),
    'a parse message with a NUL': message('P', '\0select 1\0 from customers\0', Buffer.alloc(2)),
    'a query without end': message('Q', 'select 1'),
  }
  for (const [name, frame] of Object.entries(hostile))
    test(`${name} ends the session`, async () => {
      const stream = await loggedIn()
      stream.write(frame)
      assert.equal(codeOf(await read(stream)), '08P01')
    })

  test('a session split at every byte is the same session', async () => {
    const stream = await loggedIn()
    const heard: Buffer[] = []
    stream.on('data', (chunk) => heard.push(chunk))
    stream.setNoDelay(true)
    const parse = message('P', '\0select email from public.customers where id = 2\0', Buffer.alloc(2))
    const bind = message('B', '\0\0', Buffer.alloc(6))
    const execute = message('E', '\0', Buffer.alloc(4))
    const all = Buffer.concat([
      query('select email from public.customers where id = 1'),
      parse,
      bind,
      execute,
      message('S'),
      message('X'),
    ])
    for (const byte of all) {
      stream.write(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
    await once(stream, 'close')
    const text = Buffer.concat(heard).toString('latin1')
    assert.match(text, /aXXX@XXXX\.com[\s\S]*bXXX@XXXX\.com/)
  })

  test('a truncated frame and a closed connection leave nothing behind', async () => {
    const stream = await loggedIn()
    stream.end(query('insert into public.notes (body) values (1)').subarray(0, 20))
    await read(stream)
    const left = await gateway.masked().database.sql`select 1 from public.notes`
    assert.equal(left.length, 0)
  })

  test('direct TLS needs the name of the protocol', async () => {
    const options = { port: gateway.port(), host: '127.0.0.1', rejectUnauthorized: false }
    const good = connectTls({ ...options, ALPNProtocols: ['postgresql'] })
    await once(good, 'secureConnect')
    assert.equal(good.alpnProtocol, 'postgresql')
    good.write(startup())
    const [offer] = await once(good, 'data')
    assert.equal(offer.subarray(9).toString(), 'SCRAM-SHA-256\0\0')
    good.destroy()
    for (const ALPNProtocols of [[], ['h2']]) {
      const bad = connectTls({ ...options, ALPNProtocols })
      bad.on('error', () => {})
      bad.on('secureConnect', () => bad.write(startup()))
      const heard = await read(bad)
      assert.equal(heard.length, 0)
    }
  })

  test('half-open connections make room for others', async () => {
    const idle = Array.from({ length: 400 }, () => open())
    await Promise.all(idle.map((socket) => once(socket, 'connect')))
    const client = await gateway.connect('analyst')
    assert.equal((await client.query('select 1 as one')).rows[0].one, 1)
    for (const socket of idle) socket.destroy()
    assert.equal((await client.query('select 2 as two')).rows[0].two, 2)
    await client.end()
  })

  test('TLS by request, with the certificate of the service', async () => {
    const ca = gateway.masking.service().listeners.ca
    assert.ok(ca)
    const client = await gateway.connect('analyst', { host: 'localhost', ssl: { ca } })
    const { rows } = await client.query('select email from public.customers where id = 1')
    assert.deepEqual(rows, [{ email: 'aXXX@XXXX.com' }])
    await client.end()
  })
})
