import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { bindingOf } from '../../support/masked-database.ts'
import { findFreePort, openNetwork } from '../../support/network.ts'
import { createEmptyDatabase } from '../../support/postgres.ts'

function usePlaces(settings: Parameters<typeof useGateway>[0] = {}) {
  const gateway = useGateway(settings)
  const own = () => bindingOf(gateway.masked().url)
  const bind = async (changes: object) => {
    const binding = { ...own(), ...changes }
    const put = await gateway.masking.send('PUT', gateway.db, { properties: { binding } })
    assert.ok(put.status < 300, put.text)
    return put.body.properties
  }
  const names = () => [
    gateway.name,
    gateway.db.replace(
      /^\/subscriptions\/|(\/resourceGroups|\/providers\/.*\/servers|\/databases)(?=\/)/g,
      '',
    ),
  ]
  const read = async (database: string) => {
    const client = await gateway.connect('auditor', { database })
    const { rowCount } = await client.query('select email from public.customers')
    await client.end()
    return rowCount
  }
  const letsIn = async (what: string) => {
    for (const name of names()) assert.equal(await read(name), 2, what)
  }
  const refuses = async (what: string) => {
    for (const name of names())
      await assert.rejects(read(name), { code: '57P03', message: /has not logged in/ }, what)
  }

  return { gateway, own, bind, names, read, letsIn, refuses }
}

describe('a binding that has not logged in where it leads', () => {
  const { gateway, bind, names, read, letsIn, refuses } = usePlaces()

  // The writer of a binding names a machine that stands between the clients and the server.
  clause(
    'GATE-296',
    'A role of a database logs in by its own password only where the binding has logged in to the hosts,…',
    async (t) => {
      const { url } = gateway.masked()
      await letsIn('the binding of before')
      const port = await findFreePort()
      const stored = await bind({ port, user: 'stranger', password: 'x' })
      assert.equal(stored.connection.state, 'Unreachable')
      const relay = await openNetwork(url, port)
      t.after(() => relay.close())
      await refuses('a relay that appears after the binding')

      assert.equal((await bind({ port })).connection.state, 'Reachable')
      await letsIn('the binding logs in there')
      assert.equal((await bind({ port, password: 'wrong' })).connection.state, 'Unreachable')
      await letsIn('another password for the same place')
      assert.equal(
        (await bind({ port, database: 'another', password: 'wrong' })).connection.state,
        'Unreachable',
      )
      await refuses('another database of the same server')
      await bind({ host: `127.0.0.1:${port},127.0.0.1:1`, port: undefined, user: 'stranger', password: 'x' })
      await refuses('a host beside the first')
      await bind({})
      await letsIn('the first binding again')
    },
  )

  clause(
    'GATE-296',
    'A role of a database logs in by its own password only where the binding has logged in to the hosts,…',
    async (t) => {
      const { url } = gateway.masked()
      const port = await findFreePort()
      assert.equal((await bind({ port })).connection.state, 'Unreachable')
      const first = await openNetwork(url, port)
      const { database, enforcement } = gateway.masking.service()
      const [row] = await database.sql<{ id: string }[]>`
        select id from masked_database where key = ${gateway.db.toLowerCase()}`
      await enforcement.settle(row?.id ?? '')
      await letsIn('the service logged in later than the binding was stored')
      first.close()
      for (const name of names()) await assert.rejects(read(name), { code: '08001' })
      const second = await openNetwork(url, port)
      t.after(() => second.close())
      await letsIn('a server that was away')
    },
  )
})

describe('a binding with a host that it does not log in to', () => {
  const { gateway, own, bind, letsIn } = usePlaces({ MASQUERADE_GATEWAY_UNBOUND: '1' })
  const enter = async (database: string) => (await gateway.connect('auditor', { database })).end()

  // It drops the binding and waits for roles: those would prove their passwords to it.
  clause(
    'GATE-310',
    'Where the binding names several hosts, a role of the database logs in by its own password at the one that…',
    async (t) => {
      const relay = await openNetwork(gateway.masked().url)
      const names: string[] = []
      const other = createServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', (startup) => {
          names.push(/user\0([^\0]*)/.exec(startup.toString('latin1'))?.[1] ?? '')
          socket.destroy()
        })
      })
      other.listen(0, '127.0.0.1')
      await once(other, 'listening')
      t.after(() => {
        relay.close()
        other.close()
      })
      const { port } = other.address() as AddressInfo
      const host = `127.0.0.1:${port},127.0.0.1:${relay.address.port}`
      assert.equal((await bind({ host, port: undefined })).connection.state, 'Reachable')
      await letsIn('the host that the binding logs in to')
      await enter('postgres')
      relay.close()
      for (const name of [gateway.name, 'postgres'])
        await assert.rejects(enter(name), { code: '57P03', message: /takes writes is not known/ })
      assert.ok(names.includes(own().user), 'the binding was there')
      assert.ok(!names.includes('auditor'), names.join())
      await bind({})
      await letsIn('the first binding again')
    },
  )

  clause(
    'GATE-319',
    'Where several bindings name the same hosts, a database there that is not bound is at the primary of the first one that…',
    async (t) => {
      const relay = await openNetwork(gateway.masked().url)
      t.after(() => relay.close())
      await using second = await createEmptyDatabase()
      const host = `${own().host}:${own().port},127.0.0.1:${relay.address.port}`
      // The key of the other one comes behind that of this one.
      const path = gateway.db.replace(/[^/]*$/, 'zzzz')
      const { database } = bindingOf(second.url)
      const binding = { ...own(), host, port: undefined, database }
      const put = await gateway.masking.send('PUT', path, { properties: { binding } })
      assert.equal(put.status, 201, put.text)
      assert.equal((await bind({ host, port: undefined })).connection.state, 'Reachable')
      await enter('postgres')
      assert.equal((await bind({ host, port: undefined, password: 'wrong' })).connection.state, 'Unreachable')
      await enter('postgres')
      await assert.rejects(enter(gateway.name), { code: '57P03' })
      assert.equal((await gateway.masking.send('DELETE', path)).status, 200)
      await assert.rejects(enter('postgres'), { code: '57P03' }, 'no binding is logged in')
      await bind({})
    },
  )
})
