import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { lockAssignments } from '../../../src/masking/role-assignments/confirm-role.ts'
import { clause } from '../../support/clause.ts'
import { apiVersion, emailRule, policyUrl, ruleUrl, useMasking } from '../../support/masking.ts'
import { waitUntil } from '../../support/wait-until.ts'

const { service, send, putRule } = useMasking()

/** A database on a server of its own. */
function freshPlace() {
  const server = `/subscriptions/sub-1/resourceGroups/Group-1/providers/Vendor.Sql/servers/${randomUUID()}`
  return { server, db: `${server}/databases/Shop` }
}
const rolesUrl = (scope: string, id = '') => `${scope}/providers/Vendor.Authorization/roleAssignments/${id}`
const namesAt = async (scope: string): Promise<string[]> =>
  (await send('GET', rolesUrl(scope).replace(/\/$/, ''))).body.value
    .filter(({ properties }: { properties: { scope: string } }) => properties.scope.startsWith(scope))
    .map(({ name }: { name: string }) => name)
const statusFor = async (token: string, method: string, path: string, body?: unknown) =>
  (await service().request(method, `${path}?${apiVersion}`, { token, ...(body !== undefined && { body }) }))
    .status
const eventsFor = async (token: string, scope: string): Promise<{ action: string; resourceId: string }[]> =>
  (await service().request('GET', `${scope}/auditEvents?${apiVersion}`, { token })).body.value

clause(
  'MASK-160',
  'Deleting a database or a server ends the role assignments at it and below it, each with an audit…',
  async () => {
    const { server, db } = freshPlace()
    await send('PUT', server, {})
    await send('PUT', db, {})
    const beside = `${db}2`
    const inside = service().tokenFor({ role: 'Contributor', scope: db })
    const above = service().tokenFor({ role: 'Contributor', scope: server })
    const neighbour = service().tokenFor({ role: 'Reader', scope: beside })
    assert.equal(await statusFor(inside, 'PUT', ruleUrl(db, 'r'), { properties: emailRule }), 201)
    assert.equal((await namesAt(server)).length, 3)

    assert.equal((await send('DELETE', db)).status, 200)
    assert.equal((await namesAt(server)).length, 2, 'a longer name is another database')
    await send('PUT', db, {})
    assert.equal(await statusFor(inside, 'GET', db), 403, 'the role was for the database that is gone')
    assert.equal(await statusFor(inside, 'PUT', ruleUrl(db, 'r'), { properties: emailRule }), 403)
    assert.equal(await statusFor(above, 'GET', db), 200)
    assert.equal(await statusFor(neighbour, 'GET', `${beside}/dataMaskingPolicies/Default`), 200)

    assert.equal((await send('DELETE', db)).status, 200)
    assert.equal((await send('DELETE', server)).status, 200)
    await send('PUT', server, {})
    assert.equal(await statusFor(above, 'GET', server), 403)
    assert.equal(await statusFor(neighbour, 'GET', `${beside}/dataMaskingPolicies/Default`), 403)
    assert.deepEqual(await namesAt(server), [])

    const ended = (await send('GET', `${server}/auditEvents`)).body.value.filter(
      ({ action }: { action: string }) => action === 'Vendor.Authorization/roleAssignments/delete',
    )
    assert.deepEqual(
      ended.map(
        (event: { before: { properties: { roleName: string } } }) => event.before.properties.roleName,
      ),
      ['Reader', 'Contributor', 'Contributor'],
    )
  },
)

test('assignments at a database and a server that were never declared end with them as well', async () => {
  const { server, db } = freshPlace()
  await putRule(db, 'r', emailRule)
  const above = service().tokenFor({ role: 'Contributor', scope: server })
  const inside = service().tokenFor({ role: 'Contributor', scope: db })
  assert.equal((await send('DELETE', server)).status, 204)
  assert.equal(await statusFor(inside, 'GET', db), 200, 'the server has databases: nothing ends')
  assert.equal(await statusFor(above, 'GET', db), 200)
  await send('DELETE', db)
  assert.equal((await send('DELETE', server)).status, 204)
  await putRule(db, 'r', emailRule)
  assert.equal(await statusFor(inside, 'GET', db), 403)
  assert.equal(await statusFor(above, 'GET', db), 403)
})

test('a deletion that is refused ends nothing', async () => {
  const { server, db } = freshPlace()
  await send('PUT', server, {})
  await send('PUT', db, {})
  const inside = service().tokenFor({ role: 'Reader', scope: db })
  assert.equal((await send('DELETE', server)).status, 409)
  assert.equal((await send('DELETE', db, undefined, { 'if-match': '"1"' })).status, 412)
  assert.equal(await statusFor(inside, 'GET', db), 200)
})

/** Commits the deletion of a database after a request of a caller with a role at that database waits for it. */
async function deleteAround(
  role: 'Owner' | 'Contributor',
  request: (token: string, db: string) => Promise<number>,
) {
  const { db } = freshPlace()
  await send('PUT', db, {})
  const token = service().tokenFor({ role, scope: db })
  assert.equal(await statusFor(token, 'GET', db), 200)
  const { database } = service()
  let begun: Promise<number> | undefined
  await database.transaction(async (tx) => {
    await lockAssignments(tx)
    await tx`delete from masked_database where key = ${db.toLowerCase()}`
    begun = request(token, db)
    await waitUntil('the request waits', async () => {
      const waiting = await database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.count > 0
    })
    await tx`delete from role_assignment where scope = ${db.toLowerCase()}`
  })
  return { status: await begun, db }
}

test('an Owner of a database assigns no role there while the database is deleted', async () => {
  const principalId = service().tokens.shared.user
  const { status, db } = await deleteAround('Owner', (token, at) =>
    statusFor(token, 'PUT', rolesUrl(at, randomUUID()), {
      properties: { principalId, roleName: 'Contributor' },
    }),
  )
  assert.equal(status, 403)
  assert.deepEqual(await namesAt(db), [])
})

const planted: Readonly<Record<string, (db: string) => [string, object]>> = {
  'a rule': (db) => [ruleUrl(db, 'r'), emailRule],
  'an exemption': (db) => [policyUrl(db), { dataMaskingState: 'Enabled', exemptPrincipals: 'eve' }],
  'a mapping': (db) => [
    `${db}/roleMappings/m`,
    { principalId: service().tokens.shared.user, databaseRole: 'payroll' },
  ],
}
for (const [what, plant] of Object.entries(planted))
  test(`a Contributor of a database leaves no ${what.split(' ')[1]} in its place while it is deleted`, async () => {
    const { status, db } = await deleteAround('Contributor', (token, at) => {
      const [url, properties] = plant(at)
      return statusFor(token, 'PUT', url, { properties })
    })
    assert.equal(status, 403)
    const rows = await service().database.sql`select from masked_database where key = ${db.toLowerCase()}`
    assert.equal(rows.count, 0)
  })

clause(
  'MASK-161',
  'The audit of an earlier server or database of the same name is shown to callers who may read the…',
  async () => {
    const { server, db } = freshPlace()
    await send('PUT', server, {})
    await putRule(db, 'earlier', emailRule)
    await send('DELETE', db)
    await putRule(db, 'present', emailRule)
    const inside = service().tokenFor({ role: 'Reader', scope: db })
    const above = service().tokenFor({ role: 'Reader', scope: server })
    const rulesIn = async (token: string) =>
      (await eventsFor(token, db)).flatMap(({ resourceId }) => /rules\/(\w+)$/.exec(resourceId)?.[1] ?? [])
    assert.deepEqual(await rulesIn(inside), ['present'])
    assert.deepEqual(await rulesIn(above), ['present', 'earlier'])
    const early = `${db}/auditEvents?${apiVersion}&from=2020-01-01`
    const { body } = await service().request('GET', early, { token: inside })
    assert.equal(JSON.stringify(body).includes('earlier'), false, 'nor for a time that the caller says')

    await service().database.sql`
      insert into audit_event (at, tenant_id, actor, action, target, after)
      select now() - interval '1 hour', ${service().tenantId}, '{}', 'gateway/touch', ${db.toLowerCase()},
        '{"role": "old", "statements": [{"count": 1, "wouldMask": ["public.person.email"]}]}'`
    const report = await send('GET', `${policyUrl(db)}/report?api-version=2026-11-01&since=2020-01-01`)
    assert.deepEqual(report.body.gateway, [])
  },
)

test('MASK-161: a role that is given while the name is free shows nothing of the earlier database or server', async () => {
  const { server, db } = freshPlace()
  const namesIn = async (token: string, scope: string, query = '') => {
    const answer = await service().request('GET', `${scope}/auditEvents?${apiVersion}${query}`, { token })
    assert.equal(answer.status, 200, answer.text)
    return [...new Set(answer.text.match(/\b(earlier|present)\b/g))]
  }
  await send('PUT', server, {})
  await putRule(db, 'earlier', emailRule)
  await send('DELETE', db)
  await service().database.sql`
    insert into audit_event (tenant_id, actor, action, target, after)
    select ${service().tenantId}, '{"kind": "databaseRole", "objectId": "earlier", "applicationId": ""}', 'gateway/touch',
      ${db.toLowerCase()}, '{"role": "earlier", "statements": [{"count": 1, "wouldMask": ["public.person.email"]}]}'`
  const inside = service().tokenFor({ role: 'Owner', scope: db })
  for (const query of ['', '&from=2020-01-01', '&from=2020-01-01T00:00:00%2B00:00'])
    assert.deepEqual(await namesIn(inside, db, query), [], query)
  const reportUrl = `${policyUrl(db)}/report?api-version=2026-11-01&since=2020-01-01`
  const report = await service().request('GET', reportUrl, { token: inside })
  assert.equal(report.status, 200, report.text)
  assert.deepEqual(report.body.gateway, [])

  await send('DELETE', server)
  const above = service().tokenFor({ role: 'Reader', scope: server })
  for (const scope of [server, db]) assert.deepEqual(await namesIn(above, scope), [], scope)
  await putRule(db, 'present', emailRule)
  for (const scope of [server, db]) assert.deepEqual(await namesIn(above, scope), ['present'], scope)
  await send('PUT', server, {})
  for (const scope of [server, db]) assert.deepEqual(await namesIn(above, scope), [], scope)
  await putRule(db, 'present', { ...emailRule, columnName: 'moved' })
  for (const scope of [server, db]) assert.deepEqual(await namesIn(above, scope), ['present'], scope)
  const group = service().tokenFor({ role: 'Reader', scope: server.replace(/\/providers\/.*/, '') })
  for (const scope of [server, db])
    assert.deepEqual(await namesIn(group, scope), ['present', 'earlier'], scope)
})
