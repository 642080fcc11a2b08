import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe } from 'node:test'
import { TLSSocket } from 'node:tls'
import type pg from 'pg'
import { createCa, issueCertificate, toPem } from '../../../src/http/local-ca.ts'
import { useBoundPair } from '../../support/bound-pair.ts'
import { clause } from '../../support/clause.ts'
import { freshDatabase, policyUrl } from '../../support/masking.ts'
import { ended } from '../../support/people.ts'
import { startStranger } from '../../support/standby.ts'
import { waitUntil } from '../../support/wait-until.ts'

const schema = `
  create table public.customers (id int primary key, name text, email text);
  insert into public.customers values (1, 'ann', 'ann@example.com');
  create role hosts_analyst login password 'secret';
  grant usage on schema public to public; grant select on public.customers to hosts_analyst`

describe('a bound database on several servers', () => {
  const { masking, db, pair, hosts, bind, connect } = useBoundPair({ schema, first: 'standby' })

  const readAt = async (client: pg.Client) =>
    (await client.query("select email, current_setting('port')::int as port from customers")).rows

  async function mask(columnName: string, maskingFunction: string) {
    const where = { schemaName: 'public', tableName: 'customers', columnName }
    const put = await masking.putRule(db, columnName, { ...where, maskingFunction })
    return put.headers.get('x-masquerade-enforcement')
  }

  clause(
    'MASK-215',
    'The `host` of a binding may name the servers of one cluster, `one:5432,two:5432`, as psql takes…',
    async () => {
      const bound = await bind({ host: hosts(), password: pair().password })
      assert.equal(bound.status, 201, bound.text)
      const { binding, connection } = bound.body.properties
      assert.deepEqual(
        [binding.host, binding.sslmode, connection.state],
        [hosts(), 'disable', 'Reachable'],
        bound.text,
      )
      assert.equal(await mask('email', 'Email'), 'Enforced')

      const servers = hosts()
      const turned = servers.split(',').reverse().join(',')
      for (const [host, status] of [
        [servers, 200],
        [turned, 200],
        [`${servers},127.0.0.1:1`, 400],
        [servers, 200],
      ] as const) {
        const again = await bind({ host })
        assert.equal(again.status, status, again.text)
        if (status === 400) assert.equal(again.body.error.target, 'properties.binding.password')
      }
      for (const host of [
        `${servers},169.254.169.254:5432`,
        `${servers},`,
        `${servers},/run/postgresql`,
        `127.0.0.1:1,127.0.0.1:1`,
        `${servers},127.0.0.1:70000`,
      ]) {
        const { status, body } = await bind({ host, password: pair().password })
        assert.deepEqual([status, body.error?.code], [400, 'InvalidBinding'], host)
      }
      const remote = await masking.send('PUT', freshDatabase(), {
        properties: { binding: { host: '127.0.0.1:1,db.invalid:2', port: 3, database: 'd', user: 'u' } },
      })
      assert.equal(remote.body.properties.binding.sslmode, 'verify-full')
      const second = await masking.send('PUT', freshDatabase(), {
        properties: {
          binding: { host: turned, database: 'people', user: pair().user, password: pair().password },
        },
      })
      assert.equal(second.status, 409, second.text)
    },
  )

  clause(
    'MASK-215',
    'The `host` of a binding may name the servers of one cluster, `one:5432,two:5432`, as psql takes…',
    async () => {
      const { ca } = await createCa(['localhost'], new Date())
      const certificate = await issueCertificate(ca, ['localhost'], new Date())
      const greeted: string[] = []
      const listen = async (host: string) => {
        const server = createServer((socket) => {
          socket.on('error', () => {})
          socket.once('data', () => {
            socket.write('S')
            const secured = new TLSSocket(socket, { isServer: true, ...certificate })
            secured.on('error', () => {})
            secured.once('data', () => {
              greeted.push(host)
              secured.destroy()
            })
          })
        })
        server.listen(0, '127.0.0.1')
        await once(server, 'listening')
        return server
      }
      const servers = await Promise.all(['127.0.0.1', 'localhost'].map(listen))
      try {
        const [byAddress, byName] = servers.map((server) => (server.address() as AddressInfo).port)
        const { body } = await masking.send('PUT', freshDatabase(), {
          properties: {
            binding: {
              host: `127.0.0.1:${byAddress},localhost:${byName}`,
              database: 'd',
              user: 'u',
              password: 'p',
              sslmode: 'verify-full',
              sslRootCertificate: toPem(ca.certificate),
            },
          },
        })
        assert.equal(body.properties.connection.state, 'Unreachable')
        assert.deepEqual([...new Set(greeted)], ['localhost'], 'a host that the certificate does not name')
      } finally {
        for (const server of servers) server.close()
      }
    },
  )

  clause('MASK-226', 'The servers of a binding with several hosts are of one cluster, that of…', async () => {
    await using stranger = await startStranger(pair())
    const list = `127.0.0.1:${pair().primary.port},127.0.0.1:${stranger.port}`
    const bound = await bind({ host: list, password: pair().password })
    assert.equal(bound.status, 200, bound.text)
    const report = async () => (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body
    const isNamed = async () =>
      (await report()).notes.some(
        ({ code, target }: { code: string; target: string }) =>
          code === 'ForeignServer' && target === `127.0.0.1:${stranger.port}`,
      )
    // Its timeline is a later one: without a look at the cluster it would be the next primary.
    await waitUntil(
      'the stranger is named',
      async () => {
        await mask('email', 'Email')
        return await isNamed()
      },
      { withinMs: 20_000, everyMs: 500 },
    )
    assert.equal((await report()).state, 'Enforced')
    const client = await connect('hosts_analyst')
    assert.deepEqual(await readAt(client), [{ email: 'aXXX@XXXX.com', port: pair().primary.port }])
    const rows = await stranger.readSchemas()
    assert.deepEqual(rows, [], 'masks were written to the stranger')
    assert.equal((await bind({ host: hosts(), password: pair().password })).status, 200)
    assert.equal(await mask('email', 'Email'), 'Enforced')
    await waitUntil('nothing is said of it any more', async () => !(await isNamed()))
  })

  clause(
    'GATE-171',
    'Sessions in a database on several hosts are at the primary where the controller enforces masks,…',
    async () => {
      const before = await connect('hosts_analyst')
      assert.deepEqual(await readAt(before), [{ email: 'aXXX@XXXX.com', port: pair().primary.port }])
      // The primary goes on after its standby was promoted: the worst case, as it would never end a session by itself.
      const end = ended(before, 20_000)
      await pair().open(pair().standby, 'postgres').sql`select pg_promote()`
      assert.equal(await end, '57P01')
      const reach = () => connect('hosts_analyst').catch(() => undefined)
      const next = await waitUntil('a login reaches the new primary', reach)
      assert.ok(next)
      assert.deepEqual(await readAt(next), [{ email: 'aXXX@XXXX.com', port: pair().standby.port }])
      assert.equal(await mask('name', 'Default'), 'Enforced')
      assert.deepEqual((await next.query('select name from customers')).rows, [{ name: 'XXXX' }])
      await pair().standby.stop()
      await assert.rejects(connect('hosts_analyst'), { code: /^(57P03|08001)$/ })
    },
  )
})
