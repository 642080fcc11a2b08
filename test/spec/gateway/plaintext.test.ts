import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { after, before, describe, test } from 'node:test'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { ByteReader } from '../../../src/wire/byte-reader.ts'
import { message, readFields } from '../../../src/wire/messages.ts'
import { writeStartup } from '../../../src/wire/startup.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'

/** An address of this machine by which others know it: who comes from it is taken for another machine. */
const localAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address
const skip =
  process.platform !== 'linux'
    ? 'only Linux lets an address of the network connect to the loopback'
    : localAddress
      ? false
      : 'this machine has no address but that of the loopback'

describe('clients of the gateway on other machines', { skip }, () => {
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  let tokens: string[] = []
  before(async () => {
    target = await createMaskedDatabase()
    await target.createRole('analyst')
  })
  after(() => target[Symbol.asyncDispose]())

  /** The gateway's first answer to a user of this name: what login it asks for, or the code of its error. */
  const ask = async (user: string, from: { local?: boolean; tls?: boolean; allowPlaintext?: boolean }) => {
    tokens = []
    const checkToken = async (_: string, token: string) => {
      tokens.push(token)
      return { kind: 'refused' } as const
    }
    const limits = { allowPlaintext: from.allowPlaintext ?? false }
    const gateway = await openBareGateway(target.database, target.url, limits, {}, { ports: { checkToken } })
    const address = { port: gateway.port, host: '127.0.0.1', ...(!from.local && { localAddress }) }
    const tls = { rejectUnauthorized: false, ALPNProtocols: ['postgresql'] } satisfies ConnectionOptions
    const plain = connect(address)
    const socket = from.tls ? connectTls({ socket: plain, ...tls }) : plain
    socket.on('error', () => {})
    const reader = new ByteReader(socket)
    try {
      // The token comes at once, as from a client that does not wait to be asked.
      socket.write(Buffer.concat([writeStartup([['user', user]]), message('p', 'a token\0')]))
      const frame = await reader.takeFrame(1 << 16)
      if (frame[0] === 0x45) return new Map(readFields(frame)).get('C')
      const kind = frame.readUInt32BE(5)
      // The gateway's answer to the token.
      await reader.takeFrame(1 << 16)
      return kind === 3 ? 'a token' : kind === 10 ? 'SCRAM' : kind
    } finally {
      socket.destroy()
      await gateway.close(0)
    }
  }

  test('a role needs TLS, unless that is not wanted', async () => {
    const role = target.role('analyst')
    assert.equal(await ask(role, {}), '28000')
    assert.equal(await ask(role, { tls: true }), 'SCRAM')
    assert.equal(await ask(role, { local: true }), 'SCRAM')
    assert.equal(await ask(role, { allowPlaintext: true }), 'SCRAM')
  })

  clause(
    'GATE-10',
    'A person who gives their userPrincipalName as the user and their access token as the…',
    async () => {
      for (const name of ['ana@example.com', '8f9b0f6e-0d0f-4f4e-9d59-1c1a54f7d9a1'])
        for (const allowPlaintext of [false, true]) {
          assert.equal(await ask(name, { allowPlaintext }), '28000', 'in the clear')
          assert.deepEqual(tokens, [], 'nobody looks at a token that others may have seen')
          for (const from of [{ tls: true }, { local: true }]) {
            assert.equal(await ask(name, { ...from, allowPlaintext }), 'a token')
            assert.deepEqual(tokens, ['a token'])
          }
        }
    },
  )
})
