import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { apiVersion, freshDatabase, useMasking } from '../../support/masking.ts'

const { service, sender, send } = useMasking()

const mappingsUrl = (db: string) => `${db}/roleMappings`
const mappingUrl = (db: string, name: string) => `${mappingsUrl(db)}/${encodeURIComponent(name)}`
const put = (db: string, name: string, properties: object, headers = {}) =>
  send('PUT', mappingUrl(db, name), { properties }, headers)
const list = async (db: string) => (await send('GET', mappingsUrl(db))).body.value
const user = () => service().tokens.shared.user

async function addObject(kind: string): Promise<string> {
  const id = randomUUID()
  const { database, tenantId } = service()
  await database.sql`
    insert into directory_object (tenant_id, id, kind, properties)
    values (${tenantId}, ${id}, ${kind}, '{"displayName":"Somebody"}')`
  return id
}

clause(
  'GATE-20',
  '`PUT {database}/roleMappings/{name}` gives a database role (`databaseRole`) to a user, a group or a service principal (`principalId`): 201 when the mapping is new, 200 when it was there, and the same when the request is sent again.',
  async () => {
    for (const namespace of ['Vendor.Sql', 'Microsoft.Sql']) {
      const db = freshDatabase(namespace)
      const principals = [
        ['User', user()],
        ['Group', await addObject('group')],
        ['ServicePrincipal', service().tokens.shared.servicePrincipal],
      ] as const
      for (const [principalType, principalId] of principals) {
        const sent = { databaseRole: 'Ana "lyst" ö', principalId: principalId.toUpperCase() }
        const created = await put(db, principalType, sent)
        assert.equal(created.status, 201, created.text)
        assert.deepEqual(created.body, {
          id: `${db}/roleMappings/${principalType}`,
          name: principalType,
          type: `${namespace}/servers/databases/roleMappings`,
          properties: { databaseRole: 'Ana "lyst" ö', principalId, principalType },
        })
        for (const again of [{ properties: sent }, created.body]) {
          const repeated = await send('PUT', mappingUrl(db, principalType), again)
          assert.equal(repeated.status, 200)
          assert.deepEqual(repeated.body, created.body)
        }
      }
      const changed = await put(db, 'User', { databaseRole: 'other', principalId: user() })
      assert.equal(changed.status, 200)
      assert.equal(changed.body.properties.databaseRole, 'other')
      assert.equal((await list(db)).length, 3)
    }
  },
)

clause(
  'GATE-21',
  '`GET` of a mapping shows it with its `principalType`, and without a name lists them all under `value`; `DELETE` is 200, and 204 when there was none. Names have 1 to 128 characters, none of them a control character; case does not tell them apart, and stays as it was first given. A mapping has an entity tag, and `If-Match` and `If-None-Match` count.',
  async () => {
    const db = freshDatabase()
    assert.deepEqual(await list(db), [])
    const odd = `A/n ä%?#\\ 'x' ${'🙂'.repeat(10)}`
    const created = await put(db, odd, { databaseRole: 'r', principalId: user() })
    assert.equal(created.status, 201, created.text)
    assert.equal((await send('GET', mappingUrl(db, odd.toUpperCase()))).body.name, odd)
    assert.equal(
      (await put(db, odd.toLowerCase(), { databaseRole: 'r', principalId: user() })).body.name,
      odd,
    )
    assert.deepEqual(await list(db), [created.body])
    assert.deepEqual((await send('GET', created.body.id)).body, created.body)

    const shown = await send('GET', mappingUrl(db, odd))
    const tag = shown.headers.get('etag') ?? ''
    const write = (headers: object) =>
      put(db, odd, { databaseRole: 'r2', principalId: user() }, { ...headers })
    assert.equal((await write({ 'if-none-match': '*' })).status, 412)
    assert.equal((await write({ 'if-match': '"0"' })).status, 412)
    assert.equal((await write({ 'if-match': tag })).status, 200)
    assert.equal(
      (await send('DELETE', mappingUrl(db, odd), undefined, { 'if-match': tag })).status,
      412,
      'the tag is an old one',
    )
    assert.equal((await send('DELETE', mappingUrl(db, odd))).status, 200)
    assert.equal((await send('DELETE', mappingUrl(db, odd))).status, 204)
    assert.equal((await send('DELETE', mappingUrl(freshDatabase(), odd))).status, 204)
    assert.equal((await send('GET', mappingUrl(db, odd))).status, 404)
    assert.equal((await put(db, 'x'.repeat(128), { databaseRole: 'r', principalId: user() })).status, 201)
    for (const name of ['x'.repeat(129), 'a\tb', 'a\u0000', 'a\u0085'])
      for (const method of ['PUT', 'GET', 'DELETE']) {
        const body = method === 'PUT' ? { properties: { databaseRole: 'q', principalId: user() } } : undefined
        const refused = await send(method, mappingUrl(db, name), body)
        assert.equal(refused.status, 400, `${method} ${JSON.stringify(name)}`)
      }
  },
)

test('a principal that was deleted is shown without a type', async () => {
  const db = freshDatabase()
  const principalId = await addObject('group')
  await put(db, 'm', { databaseRole: 'r', principalId })
  const { database } = service()
  await database.sql`update directory_object set deleted_at = now() where id = ${principalId}`
  assert.equal((await list(db))[0].properties.principalType, null)
  assert.equal((await put(db, 'm', { databaseRole: 'r', principalId })).status, 400)
  assert.equal((await send('DELETE', mappingUrl(db, 'm'))).status, 200)
})

clause(
  'GATE-22',
  'A `databaseRole` of no or more than 63 bytes, or a `principalId` that is no user, group or service principal of the directory, is 400 `InvalidRoleMapping` with one entry in `details` per field, and nothing is stored.',
  async () => {
    const db = freshDatabase()
    const good = { databaseRole: 'r', principalId: user() }
    const refused: [object, string[]][] = [
      [{ ...good, databaseRole: '' }, ['databaseRole']],
      [{ ...good, databaseRole: null }, ['databaseRole']],
      [{ principalId: user() }, ['databaseRole']],
      [{ ...good, databaseRole: 'x'.repeat(64) }, ['databaseRole']],
      [{ ...good, databaseRole: 'ö'.repeat(32) }, ['databaseRole']],
      [{ ...good, databaseRole: 'a\u0000b' }, ['databaseRole']],
      [{ databaseRole: 'r' }, ['principalId']],
      [{ ...good, principalId: '' }, ['principalId']],
      [{ ...good, principalId: randomUUID() }, ['principalId']],
      [{ ...good, principalId: `${user()}'; drop table role_mapping; --` }, ['principalId']],
      [{ ...good, principalId: await addObject('device') }, ['principalId']],
      [{ ...good, principalId: await addObject('application') }, ['principalId']],
      [{ ...good, principalId: await addObject('orgContact') }, ['principalId']],
      [{ ...good, principalType: 'Group' }, ['principalType']],
      [{}, ['databaseRole', 'principalId']],
    ]
    for (const [sent, fields] of refused) {
      const { status, body } = await put(db, 'refused', sent)
      assert.equal(status, 400, JSON.stringify(sent))
      assert.equal(body.error.code, 'InvalidRoleMapping', JSON.stringify(sent))
      assert.deepEqual(
        body.error.details.map(({ target }: { target: string }) => target),
        fields.map((field) => `properties.${field}`),
      )
    }
    for (const sent of [
      { ...good, databaseRole: 7 },
      { ...good, databaseRole: ['r'] },
      { ...good, principalId: {} },
      { ...good, privileges: 'all' },
    ])
      assert.equal((await put(db, 'refused', sent)).status, 400, JSON.stringify(sent))
    for (const body of [{}, { properties: null }, [], { properties: good, extra: 1 }, '{"properties":', ''])
      assert.equal((await send('PUT', mappingUrl(db, 'refused'), body)).status, 400, JSON.stringify(body))
    assert.deepEqual(await list(db), [])
    for (const databaseRole of ['x'.repeat(63), `'; drop table role_mapping; --`, '$$', '%', 'public'])
      assert.equal((await put(db, databaseRole, { ...good, databaseRole })).status, 201, databaseRole)
    assert.equal((await list(db)).length, 5)
  },
)

clause(
  'GATE-23',
  'One principal has one role by one mapping: a second one is 409 `Conflict`, and names the first.',
  async () => {
    const db = freshDatabase()
    const first = { databaseRole: 'r', principalId: user() }
    assert.equal((await put(db, 'First one', first)).status, 201)
    const second = await put(db, 'second', first)
    assert.equal(second.status, 409)
    assert.match(second.body.error.message, /'First one'/)
    assert.equal((await put(db, 'second', { ...first, databaseRole: 'R' })).status, 201)
    assert.equal((await put(db, 'second', first)).status, 409)
    assert.equal((await put(freshDatabase(), 'second', first)).status, 201)
    const raced = freshDatabase()
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => put(raced, name, first).then(({ status }) => status)),
    )
    assert.deepEqual(answers.sort(), [201, 409, 409, 409])
  },
)

clause(
  'GATE-27',
  '`Owner`, `Contributor` and `SQL Security Manager` read and write mappings, `Reader` reads them.',
  async () => {
    const db = freshDatabase()
    const body = { properties: { databaseRole: 'r', principalId: user() } }
    await send('PUT', mappingUrl(db, 'm'), body)
    const roles = [
      ['Owner', 200],
      ['Contributor', 200],
      ['SQL Security Manager', 200],
      ['Reader', 403],
      [undefined, 403],
    ] as const
    for (const [role, written] of roles) {
      const token = service().tokenFor(role ? { role, scope: db } : { permissions: ['user_impersonation'] })
      const status = async (method: string, path: string, sent?: object) =>
        (
          await service().request(method, `${path}?${apiVersion}`, {
            token,
            ...(sent && { body: sent }),
          })
        ).status
      const read = role ? 200 : 403
      assert.equal(await status('GET', mappingsUrl(db)), read, role)
      assert.equal(await status('GET', mappingUrl(db, 'm')), read, role)
      assert.equal(await status('PUT', mappingUrl(db, 'm'), body), written, role)
      assert.equal(await status('PUT', mappingUrl(freshDatabase(), 'm'), body), 403, role)
      assert.equal(await status('DELETE', mappingUrl(db, 'm')), written, role)
      await send('PUT', mappingUrl(db, 'm'), body)
    }
  },
)

clause(
  'GATE-28',
  'Writing and deleting a mapping is audited with the state before and after, and with the caller.',
  async () => {
    const db = freshDatabase()
    await put(db, 'M', { databaseRole: 'one', principalId: user() })
    await put(db, 'M', { databaseRole: 'two', principalId: user() })
    await put(db, 'refused', { databaseRole: 'two', principalId: user() })
    await send('DELETE', mappingUrl(db, 'm'))
    await put(db, 'kept', { databaseRole: 'three', principalId: user() })
    await send('DELETE', db)
    const { database } = service()
    const events = await database.sql`
      select action, actor ->> 'objectId' as who, before -> 'properties' ->> 'databaseRole' as before,
        after -> 'properties' ->> 'databaseRole' as after, before -> 'roleMappings' as gone
      from audit_event where target like ${`${db.toLowerCase()}%`} order by id`
    const action = 'Vendor.Sql/servers/databases/roleMappings'
    const who = sender()
    const gone = null
    assert.deepEqual(events.slice(0, 4), [
      { action: `${action}/write`, who, before: null, after: 'one', gone },
      { action: `${action}/write`, who, before: 'one', after: 'two', gone },
      { action: `${action}/delete`, who, before: 'two', after: null, gone },
      { action: `${action}/write`, who, before: null, after: 'three', gone },
    ])
    assert.equal(events[4]?.gone[0].properties.databaseRole, 'three')
  },
)
