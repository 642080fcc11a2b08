import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import { after, before, describe } from 'node:test'
import { connect as connectTls } from 'node:tls'
import type { BackendAddress, GatewayPorts, TokenCheck } from '../../../src/gateway/ports.ts'
import { message, readFields } from '../../../src/wire/messages.ts'
import { sslRequest, writeStartup } from '../../../src/wire/startup.ts'
import { openBareGateway, testPrincipal } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'
import { openWireClient } from '../../support/wire-client.ts'

const startupMs = 1_500
/** Of the error that a login took too long. Machines that run tests are busy. */
const patienceMs = 15_000
const quote =
  'A login has 30 seconds from its first byte to its last, whatever it waits for: a startup packet that comes byte by byte, a TLS handshake, a password.'

describe('a login that takes too long', () => {
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  before(async () => {
    target = await createMaskedDatabase()
    await target.createRole('analyst')
  })
  after(() => target[Symbol.asyncDispose]())

  const open = (ports: Partial<GatewayPorts> = {}, address: Partial<BackendAddress> = {}) =>
    openBareGateway(target.database, target.url, { startupMs }, address, { ports })
  const inTime = async <T>(wait: Promise<T>): Promise<T> => {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new Error('nothing ends it')), patienceMs)
    return await Promise.race([wait, late.promise]).finally(() => clearTimeout(timer))
  }
  /** Everything that comes until the gateway hangs up. */
  const hear = async (socket: Socket): Promise<Buffer> => {
    const heard: Buffer[] = []
    socket.on('error', () => {})
    socket.on('data', (chunk) => heard.push(chunk))
    await inTime(new Promise((resolve) => socket.once('close', resolve)))
    return Buffer.concat(heard)
  }
  const codeOf = (frame: Buffer) => (frame[0] === 0x45 ? new Map(readFields(frame)).get('C') : undefined)
  const startup = (user: string) => writeStartup([['user', user]])

  clause('GATE-67', quote, async (t) => {
    const gateway = await open()
    t.after(() => gateway.close(0))
    const connected = (...said: Buffer[]) => {
      const socket = connect(gateway.port, '127.0.0.1')
      for (const bytes of said) socket.write(bytes)
      return socket
    }
    const byByte = connected()
    const packet = startup(target.role('analyst')).values()
    const drip = setInterval(() => {
      const { value } = packet.next()
      if (value !== undefined) byByte.write(Buffer.from([value]))
    }, startupMs / 20)
    t.after(() => clearInterval(drip))
    const handshake = connected(sslRequest)
    handshake.once('data', () => handshake.write(Buffer.from([0x16, 3, 1, 2, 0, 1])))
    const secure = connectTls({
      port: gateway.port,
      host: '127.0.0.1',
      ALPNProtocols: ['postgresql'],
      rejectUnauthorized: false,
    })
    const told = [hear(connected()), hear(byByte), hear(secure)]
    const asked = [
      hear(connected(startup(target.role('analyst')))),
      hear(connected(startup('ana@example.com'))),
    ]
    const untold = [hear(handshake), hear(connected(Buffer.from([0x16, 3, 1])))]
    for (const heard of await Promise.all(told)) assert.equal(codeOf(heard), '08006')
    for (const heard of await Promise.all(asked)) {
      assert.equal(heard.toString('latin1', 0, 1), 'R')
      assert.equal(codeOf(heard.subarray(1 + heard.readUInt32BE(1))), '08006')
    }
    // There is no place for an error in a handshake.
    for (const heard of await Promise.all(untold)) assert.match(heard.toString('latin1'), /^S?$/)
  })

  // What the gateway itself waits for counts as well, and what comes too late opens nothing.
  clause('GATE-67', quote, async (t) => {
    const accepted: TokenCheck = {
      kind: 'accepted',
      principal: testPrincipal('ana'),
    }
    const waits: Record<string, (until: Promise<void>) => Partial<GatewayPorts>> = {
      'the name of a database': (until) => ({ findDatabases: () => until.then(() => []) }),
      'the masks': (until) => ({ readMasks: () => until.then(() => new Map()) }),
      'the audit': (until) => ({ recordSession: () => until }),
    }
    const directoryWaits: typeof waits = {
      'the check of a token': (until) => ({ checkToken: () => until.then(() => accepted) }),
      'a login role': (until) => ({
        checkToken: async () => accepted,
        prepareLogin: () =>
          until.then(() => ({
            kind: 'ready',
            login: { role: target.role('analyst'), password: 'secret', version: '1' },
          })),
      }),
    }
    const run = (name: string, ports: (until: Promise<void>) => Partial<GatewayPorts>, logIn: LogIn) =>
      t.test(`waiting for ${name}`, async () => {
        const { promise, resolve } = Promise.withResolvers<void>()
        const gateway = await open(ports(promise))
        assert.equal(await logIn(gateway.port), '08006')
        resolve()
        const hasNone = async () => (await countSessions()) === 0
        await waitUntil('the end of its session at the database', hasNone)
        await holdsFor(500, 'no session comes about', hasNone)
        await gateway.close(0)
      })
    for (const [name, ports] of Object.entries(waits)) await run(name, ports, byPassword)
    for (const [name, ports] of Object.entries(directoryWaits)) await run(name, ports, byToken)

    await t.test('waiting for the database', async () => {
      const mute = createServer((socket) => void socket.on('error', () => {}).resume())
      await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
      const { port } = mute.address() as { port: number }
      const gateway = await open({}, { host: '127.0.0.1', port })
      assert.equal(await byPassword(gateway.port), '08006')
      await gateway.close(0)
      mute.close()
    })
  })

  type LogIn = (port: number) => Promise<string | undefined>
  const byPassword: LogIn = async (port) => {
    const url = new URL(target.urlOf('analyst'))
    url.host = `127.0.0.1:${port}`
    const failed = await inTime(
      openWireClient(url.href).then(
        () => ({ code: 'let in' }),
        (error: Error & { code?: string }) => error,
      ),
    )
    return failed.code ?? String(failed)
  }
  const byToken: LogIn = async (port) => {
    const socket = connect(port, '127.0.0.1')
    socket.write(Buffer.concat([startup('ana@example.com'), message('p', 'a token\0')]))
    const heard = await hear(socket)
    return codeOf(heard.subarray(1 + heard.readUInt32BE(1)))
  }
  const countSessions = async () => {
    const [row] = await target.database.sql`
      select count(*)::int as n from pg_stat_activity where usename = ${target.role('analyst')}`
    return row?.n
  }
})
