import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { apiVersion, freshDatabase, rulesUrl, useMasking } from '../../support/masking.ts'

const { service, sender, send } = useMasking()

const owner = '8e3af657-a8ff-443c-a75c-2fe8c4bcb635'
const db = freshDatabase()
const scopes = [
  '',
  '/subscriptions/sub-1',
  '/subscriptions/sub-1/resourceGroups/Group-1',
  db.replace(/\/databases.*/, ''),
  db,
]

const urlOf = (scope: string, id: string = randomUUID()) =>
  `${scope}/providers/Vendor.Authorization/roleAssignments/${id}`
const grant = (properties: object) => ({
  properties: { principalId: service().tokens.shared.user, ...properties },
})

async function addObject(kind: string): Promise<string> {
  const id = randomUUID()
  const { database, tenantId } = service()
  await database.sql`
    insert into directory_object (tenant_id, id, kind, properties)
    values (${tenantId}, ${id}, ${kind}, '{"displayName":"Somebody"}')`
  return id
}

clause(
  'MASK-201',
  '`GET {scope}/providers/Vendor.Authorization/permissions` lists the roles of the caller that count at the scope…',
  async () => {
    const person = await addObject('user')
    const token = service().tokenFor({ principal: person, permissions: ['user_impersonation'] })
    const rolesAt = async (scope: string) => {
      const url = `${scope}/providers/Vendor.Authorization/permissions?${apiVersion}`
      const { status, body, text } = await service().request('GET', url, { token })
      assert.equal(status, 200, text)
      return body.value
    }
    for (const scope of scopes) assert.deepEqual(await rolesAt(scope), [])
    const group = await addObject('group')
    await fillDirectory(service()).join(person, group)
    const server = scopes[3] ?? ''
    const url = urlOf(server)
    await send('PUT', url, { properties: { principalId: group, roleName: 'SQL Security Manager' } })
    for (const scope of scopes.slice(0, 3)) assert.deepEqual(await rolesAt(scope), [], scope)
    for (const scope of [server, db]) {
      const [role, ...others] = await rolesAt(scope)
      assert.deepEqual(others, [])
      assert.equal(role.roleName, 'SQL Security Manager')
      assert.ok(role.actions.includes('Vendor.Sql/servers/databases/dataMaskingPolicies/*'))
      assert.deepEqual(role.notActions, [])
    }
    await send('DELETE', url)
  },
)

clause(
  'MASK-200',
  "`GET /providers/Vendor.Sql/databases` lists, in pages, every database that the caller's roles allow to read…",
  async () => {
    const person = await addObject('user')
    const token = service().tokenFor({ principal: person, permissions: ['user_impersonation'] })
    const list = async () => {
      const { body } = await service().request('GET', `/providers/Vendor.Sql/databases?${apiVersion}`, {
        token,
      })
      return body.value as { id: string; properties: Record<string, unknown> }[]
    }
    const [mine, other] = [freshDatabase(), freshDatabase()]
    for (const path of [mine, other]) await send('PUT', path, {})
    const rule = { schemaName: 'public', tableName: 'person', columnName: 'email', maskingFunction: 'Email' }
    await send('PUT', `${rulesUrl(mine)}/mail`, { properties: rule })
    assert.deepEqual(await list(), [])
    const url = urlOf(mine)
    const put = await send('PUT', url, { properties: { principalId: person, roleName: 'Reader' } })
    assert.equal(put.status, 201, put.text)
    const [found, ...others] = await list()
    assert.deepEqual(others, [])
    assert.equal(found?.id, mine)
    assert.deepEqual(found?.properties, {
      subscriptionId: 'sub-1',
      resourceGroupName: 'Group-1',
      serverName: 'Srv',
      gatewayName: null,
      boundTo: null,
      dataMaskingState: 'Enabled',
      mode: 'Enforce',
      ruleCount: 1,
      rolesNotContained: 0,
      enforcement: {
        state: 'NotBound',
        since: null,
        reason: 'The database is not bound to a PostgreSQL: its rules are stored and nothing is masked.',
        driftRepairs: 0,
        lastDriftAt: null,
      },
      earlierFindings: { exposures: null, recommendations: null },
    })
    await send('DELETE', url)
  },
)

/** A person's token, and the list of databases as that person sees it. */
async function addReader(scope: string) {
  const principalId = await addObject('user')
  const put = await send('PUT', urlOf(scope), { properties: { principalId, roleName: 'Reader' } })
  assert.equal(put.status, 201, put.text)
  const token = service().tokenFor({ principal: principalId, permissions: ['user_impersonation'] })
  const { body } = await service().request('GET', `/providers/Vendor.Sql/databases?${apiVersion}`, { token })
  return { ids: body.value.map((one: { id: string }) => one.id), nextLink: body.nextLink }
}

clause(
  'MASK-205',
  'The databases that `GET /providers/Vendor.Sql/databases` hides fill no page: its `nextLink` is there when…',
  async () => {
    const { database, tenantId } = service()
    const mine = freshDatabase()
    assert.equal((await send('PUT', mine, {})).status, 201)
    await database.sql`
      insert into masked_database (id, tenant_id, key, subscription_id, resource_group, server_name, name, location)
      select gen_random_uuid(), ${tenantId},
        '/subscriptions/hidden/resourcegroups/g/providers/vendor.sql/servers/s/databases/secret-' || i,
        'hidden', 'g', 's', 'secret-' || i, 'local'
      from generate_series(1, 1001) i`
    assert.deepEqual(await addReader(mine), { ids: [mine], nextLink: undefined })
    await database.sql`delete from masked_database where subscription_id = 'hidden'`
  },
)

clause(
  'MASK-206',
  'A role at `/subscriptions/providers/resourceGroups/servers` counts there and below: names that are also…',
  async () => {
    const scope = '/subscriptions/providers/resourceGroups/servers'
    const path = `${scope}/providers/Vendor.Sql/servers/s/databases/d`
    assert.equal((await send('PUT', path, {})).status, 201)
    for (const at of [scope, path]) assert.deepEqual((await addReader(at)).ids, [path])
    assert.equal((await send('DELETE', path)).status, 200)
    const [{ count } = {}] = await service().database.sql<{ count: number }[]>`
      select count(*)::int as count from role_assignment where shown_scope = ${path}`
    assert.equal(count, 0, 'assignments end with the database')
  },
)

clause(
  'MASK-119',
  '`PUT`, `GET` and `DELETE` of `{scope}/providers/Vendor.Authorization/roleAssignments/{id}`…',
  async () => {
    const token = service().tokenFor({ permissions: ['user_impersonation'] })
    const mayRead = async () =>
      (await service().request('GET', `${rulesUrl(db)}?${apiVersion}`, { token })).status === 200
    for (const scope of scopes) {
      assert.equal(await mayRead(), false, scope)
      const url = urlOf(scope)
      const created = await send('PUT', url, grant({ roleName: 'Reader' }))
      assert.equal(created.status, 201, scope)
      assert.equal(created.body.id, url)
      assert.equal(created.body.properties.scope, scope || '/')
      assert.equal(created.body.properties.roleName, 'Reader')
      assert.equal(created.body.properties.principalType, 'User')
      assert.match(
        created.body.properties.roleDefinitionId,
        /roleDefinitions\/acdd72a7-3385-48ef-bd42-f606fba81ae7$/,
      )
      assert.equal(await mayRead(), true, scope)
      assert.deepEqual((await send('GET', url)).body, created.body)
      assert.equal((await send('PUT', url, created.body)).status, 200, 'what was read can be sent back')
      const listed = (await send('GET', urlOf(scope, '').replace(/\/$/, ''))).body.value
      assert.ok(listed.some((one: { name: string }) => one.name === created.body.name))
      assert.equal((await send('DELETE', url)).status, 200)
      assert.equal((await send('DELETE', url)).status, 204)
      assert.equal((await send('GET', url)).status, 404)
      assert.equal(await mayRead(), false, scope)
    }
  },
)

test('roles are named by the ids that tools know, or by their names', async () => {
  for (const roleDefinitionId of [
    owner,
    `/subscriptions/sub-1/providers/Microsoft.Authorization/roleDefinitions/${owner.toUpperCase()}`,
  ]) {
    const url = urlOf(db)
    const { body } = await send('PUT', url, grant({ roleDefinitionId }))
    assert.equal(body.properties.roleName, 'Owner')
    await send('DELETE', url)
  }
  for (const [sent, field] of [
    [{}, 'roleDefinitionId'],
    [{ roleDefinitionId: randomUUID() }, 'roleDefinitionId'],
    [{ roleName: 'King' }, 'roleName'],
    [{ roleName: 'Reader', roleDefinitionId: owner }, 'roleName'],
    [{ roleName: 'Reader', principalId: randomUUID() }, 'principalId'],
    [{ roleName: 'Reader', principalId: 'nobody' }, 'principalId'],
    [{ roleName: 'Reader', principalId: await addObject('device') }, 'principalId'],
    [{ roleName: 'Reader', principalType: 'Group' }, 'principalType'],
  ] as const) {
    const url = urlOf(db)
    const { status, body } = await send('PUT', url, grant(sent))
    assert.equal(status, 400, JSON.stringify(sent))
    assert.equal(body.error.code, 'InvalidRoleAssignment')
    assert.equal(body.error.target, `properties.${field}`)
    assert.equal((await send('GET', url)).status, 404)
  }
  assert.equal((await send('PUT', urlOf(db, 'no-uuid'), grant({ roleName: 'Reader' }))).status, 400)
})

test('groups and service principals hold roles too, in the namespace that was used', async () => {
  for (const [kind, type] of [
    ['group', 'Group'],
    ['servicePrincipal', 'ServicePrincipal'],
  ] as const) {
    const url = urlOf(db).replaceAll('Vendor.', 'Microsoft.')
    const { status, body } = await send('PUT', `${url}?api-version=2022-04-01`, {
      properties: { principalId: await addObject(kind), roleName: 'sql security manager' },
    })
    assert.equal(status, 201)
    assert.equal(body.id, url)
    assert.equal(body.type, 'Microsoft.Authorization/roleAssignments')
    assert.equal(body.properties.roleName, 'SQL Security Manager')
    assert.equal(body.properties.principalType, type)
  }
})

test('an assignment never becomes another', async () => {
  const url = urlOf(db)
  await send('PUT', url, grant({ roleName: 'Reader' }))
  const other = await addObject('user')
  for (const [place, sent] of [
    [url, grant({ roleName: 'Owner' })],
    [url, { properties: { principalId: other, roleName: 'Reader' } }],
    [url.replace(db, '/subscriptions/sub-1'), grant({ roleName: 'Reader' })],
    [urlOf(db), grant({ roleName: 'Reader' })],
  ] as const)
    assert.equal((await send('PUT', place, sent)).status, 409)
  assert.equal((await send('GET', url.replace(db, '/subscriptions/sub-1'))).status, 404)
  assert.equal((await send('DELETE', url.replace(db, '/subscriptions/sub-1'))).status, 204)
  assert.equal((await send('GET', url)).body.properties.roleName, 'Reader')
  await send('DELETE', url)
})

test('the list has what counts at the scope and what is below, and can be narrowed', async () => {
  const principalId = await addObject('user')
  const urls = scopes.map((scope) => urlOf(scope))
  for (const url of urls) await send('PUT', url, { properties: { principalId, roleName: 'Reader' } })
  const list = async (scope: string, filter: string) => {
    const url = `${scope}/providers/Vendor.Authorization/roleAssignments?${apiVersion}&$filter=${encodeURIComponent(filter)}`
    const { body } = await send('GET', url)
    return body.value.filter(
      (one: { properties: { principalId: string } }) => one.properties.principalId === principalId,
    ).length
  }
  const mine = `principalId eq '${principalId}'`
  for (const [at, scope] of scopes.entries()) {
    assert.equal(await list(scope, mine), 5)
    assert.equal(await list(scope, 'atScope()'), at + 1)
  }
  const beside = db.replace('Srv', 'Beside')
  assert.equal(await list(beside, mine), 3)
  const { status } = await send(
    'GET',
    `/subscriptions/s/providers/Vendor.Authorization/roleAssignments?${apiVersion}&$filter=x`,
  )
  assert.equal(status, 400)
})

test('the last Owner of everything cannot be removed, not even by two at once', async () => {
  const { database, tenantId } = service()
  await database.sql`
    delete from role_assignment where scope = '/' and role = 'Owner' and principal_id <> ${sender()}`
  const [last] = await database.sql<{ id: string }[]>`
    select id from role_assignment where tenant_id = ${tenantId} and scope = '/' and role = 'Owner'`
  const refused = await send('DELETE', urlOf('', last?.id))
  assert.equal(refused.status, 409)
  assert.match(refused.body.error.message, /last Owner/)

  const ghost = await addObject('user')
  const ghostUrl = urlOf('')
  await send('PUT', ghostUrl, { properties: { principalId: ghost, roleName: 'Owner' } })
  await database.sql`update directory_object set deleted_at = now() where id = ${ghost}`
  assert.equal((await send('DELETE', urlOf('', last?.id))).status, 409, 'a deleted user is no Owner')
  assert.equal((await send('DELETE', ghostUrl)).status, 200)

  const second = urlOf('')
  const token = service().tokenFor({ permissions: ['user_impersonation'] })
  await send('PUT', second, grant({ roleName: 'Owner' }))
  const answers = await Promise.all([
    send('DELETE', urlOf('', last?.id)),
    service().request('DELETE', `${second}?${apiVersion}`, { token }),
  ])
  const remaining = await database.sql`
    select 1 from role_assignment where tenant_id = ${tenantId} and scope = '/' and role = 'Owner'`
  assert.equal(remaining.length, 1, JSON.stringify(answers.map(({ status }) => status)))
})

test('DIR-293: of assignments from before, those of creators who have been Owner at / since then count as theirs', async () => {
  const { database, tenantId } = service()
  const [early, late, inner] = [await addObject('user'), await addObject('user'), await addObject('user')]
  const insert = async (principal: string, scope: string, hour: number, creator: string | null) => {
    const id = randomUUID()
    await database.sql`
      insert into role_assignment (id, tenant_id, scope, shown_scope, role, principal_id, created_by, created_at)
      values (${id}, ${tenantId}, ${scope}, ${scope}, 'Owner', ${principal}, ${creator},
        timestamptz '2026-01-01' + ${hour} * interval '1 hour')`
    return id
  }
  await insert(early, '/', 1, null)
  await insert(late, '/', 3, null)
  await insert(inner, '/subscriptions/sub-9', 1, null)
  const byEarly = await insert(await addObject('user'), '/subscriptions/sub-9', 2, early)
  const others = [late, inner].map(async (creator) =>
    insert(await addObject('user'), '/subscriptions/sub-9', 2, creator),
  )
  const made = [byEarly, ...(await Promise.all(others))]
  const migration = await readFile(
    new URL('../../../sql/0050-roles-by-root-owners.sql', import.meta.url),
    'utf8',
  )
  await database.sql.unsafe(migration.slice(migration.indexOf('update role_assignment')))
  const known = await database.sql<{ id: string }[]>`
    select id from role_assignment where id = any(${made}::uuid[]) and by_root_owner`
  assert.deepEqual(
    known.map(({ id }) => id),
    [byEarly],
  )
})
