import assert from 'node:assert/strict'
import { int32, message } from '../../../src/wire/messages.ts'
import { clause } from '../../support/clause.ts'
import {
  dataRow,
  describeColumns,
  startEndlessCopies,
  startHostileServer,
  startScramServer,
  welcome,
} from '../../support/hostile-server.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { int16 } from '../../support/wire-client.ts'

const { send } = useMasking()

const greetings: Record<string, readonly Buffer[]> = {
  'a login by GSS': [message('R', int32(7))],
  'half a request for a login': [message('R', 'x')],
  'an error without fields': [message('E')],
  'an error without an end': [message('E', 'SFATAL\0Mno end')],
  'a notice without an end': [message('N', 'SNOTICE')],
  'a cancel key without a key': [message('R', int32(0)), message('K')],
}

const answers: Record<string, readonly Buffer[]> = {
  'fewer than no columns': [message('T', int16(0xfffb))],
  'a row that lacks its values': [describeColumns('version'), message('D', int16(3))],
  'a row of 900 MB': [describeColumns('version'), Buffer.from('D'), int32(900_000_000)],
  'an error without an end': [message('E', 'SERROR\0C42501\0Mno end')],
  'two answers to one question': [
    ...['one', 'two'].flatMap((text) => [describeColumns('file'), dataRow(text), message('C', 'SELECT 1\0')]),
    message('Z', 'I'),
  ],
}

clause(
  'MASK-221',
  'A bound server that does not keep to the protocol of PostgreSQL loses its own…',
  async () => {
    await using target = await createMaskedDatabase()
    await target.database.sql`create table public.person (id int, email text)`
    const binding = bindingOf(target.url)
    using server = await startEndlessCopies(binding.port)
    const db = freshDatabase()
    const bound = await send('PUT', db, { properties: { binding: { ...binding, port: server.port } } })
    assert.equal(bound.body.properties?.connection.state, 'Reachable', bound.text)
    const { status, body } = await send('GET', `${policyUrl(db)}/recommendations`)
    assert.deepEqual([status, body.error?.code], [503, 'BoundDatabaseUnusable'])
    assert.equal((await send('GET', db)).status, 200)
    assert.equal((await send('PUT', db, { properties: { binding: null } })).status, 200)
  },
)

clause(
  'MASK-252',
  'A bound server asks for the proof of the password once in a login: where it asks again, it loses the connection…',
  async () => {
    const tryOut = async (asks: { rounds: number; times: number }, authentication?: string) => {
      using server = await startScramServer({ ...asks, leaves: true })
      const binding = {
        host: '127.0.0.1',
        port: server.port,
        database: 'd',
        user: 'u',
        password: 'p',
        authentication,
      }
      const put = await send('PUT', freshDatabase(), { properties: { binding } })
      assert.equal(put.status, 201, put.text)
      assert.equal(put.body.properties.connection.state, 'Unreachable')
      return { proofs: server.proofs, reason: put.body.properties.connection.reason }
    }
    const often = await tryOut({ rounds: 4096, times: 5 })
    assert.deepEqual(
      [often.proofs <= 1, /does not answer as PostgreSQL does/.test(often.reason)],
      [true, true],
    )
    for (const rounds of [1, 4095]) {
      const few = await tryOut({ rounds, times: 1 })
      assert.deepEqual([few.proofs, /fewer than 4096 rounds/.test(few.reason)], [0, true], few.reason)
    }
    assert.ok((await tryOut({ rounds: 4096, times: 1 })).proofs > 0)
    assert.ok((await tryOut({ rounds: 1, times: 1 }, 'md5')).proofs > 0)
  },
)

clause(
  'MASK-222',
  'Of an error of a bound server the first 500 characters are passed on at most, to the log and to the…',
  async () => {
    const text = 'x'.repeat(1_000_000)
    const answer = Buffer.concat([
      message('E', `SERROR\0VERROR\0C2BP01\0M${text}\0t${text}\0\0`),
      message('Z', 'I'),
    ])
    using server = await startHostileServer(welcome, (socket) => socket.write(answer))
    const db = freshDatabase()
    const binding = { host: '127.0.0.1', port: server.port, database: 'd', user: 'u', password: 'x' }
    assert.equal((await send('PUT', db, { properties: { binding } })).status, 201)
    const state = await send('GET', `${policyUrl(db)}/enforcement`)
    assert.match(state.body.reason, /depend on a twin.*\(x/)
    assert.ok(state.text.length < 2_000, String(state.text.length))
    assert.equal((await send('PUT', db, { properties: { binding: null } })).status, 200)
  },
)

clause(
  'MASK-221',
  'A bound server that does not keep to the protocol of PostgreSQL loses its own connection, and nothing…',
  async () => {
    const attacks = [
      ...Object.entries(greetings).map(([name, greeting]) => ({ name, greeting, answer: undefined })),
      ...Object.entries(answers).map(([name, answer]) => ({ name, greeting: welcome, answer })),
    ]
    for (const { name, greeting, answer } of attacks) {
      using server = await startHostileServer(greeting, (socket) => socket.write(Buffer.concat(answer ?? [])))
      const several = `127.0.0.1:${server.port},127.0.0.1:1`
      for (const host of name.startsWith('two') ? [several] : ['127.0.0.1']) {
        const db = freshDatabase()
        const binding = { host, port: server.port, database: 'd', user: 'u', password: 'x' }
        const { status, body } = await send('PUT', db, { properties: { binding } })
        assert.deepEqual([status, body.properties?.connection.state], [201, 'Unreachable'], name)
        if (host !== several)
          assert.match(body.properties.connection.reason, /does not answer as PostgreSQL/, name)
        assert.equal((await send('PUT', db, { properties: { binding: null } })).status, 200)
      }
    }
  },
)
