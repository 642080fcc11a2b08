import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { NodeRegistry } from '../../../src/gateway/session/session-registry.ts'
import { writeCancel } from '../../../src/wire/startup.ts'
import { openBareGateway, testLimits } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedTable, type MaskedTable } from '../../support/masked-table.ts'
import { openWireClient } from '../../support/wire-client.ts'

describe('keys to cancel with', () => {
  let target: MaskedTable
  let gateway: Gateway
  before(async () => {
    target = await createMaskedTable()
    gateway = await openBareGateway(target.database, target.url)
  })
  after(async () => {
    await gateway.close(0)
    await target[Symbol.asyncDispose]()
  })

  const login = async () => {
    const client = new pg.Client(target.through(gateway))
    client.on('error', () => {})
    await client.connect()
    return client
  }
  const processIdOf = (client: pg.Client): unknown => Reflect.get(client, 'processID')
  const openWire = (minor: number) => {
    const { user, password } = target.through(gateway)
    return openWireClient(`postgres://${user}:${password}@127.0.0.1:${gateway.port}/any`, {}, minor)
  }
  const cancel = async (processId: number, secret: Buffer) => {
    const socket = connect(gateway.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(writeCancel(processId, secret))
    socket.resume()
    await once(socket, 'close')
  }
  const isSleeping = async (processId: number) => {
    const [row] = await target.database.sql<{ query: string }[]>`
      select query from pg_stat_activity where pid = ${processId} and state = 'active'`
    return row?.query.includes('pg_sleep') === true
  }

  clause(
    'GATE-89',
    "A client gets the process id of its PostgreSQL backend and a secret of the gateway's own. So…",
    async (t) => {
      await t.test('the id is that of the backend', async () => {
        const client = await login()
        const { rows } = await client.query('select pg_backend_pid() as pid')
        assert.equal(processIdOf(client), rows[0].pid)
        await client.end()
      })

      await t.test('pg_terminate_backend with the id ends the session', async () => {
        const [one, other] = [await login(), await login()]
        const ended = new Promise((resolve) => one.once('end', resolve))
        const { rows } = await other.query('select pg_terminate_backend($1) as done', [processIdOf(one)])
        assert.equal(rows[0].done, true)
        await ended
        await other.end()
      })

      await t.test('a session recognises its own notifications', async () => {
        const [one, other] = [await login(), await login()]
        const heard: unknown[] = []
        one.on('notification', ({ processId }) => heard.push(processId))
        await one.query('listen news')
        await one.query('notify news')
        await other.query('notify news')
        while (heard.length < 2) await one.query('select 1')
        assert.deepEqual(heard, [processIdOf(one), processIdOf(other)])
        await one.end()
        await other.end()
      })

      for (const [minor, length] of [
        [0, 4],
        [2, 32],
      ] as const)
        await t.test(`a client of protocol 3.${minor} cancels by a secret of ${length} bytes`, async () => {
          const client = await openWire(minor)
          const { processId, secret } = client.key
          assert.equal(secret.length, length)
          const running = client.simple('select pg_sleep(60)')
          while (!(await isSleeping(processId))) await new Promise(setImmediate)
          const wrong = Buffer.from(secret.map((byte) => byte ^ 1))
          await cancel(processId, wrong)
          await cancel(processId, secret.subarray(1))
          await cancel(processId + 1, secret)
          assert.ok(await isSleeping(processId))
          await cancel(processId, secret)
          assert.equal((await running).error?.code, '57014')
          await client.close()
        })
    },
  )

  test('two sessions of one process id are told apart by their secrets', async () => {
    const registry = new NodeRegistry(testLimits, { opened: () => {}, closed: () => {} })
    const admit = (id: string, host: string) => {
      const address = { host, port: 5432, database: 'shop', addresses: [host] }
      const cancel = { key: undefined, address }
      return registry.admit({
        id,
        countedAs: host,
        roleOid: 16384,
        cancel,
        databaseId: host,
        role: 'a',
        principal: undefined,
      })
    }
    assert.equal(await admit('7:aa', 'one'), 'admitted')
    assert.equal(await admit('7:bb', 'other'), 'admitted')
    assert.equal(await admit('7:aa', 'third'), 'taken')
    assert.equal((await registry.find('7:aa'))?.address.host, 'one')
    assert.equal((await registry.find('7:bb'))?.address.host, 'other')
    registry.leave('7:aa', { received: 0, sent: 0 })
    assert.equal(await registry.find('7:aa'), undefined)
    assert.equal(await admit('7:aa', 'third'), 'admitted')
  })
})
