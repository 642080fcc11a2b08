import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { emailRule, useMasking } from '../../support/masking.ts'

const { service, send, putRule } = useMasking()

const version = 'api-version=2022-12-01'
const server = (subscription: string, group: string) =>
  `/subscriptions/${subscription}/resourceGroups/${group}/providers/Vendor.Sql/servers/s`

/** Declares a server in each place; returns the names, which no other test uses. */
async function declare(...places: [subscription: string, group: string][]): Promise<string> {
  const mark = randomUUID().slice(0, 8)
  for (const [subscription, group] of places)
    await send('PUT', server(`${subscription}-${mark}`, group), { location: 'here' })
  return mark
}

const ask = (path: string, request: Parameters<ReturnType<typeof service>['tokenFor']>[0]) =>
  service().request('GET', `${path}?${version}`, { token: service().tokenFor(request) })
// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
const namesOf = ({ body }: { body: any }): string[] =>
  body.value.map((one: { name?: string; subscriptionId: string }) => one.name ?? one.subscriptionId)

clause(
  'MASK-180',
  '`GET /subscriptions` lists the subscriptions that hold a server, a database or a role…',
  async () => {
    const mark = await declare(['One', 'g'], ['two', 'g'])
    const [one, two] = [`One-${mark}`, `two-${mark}`]
    const all = namesOf(await ask('/subscriptions', { role: 'Reader' }))
    assert.ok(all.includes(one) && all.includes(two))
    for (const scope of [
      `/subscriptions/${one}`,
      `/subscriptions/${one}/resourceGroups/g`,
      `${server(one, 'g')}/databases/d`,
    ]) {
      const request = { role: 'SQL Security Manager', scope } as const
      const { body } = await ask('/subscriptions', request)
      assert.deepEqual(namesOf({ body }), [one], scope)
      assert.deepEqual(body.count, { type: 'Total', value: 1 })
      assert.equal(body.value[0].tenantId, service().tenantId)
      assert.equal(body.value[0].state, 'Enabled')
      const shown = await ask(`/subscriptions/${one.toUpperCase()}`, request)
      assert.deepEqual(shown.body, body.value[0])
      const hidden = await ask(`/subscriptions/${two}`, request)
      assert.deepEqual([hidden.status, hidden.body.error.code], [404, 'SubscriptionNotFound'])
    }
    assert.equal((await ask(`/subscriptions/none-${mark}`, { role: 'Owner' })).status, 404)
    assert.equal((await ask(`/subscriptions/${one.slice(0, -1)}`, { role: 'Owner' })).status, 404)
  },
)

test('a subscription is there by a rule or a role assignment alone', async () => {
  const mark = randomUUID().slice(0, 8)
  const rule = `/subscriptions/rule-${mark}/resourceGroups/g/providers/Vendor.Sql/servers/s/databases/d`
  await putRule(rule, 'mail', emailRule)
  const scope = `/subscriptions/role-${mark}`
  assert.deepEqual(namesOf(await ask('/subscriptions', { role: 'Reader', scope })), [`role-${mark}`])
  const all = namesOf(await ask('/subscriptions', { role: 'Reader' }))
  assert.ok(all.includes(`rule-${mark}`) && all.includes(`role-${mark}`))
})

test('a caller without a role, or whose client may not use masking, sees nothing', async () => {
  const mark = await declare(['dark', 'g'])
  const owner = service().tokenFor({ role: 'Owner' })
  await service().tokens.settled()
  const { oid } = JSON.parse(Buffer.from(owner.split('.')[1] ?? '', 'base64url').toString())
  for (const request of [
    {},
    { kind: 'application', permissions: ['Directory.ReadWrite.All'] },
    { principal: oid, permissions: ['User.Read'] },
  ] as const) {
    assert.deepEqual((await ask('/subscriptions', request)).body.value, [])
    assert.equal((await ask(`/subscriptions/dark-${mark}`, request)).status, 404)
    assert.deepEqual((await ask(`/subscriptions/dark-${mark}/resourceGroups`, request)).body.value, [])
    assert.equal((await ask(`/subscriptions/dark-${mark}/resourceGroups/g`, request)).status, 404)
  }
})

clause('MASK-181', '`GET /subscriptions/{id}/resourceGroups` and the same with a name…', async () => {
  const mark = await declare(['sub', 'Alpha'], ['sub', 'beta'], ['other', 'gamma'])
  const list = `/subscriptions/sub-${mark}/resourceGroups`
  assert.deepEqual(namesOf(await ask(list, { role: 'Reader' })), ['Alpha', 'beta'])
  const request = { role: 'Reader', scope: server(`sub-${mark}`, 'Alpha') } as const
  const { body } = await ask(list, request)
  assert.deepEqual(body.value, [
    {
      id: `${list}/Alpha`,
      name: 'Alpha',
      type: 'Microsoft.Resources/resourceGroups',
      location: 'here',
      tags: {},
      properties: { provisioningState: 'Succeeded' },
    },
  ])
  assert.deepEqual((await ask(`${list}/alpha`, request)).body, body.value[0])
  const asked = { token: service().tokenFor(request) }
  assert.equal((await service().request('HEAD', `${list}/alpha?${version}`, asked)).status, 204)
  assert.equal((await service().request('HEAD', `${list}/beta?${version}`, asked)).status, 404)
  const hidden = await ask(`${list}/beta`, request)
  assert.deepEqual([hidden.status, hidden.body.error.code], [404, 'ResourceGroupNotFound'])
  assert.equal((await ask(`/subscriptions/other-${mark}/resourceGroups`, request)).body.value.length, 0)
  assert.equal((await send('PUT', `${list}/new`, { location: 'here' })).status, 405)
})

clause(
  'MASK-207',
  'The `location` of a resource group is one of a server or database that the caller may read, and `local`…',
  async () => {
    const group = `/subscriptions/placed-${randomUUID()}/resourceGroups/g`
    const database = (name: string) => `${group}/providers/Vendor.Sql/servers/s/databases/${name}`
    await send('PUT', database('hidden'), { location: 'a-secret-place' })
    await send('PUT', database('mine'), { location: 'here' })
    const locationFor = async (scope: string) =>
      (await ask(group, { role: 'Reader', scope })).body.location as string
    assert.equal(await locationFor(database('mine')), 'here')
    assert.equal(await locationFor(database('none')), 'local')
    assert.equal(await locationFor(group), 'a-secret-place')
  },
)

clause(
  'MASK-211',
  '`GET /subscriptions/{id}/locations` lists the locations of the servers and databases there that the caller may read, and `local`; …',
  async () => {
    const subscription = `/subscriptions/Located-${randomUUID()}`
    const at = (group: string) => `${subscription}/resourceGroups/${group}/providers/Vendor.Sql/servers/s`
    await send('PUT', at('g'), { location: 'here' })
    await send('PUT', `${at('g')}/databases/d`, { location: 'HERE' })
    await send('PUT', at('h'), { location: 'there' })
    const list = `${subscription}/locations`
    assert.deepEqual(namesOf(await ask(list, { role: 'Reader' })), ['HERE', 'there', 'local'])
    const request = { role: 'Reader', scope: at('h') } as const
    const { body } = await ask(list.toLowerCase(), request)
    assert.deepEqual(namesOf({ body }), ['there', 'local'])
    assert.deepEqual(body.value[0], {
      id: `${list}/there`,
      subscriptionId: subscription.split('/').at(-1),
      name: 'there',
      type: 'Region',
      displayName: 'there',
      regionalDisplayName: 'there',
      metadata: { regionType: 'Physical', regionCategory: 'Other' },
    })
    assert.deepEqual(namesOf(await ask(list, { role: 'Reader', scope: at('none') })), ['local'])
    for (const hidden of [{}, { role: 'Reader', scope: '/subscriptions/other' }] as const) {
      const answer = await ask(list, hidden)
      assert.deepEqual([answer.status, answer.body.error.code], [404, 'SubscriptionNotFound'])
    }
  },
)

clause(
  'MASK-212',
  '`GET /subscriptions/{id}/resources` and `/subscriptions/{id}/resourceGroups/{name}/resources` list, in pages, the servers and databases there that the caller may read, a database under the name `{server}/{database}`. …',
  async () => {
    const subscription = `/subscriptions/Held-${randomUUID()}`
    const at = (group: string) => `${subscription}/resourceGroups/${group}/providers/Vendor.Sql/servers/One`
    await send('PUT', at('g'), { location: 'here', tags: { Team: "o'neil and co" } })
    await send('PUT', `${at('g')}/databases/Shop`, { location: 'here' })
    await send('PUT', `${at('h')}/databases/other`, { location: 'there' })
    const list = `${subscription}/resources`
    const get = (query: string, request: Parameters<typeof ask>[1] = { role: 'Reader' }, path = list) =>
      service().request('GET', `${path}?${version}${query}`, { token: service().tokenFor(request) })
    const all = ['One', 'One/Shop', 'One/other']
    const { body } = await get('')
    assert.deepEqual(namesOf({ body }), all)
    assert.deepEqual(body.value[1], {
      id: `${at('g').replace('Vendor', 'Microsoft')}/databases/Shop`,
      name: 'One/Shop',
      type: 'Microsoft.Sql/servers/databases',
      kind: null,
      location: 'here',
      tags: {},
    })
    assert.equal(body.value[0].type, 'Microsoft.Sql/servers')
    const group = `${subscription.toUpperCase()}/RESOURCEGROUPS/G/resources`
    assert.deepEqual(namesOf(await get('', undefined, group)), all.slice(0, 2))
    const narrow = { role: 'Reader', scope: `${at('g')}/databases/Shop` } as const
    assert.deepEqual(namesOf(await get('', narrow)), ['One/Shop'])
    assert.deepEqual(namesOf(await get('', { role: 'SQL Security Manager' })), all)

    const filtered = async (filter: string) => {
      const answer = await get(`&$filter=${encodeURIComponent(filter)}`)
      return answer.status === 200 ? namesOf(answer) : answer.status
    }
    const filters: [filter: string, found: string[] | number][] = [
      ["resourceType eq 'microsoft.sql/Servers'", ['One']],
      ["resourceType eq 'Vendor.Sql/servers/databases'", ['One/Shop', 'One/other']],
      ["resourceType eq 'Other.Sql/servers'", []],
      ["resourceGroup eq 'H'", ['One/other']],
      ["name eq 'one/shop' and location eq 'HERE'", ['One/Shop']],
      ["name eq 'one/shop' and location eq 'there'", []],
      ["tagName eq 'team' and tagValue eq 'o''neil and co'", ['One']],
      ["tagValue eq 'other'", []],
      ["name eq 'a' or name eq 'b'", 400],
      ["name ne 'a'", 400],
      ["kind eq 'a'", 400],
      ["__proto__ eq 'a'", 400],
      ["name eq 'a' and", 400],
      ["name eq 'a\0'", 400],
    ]
    for (const [filter, found] of filters) assert.deepEqual(await filtered(filter), found, filter)

    const names: string[] = []
    let next: string | undefined = `${list}?${version}&$top=1&$filter=location%20eq%20'here'`
    for (let pages = 0; next; pages++) {
      assert.ok(pages < 3)
      const page = await service().request('GET', next, { token: service().tokenFor({ role: 'Reader' }) })
      names.push(...namesOf(page))
      next = page.body.nextLink
    }
    assert.deepEqual(names, all.slice(0, 2))
    const expanded = (await get('&$expand=createdTime,changedTime,provisioningState')).body.value[0]
    assert.equal(expanded.provisioningState, 'Succeeded')
    assert.ok(Date.now() - Date.parse(expanded.createdTime) < 600_000)
    for (const query of ['&$expand=secrets', '&$top=0', '&$top=1001', '&$skipToken=x', '&other=1'])
      assert.equal((await get(query)).status, 400, query)
    for (const [path, code] of [
      [list, 'SubscriptionNotFound'],
      [`${subscription}/resourceGroups/g/resources`, 'ResourceGroupNotFound'],
    ] as const) {
      const hidden = await get('', { role: 'Reader', scope: '/subscriptions/other' }, path)
      assert.deepEqual([hidden.status, hidden.body.error.code], [404, code])
    }
    assert.equal((await get('', undefined, `${subscription}/resourceGroups/none/resources`)).status, 404)
  },
)

clause('MASK-182', '`GET /tenants` answers every caller with the tenant of the token.', async () => {
  const { tenantId } = service()
  for (const request of [{}, { kind: 'application' }] as const) {
    const { body } = await ask('/tenants', request)
    assert.deepEqual(
      body.value.map((one: { tenantId: string }) => one.tenantId),
      [tenantId],
    )
    assert.equal(body.value[0].id, `/tenants/${tenantId}`)
  }
})

clause(
  'MASK-183',
  '`GET /providers`, `/subscriptions/{id}/providers` and the same with a namespace…',
  async () => {
    for (const path of ['/providers', '/subscriptions/sub-1/providers']) {
      const { body } = await ask(path, {})
      const names = body.value.map((one: { namespace: string }) => one.namespace)
      assert.deepEqual(names, [
        'Vendor.Sql',
        'Vendor.Authorization',
        'Vendor.Resources',
        'Microsoft.Sql',
        'Microsoft.Authorization',
        'Microsoft.Resources',
      ])
      const shown = (await ask(`${path}/microsoft.sql`, {})).body
      assert.deepEqual(shown, body.value[3])
      assert.equal(shown.id, `${path}/Microsoft.Sql`)
      assert.equal(shown.registrationState, 'Registered')
    }
    type Type = { resourceType: string; apiVersions: string[] }
    const { resourceTypes } = (await ask('/providers/Microsoft.Sql', {})).body as { resourceTypes: Type[] }
    const rules = resourceTypes.find(({ resourceType }) => resourceType === 'servers/databases')
    assert.ok(rules?.apiVersions.includes('2014-04-01') && rules.apiVersions.includes('2023-08-01'))
    assert.ok(resourceTypes.some(({ resourceType }) => resourceType === 'servers'))
    const operations = (await ask('/providers/Microsoft.Sql/operations', {})).body.value
    assert.ok(
      operations.some((one: { name: string }) => one.name === 'Microsoft.Sql/servers/databases/write'),
    )
    assert.ok(operations.every((one: { name: string }) => one.name.startsWith('Microsoft.Sql/')))
    for (const path of ['/providers/Other.Sql', '/providers/Other.Sql/operations']) {
      const unknown = await ask(path, {})
      assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'InvalidResourceNamespace'])
    }
  },
)

const roleIds = {
  Owner: '8e3af657-a8ff-443c-a75c-2fe8c4bcb635',
  Reader: 'acdd72a7-3385-48ef-bd42-f606fba81ae7',
}

clause(
  'MASK-184',
  '`GET {scope}/providers/Vendor.Authorization/roleDefinitions` and the same with an id…',
  async () => {
    const scope = '/subscriptions/defined'
    const list = `${scope}/providers/Microsoft.Authorization/roleDefinitions`
    const token = service().tokenFor({ role: 'Reader', scope })
    const get = (path: string) => service().request('GET', path, { token })
    const { body } = await get(`${list}?api-version=2022-04-01`)
    const roleNames = (value: { properties: { roleName: string } }[]) =>
      value.map(({ properties }) => properties.roleName)
    assert.deepEqual(roleNames(body.value), ['Owner', 'Contributor', 'SQL Security Manager', 'Reader'])
    const contributor = body.value[1]
    assert.equal(contributor.type, 'Microsoft.Authorization/roleDefinitions')
    assert.deepEqual(contributor.properties.permissions[0].notActions, [
      'Microsoft.Authorization/*/write',
      'Microsoft.Authorization/*/delete',
    ])
    const filtered = async (filter: string) => {
      const answer = await get(`${list}?api-version=2018-01-01-preview&$filter=${encodeURIComponent(filter)}`)
      return answer.status === 200 ? roleNames(answer.body.value) : answer.status
    }
    assert.deepEqual(await filtered("roleName eq 'reader'"), ['Reader'])
    assert.deepEqual(await filtered("atScopeAndBelow() and type eq 'BuiltInRole' and roleName eq 'Owner'"), [
      'Owner',
    ])
    assert.deepEqual(await filtered("type eq 'CustomRole'"), [])
    for (const filter of ["roleName eq 'a' or roleName eq 'b'", 'roleName', "startswith(roleName,'R')", ''])
      assert.equal(await filtered(filter), 400, filter)
    const one = await get(`${list}/${roleIds.Reader.toUpperCase()}?api-version=2022-04-01`)
    assert.deepEqual(one.body, body.value[3])
    const unknown = await get(`${list}/${randomUUID()}?api-version=2022-04-01`)
    assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'RoleDefinitionDoesNotExist'])
    assert.equal(
      (await get(`/providers/Microsoft.Authorization/roleDefinitions?api-version=2022-04-01`)).status,
      403,
    )
    const put = { token, body: { properties: { roleName: 'King' } } }
    const refused = await service().request('PUT', `${list}/${randomUUID()}?api-version=2022-04-01`, put)
    assert.equal(refused.status, 405)
  },
)

clause(
  'MASK-185',
  "`$filter` of role assignments takes `atScope()`, `principalId eq` and `assignedTo('{id}')`…",
  async () => {
    const { database, tenantId, tokenFor, request } = service()
    const [group, person] = [randomUUID(), randomUUID()]
    for (const [id, kind] of [
      [group, 'group'],
      [person, 'user'],
    ] as const)
      await database.sql`
      insert into directory_object (tenant_id, id, kind, properties)
      values (${tenantId}, ${id}, ${kind}, '{"displayName":"One","accountEnabled":true}')`
    await database.sql`insert into member_edge (tenant_id, container_id, member_id) values (${tenantId}, ${group}, ${person})`
    const scope = '/subscriptions/filtered'
    const url = `${scope}/providers/Vendor.Authorization/roleAssignments`
    for (const [at, principalId] of [
      [scope, group],
      [`${scope}/resourceGroups/g`, person],
    ] as const)
      await send('PUT', `${at}/providers/Vendor.Authorization/roleAssignments/${randomUUID()}`, {
        properties: { principalId, roleDefinitionId: roleIds.Reader },
      })
    const count = async (filter: string, caller: Parameters<typeof tokenFor>[0]) => {
      const sent = `${url}?api-version=2022-04-01&$filter=${encodeURIComponent(filter)}`
      const { status, body } = await request('GET', sent, { token: tokenFor(caller) })
      return status === 200 ? body.value.length : status
    }
    const reader = { role: 'Reader', permissions: ['Group.Read.All'] } as const
    assert.equal(await count(`principalId eq '${person}'`, reader), 1)
    assert.equal(await count(`assignedTo('${person}')`, reader), 2)
    assert.equal(await count(`atScope() and assignedTo('${person}')`, reader), 1)
    assert.equal(await count(`assignedTo('${person}')`, { role: 'Reader' }), 403)
    assert.equal(await count(`principalId eq '${person}'`, { role: 'Reader' }), 1)
    const self = { principal: person, permissions: ['user_impersonation'] }
    assert.equal(await count(`assignedTo('${person}')`, self), 2)
    assert.equal(await count(`assignedTo('${group}')`, self), 403)
    for (const filter of [`principalId eq '${person}')`, `assignedTo('${person}'`, "principalId eq 'x'", ''])
      assert.equal(await count(filter, reader), 400, filter)
  },
)
