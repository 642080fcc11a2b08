import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { emailRule, freshDatabase, policyUrl, rulesUrl, ruleUrl, useMasking } from '../../support/masking.ts'

const { service, send, putRule, putPolicy, listRules, getRule, getPolicy } = useMasking()

let bindings = 0
/** One that no other test of the file has: a database can be bound once. */
const freshBinding = () => ({
  host: '127.0.0.1',
  port: 1, // nothing listens there
  database: `shop${++bindings}`,
  user: 'masker',
  password: 'Open Sesame 7',
})
const bind = (db: string, sent: object) => send('PUT', db, { properties: { binding: sent } })

clause(
  'MASK-106',
  '`GET` and `DELETE` of `{db}/dataMaskingPolicies/Default/rules/{dataMaskingRuleName}` read and delete one rule; a GET of a rule that is not there is 404 `ResourceNotFound`.',
  async () => {
    const db = freshDatabase()
    const { body } = await putRule(db, 'r', emailRule)
    await putRule(db, 'other', { ...emailRule, columnName: 'other' })
    assert.deepEqual((await getRule(db, 'r')).body, body)
    const deleted = await send('DELETE', ruleUrl(db, 'r'))
    assert.equal(deleted.status, 200)
    assert.equal(deleted.text, '')
    const gone = await getRule(db, 'r')
    assert.equal(gone.status, 404)
    assert.equal(gone.body.error.code, 'ResourceNotFound')
    assert.equal((await send('DELETE', ruleUrl(db, 'r'))).status, 204)
    assert.equal((await listRules(db)).length, 1)
  },
)

clause(
  'MASK-107',
  'A server is declared by PUT of its own path `…/servers/{serverName}`, and a database is bound to a real PostgreSQL database by PUT of `…/servers/{serverName}/databases/{databaseName}`.',
  async () => {
    const server = '/subscriptions/S7/resourceGroups/G7/providers/Vendor.Sql/servers/Main'
    const db = `${server}/databases/Shop`
    assert.equal((await send('GET', server)).status, 404)
    const created = await send('PUT', server, { location: 'here', tags: { team: 'data' } })
    assert.equal(created.status, 201)
    assert.deepEqual(created.body, {
      id: server,
      name: 'Main',
      type: 'Vendor.Sql/servers',
      kind: null,
      location: 'here',
      tags: { team: 'data' },
      properties: { state: 'Ready' },
    })
    assert.equal((await send('PUT', server.toUpperCase(), created.body)).status, 200)
    assert.deepEqual((await send('GET', server)).body, created.body)

    const binding = freshBinding()
    const bound = await bind(db, binding)
    assert.equal(bound.status, 201)
    const { password: _, ...shown } = binding
    assert.deepEqual(bound.body.properties.binding, {
      ...shown,
      sslmode: 'disable',
      sslRootCertificate: null,
      authentication: 'scram-sha-256',
      passwordSet: true,
    })
    assert.deepEqual(bound.body.properties.connection, {
      state: 'Unreachable',
      serverVersion: null,
      reason: 'nothing listens at that host and port',
    })
    const read = (await send('GET', db)).body
    assert.equal(read.properties.enforcement.state, 'Pending')
    assert.equal((await send('PUT', db, read)).status, 200, 'what was read can be sent back')
    assert.equal((await send('GET', db)).body.properties.binding.passwordSet, true)

    const listed = (await send('GET', `${server}/databases`)).body.value
    assert.deepEqual(
      listed.map((one: { name: string }) => one.name),
      ['Shop'],
    )
    for (const place of ['/subscriptions/S7', '/subscriptions/S7/resourceGroups/G7'])
      assert.equal((await send('GET', `${place}/providers/Vendor.Sql/servers`)).body.value.length, 1)

    const full = await send('DELETE', server)
    assert.equal(full.status, 409)
    assert.match(full.body.error.message, /1 databases/)
    assert.equal((await send('DELETE', db)).status, 200)
    assert.equal((await send('DELETE', db)).status, 204)
    assert.equal((await send('DELETE', server)).status, 200)
    assert.equal((await send('GET', server)).status, 404)
  },
)

clause(
  'MASK-108',
  'The secrets of a binding can be written and never read back, and they are encrypted at rest.',
  async () => {
    const db = freshDatabase()
    const binding = freshBinding()
    const texts = [
      (await bind(db, binding)).text,
      (await send('GET', db)).text,
      (await send('GET', `${db.replace(/\/[^/]+$/, '')}`)).text,
      (await send('GET', `${db}/auditEvents`)).text,
      (await bind(db, { ...binding, port: 70_000 })).text,
      (await send('PUT', db, { properties: { binding: { ...binding, passwort: 1 } } })).text,
    ]
    for (const text of texts) assert.doesNotMatch(text, /Sesame/)
    const rows = await service().database.sql<{ binding: unknown; secret: Buffer; whole: string }[]>`
      select binding, binding_secret as secret, masked_database::text as whole from masked_database
      where binding_secret is not null`
    assert.ok(rows.length > 0)
    for (const { binding: stored, secret, whole } of rows) {
      assert.doesNotMatch(JSON.stringify(stored) + whole, /Sesame/)
      assert.ok(!secret.includes('Sesame'))
    }
    const audited = await service().database.sql<
      { event: string }[]
    >`select audit_event::text as event from audit_event`
    for (const { event } of audited) assert.doesNotMatch(event, /Sesame/)
  },
)

clause(
  'MASK-122',
  'A binding that a PUT of the database leaves out stays as it is, and null ends it. A password that is not sent again is kept only while host, port, database and user stay and TLS gets no weaker: else it is 400 `InvalidBinding`.',
  async () => {
    const db = freshDatabase()
    const binding = freshBinding()
    await bind(db, binding)
    await send('PUT', db, { properties: {} })
    assert.equal((await send('GET', db)).body.properties.binding.passwordSet, true)
    const { password: _, ...same } = binding
    for (const change of [
      { host: '127.0.0.2' },
      { port: 2 },
      { user: 'somebody' },
      // The role may read more there than the caller's scope reaches.
      { database: 'other' },
      {
        sslmode: 'verify-full',
        sslRootCertificate: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
      },
    ]) {
      const { status, body } = await bind(db, { ...same, ...change })
      assert.equal(status, 400, JSON.stringify(change))
      assert.equal(body.error.target, 'properties.binding.password')
    }
    assert.equal((await send('GET', db)).body.properties.binding.host, '127.0.0.1')
    assert.equal((await bind(db, { ...same, port: 2, password: 'new' })).status, 200)
    assert.equal(
      (await bind(db, { ...same, port: 2, password: null })).body.properties.binding.passwordSet,
      false,
    )
  },
)

test('a stored password is not sent over a weaker connection than it was given for', async () => {
  const db = freshDatabase()
  const binding = freshBinding()
  await bind(db, { ...binding, sslmode: 'require' })
  const { password: _, ...same } = binding
  assert.equal((await bind(db, { ...same, sslmode: 'verify-full' })).status, 200)
  assert.equal((await bind(db, { ...same, sslmode: 'require' })).status, 400)
  assert.equal((await bind(db, { ...same, sslmode: 'disable' })).status, 400)
})

test('a binding that cannot be is refused, with one entry per field, and nothing is stored', async () => {
  const db = freshDatabase()
  const binding = freshBinding()
  const cases: [object, string][] = [
    [{ host: '' }, 'host'],
    [{ host: '/var/run/postgresql' }, 'host'],
    [{ host: 'a b' }, 'host'],
    [{ host: 'a,,b' }, 'host'],
    [{ host: 'postgres://a' }, 'host'],
    [{ host: 'a:5432' }, 'host'],
    [{ port: 0 }, 'port'],
    [{ port: 65_536 }, 'port'],
    [{ database: '' }, 'database'],
    [{ database: 'x'.repeat(64) }, 'database'],
    [{ user: '' }, 'user'],
    [{ user: 'a\0b' }, 'user'],
    [{ password: 'a\0b' }, 'password'],
    [{ sslmode: 'verify-full', sslRootCertificate: 'nonsense' }, 'sslRootCertificate'],
    [
      { sslRootCertificate: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' },
      'sslRootCertificate',
    ],
  ]
  for (const [change, field] of cases) {
    const { status, body } = await bind(db, { ...binding, ...change })
    assert.equal(status, 400, JSON.stringify(change))
    assert.equal(body.error.code, 'InvalidBinding')
    assert.equal(body.error.details[0].target, `properties.binding.${field}`)
  }
  for (const [change, target] of [
    [{ port: '5432' }, 'properties.binding.port'],
    [{ port: 1.5 }, 'properties.binding.port'],
    [{ sslmode: 'prefer' }, 'properties.binding.sslmode'],
    [{ options: '-c x' }, 'properties.binding.options'],
    [{ host: undefined }, 'properties.binding.host'],
  ] as const) {
    const { status, body } = await bind(db, { ...binding, ...change })
    assert.equal(status, 400)
    assert.equal(body.error.target, target)
  }
  assert.equal((await send('GET', db)).status, 404)
})

clause(
  'MASK-113',
  'A database without a binding has rules and a policy all the same, and each answer about it carries the header `x-masquerade-enforcement: NotBound`.',
  async () => {
    const db = freshDatabase()
    for (const answer of [
      await getPolicy(db),
      await send('GET', rulesUrl(db)),
      await putRule(db, 'r', emailRule),
      await getRule(db, 'r'),
      await send('PUT', policyUrl(db), { properties: { dataMaskingState: 'Enabled' } }),
      await send('PUT', db, {}),
      await send('GET', db),
      await send('DELETE', ruleUrl(db, 'r')),
      await send('DELETE', ruleUrl(db, 'r')),
    ]) {
      assert.ok(answer.status < 300)
      assert.equal(answer.headers.get('x-masquerade-enforcement'), 'NotBound')
    }
  },
)

clause(
  'MASK-114',
  'On a bound database the header `x-masquerade-enforcement` is `Enforced`, `Observing`, `Off`, `NoRules`, `Pending` or `Failed`.',
  async () => {
    const db = freshDatabase()
    const binding = freshBinding()
    for (const answer of [
      await bind(db, binding),
      await putRule(db, 'r', emailRule),
      await send('GET', rulesUrl(db)),
      await getPolicy(db),
      await send('GET', db),
    ]) {
      assert.ok(answer.status < 300)
      // Its server is down.
      assert.match(answer.headers.get('x-masquerade-enforcement') ?? '', /^(Pending|Failed)$/)
    }
    await send('PUT', db, { tags: { still: 'bound' } })
    assert.notEqual((await send('GET', db)).body.properties.binding, null)
    await putPolicy(db, { dataMaskingState: 'Disabled' })
    assert.equal((await send('PUT', db, { properties: { binding: null } })).status, 200)
    assert.equal((await getPolicy(db)).headers.get('x-masquerade-enforcement'), 'NotBound')
  },
)

clause(
  'MASK-121',
  'A server that has databases cannot be deleted: 409 `Conflict`. A deleted database takes its rules, its policy and its binding along. While a bound database is masked, that is while its policy is `Enabled` and has rules, it can neither be deleted nor unbound: 409 `Conflict`.',
  async () => {
    const db = freshDatabase()
    const binding = freshBinding()
    await putRule(db, 'r', emailRule)
    const server = db.replace(/\/databases.*/, '')
    await send('PUT', server, {})
    const refused = await send('DELETE', server)
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'Conflict'])
    await bind(db, binding)
    for (const answer of [
      await send('DELETE', db),
      await send('PUT', db, { properties: { binding: null } }),
    ]) {
      assert.equal(answer.status, 409)
      assert.match(answer.body.error.message, /Set the policy to Disabled first/)
    }
    assert.equal((await listRules(db)).length, 1)
    await putPolicy(db, { dataMaskingState: 'Disabled' })
    assert.equal((await send('DELETE', db)).status, 200)
    assert.deepEqual(await listRules(db), [])
    assert.equal((await getPolicy(db)).body.properties.dataMaskingState, 'Disabled')
  },
)

test('a password that another key sealed is asked for again, and stops no rule', async () => {
  const db = freshDatabase()
  const binding = freshBinding()
  await bind(db, binding)
  await service().database.sql`
    update masked_database set binding_secret = set_byte(binding_secret, 0, 255 - get_byte(binding_secret, 0))
    where binding_secret is not null`
  const { password: _, ...same } = binding
  const refused = await bind(db, same)
  assert.deepEqual([refused.status, refused.body.error.target], [400, 'properties.binding.password'])
  assert.equal((await putRule(db, 'r', emailRule)).status, 201)
  assert.equal((await bind(db, binding)).status, 200)
})
