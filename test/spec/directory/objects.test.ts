import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { caller, everything } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('directory objects', () => {
  let service: TestService
  let token: string

  before(async () => {
    service = await startTestService()
    token = service.tokenFor({ kind: 'application', permissions: everything })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = caller(
    () => service,
    () => token,
  )

  let names = 0
  const newUser = (properties: object = {}) => ({
    accountEnabled: true,
    displayName: 'Ada Example',
    mailNickname: `ada${++names}`,
    userPrincipalName: `ada${names}@example.com`,
    passwordProfile: { password: 'a long-winded Phrase 42' },
    ...properties,
  })
  const newGroup = (properties: object = {}) => ({
    displayName: 'Readers',
    mailEnabled: false,
    mailNickname: `readers${++names}`,
    securityEnabled: true,
    ...properties,
  })
  const newDevice = (properties: object = {}) => ({
    displayName: 'Laptop',
    accountEnabled: true,
    deviceId: randomUUID(),
    operatingSystem: 'Linux',
    operatingSystemVersion: '6',
    ...properties,
  })

  const families = [
    { set: 'users', make: newUser, update: { jobTitle: 'Engineer' }, restorable: true },
    { set: 'applications', make: () => ({ displayName: 'Wiki' }), update: { notes: 'x' }, restorable: true },
    {
      set: 'contacts',
      make: () => ({ displayName: 'Bo' }),
      update: { mail: 'bo@example.org' },
      restorable: false,
    },
    { set: 'devices', make: newDevice, update: { isManaged: true }, restorable: false },
  ]

  clause(
    'DIR-134',
    'Users, groups, servicePrincipals, applications, contacts, devices, organization and directoryRoles can be created, read, updated, deleted and listed.',
    async () => {
      for (const { set, make, update, restorable } of families) {
        const { id, ...created } = (await call('POST', `/${set}`, 201, make())).body
        assert.match(created['@odata.context'], new RegExp(`/v1\\.0/\\$metadata#${set}/\\$entity$`))
        await call('PATCH', `/${set}/${id}`, 204, update)
        const select = Object.keys(update).join(',')
        const read = await call('GET', `/${set}/${id}?$select=${select}`, 200)
        for (const [name, value] of Object.entries(update)) assert.deepEqual(read.body[name], value)
        const list = await call('GET', `/${set}?$top=999`, 200)
        assert.ok(list.body.value.some((item: { id: string }) => item.id === id))
        await call('DELETE', `/${set}/${id}`, 204)
        await call('GET', `/${set}/${id}`, 404)
        await call('GET', `/directory/deletedItems/${id}`, restorable ? 200 : 404)
      }
      const group = (await call('POST', '/groups', 201, newGroup())).body
      assert.equal((await call('GET', `/groups/${group.id}`, 200)).body.displayName, 'Readers')
      await call('DELETE', `/groups/${group.id}`, 204)
    },
  )

  test('an application has a service principal, which takes over its name', async () => {
    const app = (await call('POST', '/applications', 201, { displayName: 'Payroll' })).body
    const principal = (await call('POST', '/servicePrincipals', 201, { appId: app.appId })).body
    assert.equal(principal.displayName, 'Payroll')
    assert.deepEqual(principal.servicePrincipalNames, [app.appId])
    const twice = await call('POST', '/servicePrincipals', 400, { appId: app.appId })
    assert.match(twice.body.error.message, /same value for property appId already exists/)
    await call('POST', '/servicePrincipals', 400, { appId: randomUUID() })

    for (const path of [`/applications(appId='${app.appId}')`, `/servicePrincipals(appId='${app.appId}')`])
      assert.equal((await call('GET', path, 200)).body.appId, app.appId)

    await call('DELETE', `/applications/${app.id}`, 204)
    await call('GET', `/servicePrincipals/${principal.id}`, 404)
    await call('POST', `/directory/deletedItems/${app.id}/restore`, 200)
    await call('GET', `/servicePrincipals/${principal.id}`, 200)
  })

  test('a directory role is activated from its template, once', async () => {
    const templates = (await call('GET', '/directoryRoleTemplates', 200)).body.value
    const template = templates.find((one: { displayName: string }) => one.displayName === 'Directory Readers')
    const role = (await call('POST', '/directoryRoles', 201, { roleTemplateId: template.id })).body
    assert.equal(role.displayName, 'Directory Readers')
    await call('POST', '/directoryRoles', 400, { roleTemplateId: template.id })
    await call('POST', '/directoryRoles', 400, { roleTemplateId: randomUUID() })
    const read = await call('GET', `/directoryRoles(roleTemplateId='${template.id}')`, 200)
    assert.equal(read.body.id, role.id)
    await call('DELETE', `/directoryRoles/${role.id}`, 405)
  })

  test('the organization is there from the start and is the tenant', async () => {
    const [organization] = (await call('GET', '/organization', 200)).body.value
    assert.equal(organization.id, service.tenantId)
    await call('PATCH', `/organization/${organization.id}`, 204, { city: 'Ghent' })
    assert.equal((await call('GET', `/organization/${organization.id}`, 200)).body.city, 'Ghent')
    await call('DELETE', `/directoryObjects/${organization.id}`, 404)
  })

  clause(
    'DIR-03',
    'The directory holds users, groups, service principals, organizational contacts and devices, and the…',
    async () => {
      const user = (await call('POST', '/users', 201, newUser())).body
      const contact = (await call('POST', '/contacts', 201, { displayName: 'Bo' })).body
      const device = (await call('POST', '/devices', 201, newDevice())).body
      const group = (await call('POST', '/groups', 201, newGroup())).body
      const ids = [user.id, contact.id, device.id, group.id]
      const found = (await call('POST', '/directoryObjects/getByIds', 200, { ids: [...ids, randomUUID()] }))
        .body.value
      const types = new Map(found.map((item: Record<string, string>) => [item.id, item['@odata.type']]))
      assert.deepEqual(
        ids.map((id) => types.get(id)),
        ['#vendor.graph.user', '#vendor.graph.orgContact', '#vendor.graph.device', '#vendor.graph.group'],
      )
      const some = await call('POST', '/directoryObjects/getByIds', 200, { ids, types: ['user', 'device'] })
      assert.equal(some.body.value.length, 2)
      const one = await call('GET', `/directoryObjects/${device.id}`, 200)
      assert.equal(one.body['@odata.type'], '#vendor.graph.device')
    },
  )

  clause('DIR-02', 'The namespace of the service is `vendor.graph`.', async () => {
    const user = (await call('POST', '/users', 201, newUser())).body
    assert.equal(
      (await call('GET', `/directoryObjects/${user.id}`, 200)).body['@odata.type'],
      '#vendor.graph.user',
    )
    const unknown = await call('GET', '/users?$select=nothing', 400)
    assert.match(unknown.body.error.message, /'vendor\.graph\.user'/)
  })

  clause('DIR-14', '`displayName` is a string and required when a group is created.', async () => {
    const { displayName: _, ...nameless } = newGroup()
    const answer = await call('POST', '/groups', 400, nameless)
    assert.equal(
      answer.body.error.message,
      "A value is required for property 'displayName' of resource 'Group'.",
    )
    for (const displayName of [null, '', ' ', 7, true, ['a'], { a: 1 }, 'x'.repeat(257)])
      await call('POST', '/groups', 400, { ...nameless, displayName })
  })

  test('the default set of a group leaves out what only $select shows', async () => {
    const { id } = (await call('POST', '/groups', 201, newGroup())).body
    const hidden = [
      'allowExternalSenders',
      'autoSubscribeNewMembers',
      'hideFromAddressLists',
      'hideFromOutlookClients',
      'isSubscribedByMail',
      'unseenCount',
      'subscriptionEnabled',
    ]
    const usual = (await call('GET', `/groups/${id}`, 200)).body
    for (const name of hidden) assert.ok(!(name in usual), name)
    const asked = (await call('GET', `/groups/${id}?$select=${hidden.join(',')}`, 200)).body
    assert.deepEqual(
      hidden.map((name) => asked[name]),
      [false, false, false, false, true, 0, true],
    )
    for (const name of hidden.slice(0, 6))
      await call('POST', '/groups', 400, newGroup({ [name]: asked[name] }))
  })

  test('the mail address of a group follows from its alias', async () => {
    const unified = {
      groupTypes: ['Unified'],
      mailEnabled: true,
      mailNickname: 'crew',
      securityEnabled: false,
    }
    const { id, ...created } = (await call('POST', '/groups', 201, newGroup(unified))).body
    assert.match(created.mail, /^crew@[a-z.]+$/)
    assert.deepEqual(created.proxyAddresses, [`SMTP:${created.mail}`])
    const mail = async () => (await call('GET', `/groups/${id}`, 200)).body.mail
    await call('PATCH', `/groups/${id}`, 204, { mailNickname: 'sailors' })
    assert.equal(await mail(), created.mail.replace('crew', 'sailors'))
    await call('PATCH', `/groups/${id}`, 204, { mailEnabled: false })
    assert.equal(await mail(), null)
    await call('POST', '/groups', 400, newGroup({ mail: 'x@example.com' }))
  })

  test('a group is not created with what the caller could not update', async () => {
    await call('POST', '/groups', 403, newGroup({ preferredDataLocation: 'EUR' }))
    const labels = [{ labelId: randomUUID(), displayName: 'Secret' }]
    await call('POST', '/groups', 400, newGroup({ assignedLabels: labels }))
    const labelled = newGroup({ assignedLabels: labels, groupTypes: ['Unified'] })
    const { id } = (await call('POST', '/groups', 201, labelled)).body
    assert.deepEqual(
      (await call('GET', `/groups/${id}?$select=assignedLabels`, 200)).body.assignedLabels,
      labels,
    )
  })

  test('a deleted user is restored as it was, unless its name is taken', async () => {
    const user = (await call('POST', '/users', 201, newUser())).body
    await call('DELETE', `/users/${user.id}`, 204)
    const deleted = (await call('GET', '/directory/deletedItems/microsoft.graph.user?$top=999', 200)).body
      .value
    assert.ok(deleted.some((item: { id: string }) => item.id === user.id))
    const other = (await call('POST', '/users', 201, newUser({ userPrincipalName: user.userPrincipalName })))
      .body
    const taken = await call('POST', `/directory/deletedItems/${user.id}/restore`, 400)
    assert.match(taken.body.error.message, /property userPrincipalName already exists/)
    await call('DELETE', `/users/${other.id}`, 204)
    await call('DELETE', `/directory/deletedItems/${other.id}`, 204)
    await call('POST', `/directory/deletedItems/${user.id}/restore`, 200)
    assert.equal((await call('GET', `/users/${user.userPrincipalName}`, 200)).body.id, user.id)
    await call('GET', `/directory/deletedItems/${other.id}`, 404)
  })

  test('a write under If-Match happens only to the state it names', async () => {
    const created = await call('POST', '/contacts', 201, { displayName: 'Bo' })
    const path = `/contacts/${created.body.id}`
    const first = created.headers.get('etag') ?? ''
    assert.equal(first, created.body['@odata.etag'])
    await call('PATCH', path, 204, { mail: 'a@example.org' }, { 'if-match': first })
    await call('PATCH', path, 412, { mail: 'b@example.org' }, { 'if-match': first })
    await call('DELETE', path, 412, undefined, { 'if-match': first })
    assert.equal((await call('GET', path, 200)).body.mail, 'a@example.org')
    await call('DELETE', path, 204, undefined, { 'if-match': '*' })
  })

  test('every write is one entry of the change log', async () => {
    const { id } = (await call('POST', '/users', 201, newUser())).body
    await call('PATCH', `/users/${id}`, 204, { city: 'Ghent' })
    await call('DELETE', `/users/${id}`, 204)
    await call('POST', `/directory/deletedItems/${id}/restore`, 200)
    await call('DELETE', `/directoryObjects/${id}`, 204)
    await call('DELETE', `/directory/deletedItems/${id}`, 204)
    const rows = await service.database.sql<{ kind: string; entity: string }[]>`
      select kind, entity from change_log where entity_id = ${id} order by revision`
    assert.deepEqual(
      rows.map(({ kind }) => kind),
      ['created', 'updated', 'deleted', 'restored', 'deleted', 'purged'],
    )
    assert.ok(rows.every(({ entity }) => entity === 'user'))
  })
})
