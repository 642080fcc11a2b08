import assert from 'node:assert/strict'
import { before } from 'node:test'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { apiVersion, freshDatabase } from '../../support/masking.ts'
import { bringPeople } from '../../support/people.ts'
import { retryUntil } from '../../support/wait-until.ts'

/** The proxy is on this machine: the node itself connects from its address. */
const gateway = useGateway({ MASQUERADE_GATEWAY_PROXIES: '127.0.0.1' })
let people: Awaited<ReturnType<typeof bringPeople>>
before(async () => {
  people = await bringPeople(gateway)
})

clause(
  'MASK-204',
  '`POST {db}/query` runs one statement through the gateway under the login role…',
  async () => {
    const { masking, db, masked } = gateway
    const [reader, stranger] = [await people.user(), await people.user()]
    await people.map(reader.id)
    const ask = (sql: string, more: object = {}, token = reader.token, path = db) =>
      masking.service().request('POST', `${path}/query?${apiVersion}`, { token, body: { sql, ...more } })

    const { status, body, text } = await ask(
      'select id, email, upper(name) as name from customers order by id',
    )
    assert.equal(status, 200, text)
    assert.deepEqual(body, {
      columns: [
        { name: 'id', isMasked: false },
        { name: 'email', isMasked: true },
        { name: 'name', isMasked: false },
      ],
      rows: [
        ['1', 'aXXX@XXXX.com', 'ANN'],
        ['2', 'bXXX@XXXX.com', 'BOB'],
      ],
      isCut: false,
      command: 'SELECT',
      affected: 2,
      error: null,
    })

    const cut = (await ask('select generate_series(1, 1000000)', { rowLimit: 3 })).body
    assert.deepEqual([cut.rows, cut.isCut], [[['1'], ['2'], ['3']], true])

    const faults: readonly [sql: string, code: string, more?: object][] = [
      ['select nothing from customers', '42703'],
      ['select 1; select 2', '42601'],
      ['create table mine (id int)', '25006'],
      ['select pg_sleep(30)', '57014', { timeoutSeconds: 1 }],
      ['create table public.mine (id int)', '42501', { isReadOnly: false }],
    ]
    for (const [sql, code, more] of faults) assert.equal((await ask(sql, more)).body.error?.code, code, sql)

    for (const refused of [
      await ask('select 1', {}, stranger.token),
      await ask('select 1', {}, reader.token, `${db}x`),
    ]) {
      assert.equal(refused.status, 403)
      assert.equal(refused.body.error.code, 'AuthorizationFailed')
    }

    const gone = new AbortController()
    const asked = fetch(`${masking.service().origin}${db}/query?${apiVersion}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${reader.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ sql: 'select pg_sleep(40) as abandoned', timeoutSeconds: 45 }),
      signal: gone.signal,
    }).catch(() => 'gone')
    const running = async () => {
      const [row] = await masked().database.sql<{ count: number }[]>`
      select count(*)::int from pg_stat_activity where query like '%pg_sleep(40) as abandoned%' and pid <> pg_backend_pid() and state = 'active'`
      return row?.count
    }
    await retryUntil(async () => assert.equal(await running(), 1))
    gone.abort()
    assert.equal(await asked, 'gone')
    await retryUntil(async () => assert.equal(await running(), 0))
  },
)

const listQueryable = (token: string, version = 'api-version=2026-11-01') =>
  gateway.masking.service().request('GET', `/providers/Vendor.Sql/queryableDatabases?${version}`, { token })

clause(
  'MASK-275',
  'In api-version `2026-11-01`, `GET /providers/Vendor.Sql/queryableDatabases` lists the bound databases…',
  async () => {
    const { db, name, masking } = gateway
    const [inner, outer] = [await people.directory.group(), await people.directory.group()]
    await people.directory.join(inner, outer)
    const reader = await people.user(inner)
    assert.deepEqual((await listQueryable(reader.token)).body, { value: [] })
    const other = await gateway.masked().createRole('others', 'NOLOGIN')
    const mappings = [await people.map(outer), await people.map(inner), await people.map(reader.id, other)]

    const { status, body, text } = await listQueryable(reader.token)
    assert.equal(status, 200, text)
    const properties = {
      subscriptionId: 'sub-1',
      resourceGroupName: 'Group-1',
      serverName: 'Srv',
      databaseRoles: [other, people.readers].toSorted(),
      gateway: { host: '127.0.0.1', port: gateway.port(), database: name, user: reader.name },
    }
    assert.deepEqual(body, { value: [{ id: db, name, properties }] })
    const query = await masking.service().request('POST', `${body.value[0]?.id}/query?${apiVersion}`, {
      token: reader.token,
      body: { sql: 'select 1' },
    })
    assert.deepEqual(query.body.rows, [['1']])
    for (const mapping of mappings) await masking.send('DELETE', mapping)
    assert.deepEqual((await listQueryable(reader.token)).body, { value: [] })
    assert.equal((await listQueryable(reader.token, apiVersion)).status, 400)
  },
)

clause(
  'MASK-276',
  'That list names no database without such a mapping and no role of others, and is 403…',
  async () => {
    const { masking, db } = gateway
    const [reader, other] = [await people.user(), await people.user()]
    const foreign = await gateway.masked().createRole('foreign', 'NOLOGIN')
    await people.map(reader.id)
    await people.map(other.id, foreign)
    const unbound = freshDatabase()
    const put = await masking.send('PUT', `${unbound}/roleMappings/mine`, {
      properties: { databaseRole: 'analyst', principalId: reader.id },
    })
    assert.equal(put.status, 201, put.text)
    const { body } = await listQueryable(reader.token)
    assert.deepEqual(
      body.value.map((one: { id: string; properties: { databaseRoles: string[] } }) => [
        one.id,
        one.properties.databaseRoles,
      ]),
      [[db, [people.readers]]],
    )
    assert.deepEqual((await listQueryable(masking.service().tokenFor({ role: 'Owner' }))).body, { value: [] })
    const narrow = masking.service().tokenFor({ principal: reader.id, permissions: ['User.Read'] })
    const refused = await listQueryable(narrow)
    assert.deepEqual([refused.status, refused.body.error?.code], [403, 'AuthorizationFailed'])
  },
)

clause(
  'MASK-277',
  "The gateway's host in that list is the host of the request, and its port is the one on which the node listens.",
  async () => {
    const reader = await people.user()
    await people.map(reader.id)
    const { port } = new URL(gateway.masking.service().origin)
    const url = `http://localhost:${port}/providers/Vendor.Sql/queryableDatabases?api-version=2026-11-01`
    const answer = await fetch(url, { headers: { authorization: `Bearer ${reader.token}` } })
    const { value } = (await answer.json()) as {
      value: { properties: { gateway: { host: string; port: number } } }[]
    }
    const { host, port: at } = value[0]?.properties.gateway ?? {}
    assert.deepEqual([host, at], ['localhost', gateway.port()])
  },
)

clause(
  'GATE-235',
  'What PostgreSQL says against the commit of a query (MASK-204) is in `error` as well, as of a deferred constraint…',
  async () => {
    const reader = await people.user()
    await people.map(reader.id)
    const { sql } = gateway.masked().database
    await sql.unsafe(`
      create table parent (id int primary key);
      create table child (id int references parent deferrable initially deferred);
      insert into parent values (1);
      grant select, insert on parent, child to public`)
    const write = async (text: string) => {
      const body = { sql: text, isReadOnly: false }
      const path = `${gateway.db}/query?${apiVersion}`
      return (await gateway.masking.service().request('POST', path, { token: reader.token, body })).body
    }
    const broken = await write('insert into child values (7) returning id')
    assert.deepEqual([broken.error?.code, broken.rows, broken.affected], ['23503', [], null])
    const kept = await write('insert into child values (1) returning id')
    assert.deepEqual([kept.error, kept.rows, kept.affected], [null, [['1']], 1])
    assert.deepEqual([...(await sql`select id from child`)], [{ id: 1 }])
  },
)

clause(
  'MASK-213',
  'The answer of a query has at most 16 MB: a larger one ends the session, changes nothing and has the error `54000`. …',
  async () => {
    const reader = await people.user()
    await people.map(reader.id)
    const ask = async (sql: string) => {
      const body = { sql, rowLimit: 10_000, timeoutSeconds: 50 }
      const path = `${gateway.db}/query?${apiVersion}`
      return (await gateway.masking.service().request('POST', path, { token: reader.token, body })).body
    }
    for (const large of [
      "select repeat('x', 4000000) from generate_series(1, 1000)",
      "select repeat('x', 100000000)",
    ]) {
      const { rows, error } = await ask(large)
      assert.deepEqual([rows, error?.code], [[], '54000'])
      assert.match(error.message, /larger than 16 MB/)
    }
    const { rows, error } = await ask("select repeat('x', 4000000)")
    assert.deepEqual([rows[0][0].length, error], [4_000_000, null])
  },
)

clause(
  'MASK-214',
  'A query runs as well where `MASQUERADE_GATEWAY_PROXIES` lists the address of the node itself, as it does for a proxy…',
  async () => {
    const reader = await people.user()
    await people.map(reader.id)
    const service = gateway.masking.service()
    const path = `${gateway.db}/query?${apiVersion}`
    const { body } = await service.request('POST', path, { token: reader.token, body: { sql: 'select 1' } })
    assert.deepEqual([body.rows, body.error], [[['1']], null])
    const client = gateway.connect('analyst')
    await assert.rejects(client, 'a client of that address tells none')
    const [entry] = await service.database.sql`
      select after from audit_event where action = 'gateway/connect' order by id desc limit 1`
    assert.equal(entry?.after.from, '127.0.0.1')
  },
)
