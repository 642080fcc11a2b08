import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { permissionId } from '../../../src/directory/applications/api-principal.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { addApplication, addPerson, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, signIn, singlePage } from '../../support/sign-in.ts'

const noRole = '00000000-0000-0000-0000-000000000000'
const granting = ['AppRoleAssignment.ReadWrite.All']

describe('roles of applications', () => {
  let service: TestService
  let directory: TestDirectory

  before(async () => {
    service = await startTestService()
    trustService(service)
    directory = fillDirectory(service)
  })
  after(() => service?.[Symbol.asyncDispose]())

  const ask = (method: string, path: string, body?: unknown, permissions: readonly string[] = granting) =>
    service.request(method, `/v1.0${path}`, {
      token: service.tokenFor({ kind: 'application', permissions }),
      ...(body !== undefined && { body }),
    })
  const role = (value: string, allowedMemberTypes = ['User']) => ({
    id: randomUUID(),
    value,
    displayName: value,
    description: value,
    allowedMemberTypes,
    isEnabled: true,
  })

  /** An application with the roles, written as clients do. */
  async function addWithRoles(roles: readonly object[]) {
    const made = await addApplication(service, { properties: singlePage, consented: ['openid', 'User.Read'] })
    const path = `/applications/${made.applicationId}`
    const { status, text } = await ask('PATCH', path, { appRoles: roles }, ['Application.ReadWrite.All'])
    assert.equal(status, 204, text)
    return made
  }

  clause(
    'DIR-272',
    '`appRoleAssignments` of users and groups, and `appRoleAssignedTo` of a service principal, list, give and take the roles that an application defines in `appRoles`; …',
    async () => {
      const [reader, daemon] = [role('Reader'), role('Daemon', ['Application'])]
      const { servicePrincipalId: resourceId } = await addWithRoles([reader, daemon])
      const principals = { users: await directory.user(), groups: await directory.group() }
      for (const [set, principalId] of Object.entries(principals)) {
        const path = `/${set}/${principalId}/appRoleAssignments`
        const body = { principalId, resourceId, appRoleId: reader.id }
        assert.equal((await ask('POST', path, body, ['Directory.ReadWrite.All'])).status, 403)
        const made = await ask('POST', path, body)
        assert.equal(made.status, 201, made.text)
        assert.deepEqual(
          [made.body.appRoleId, made.body.principalId, made.body.resourceId, made.body.principalType],
          [reader.id, principalId, resourceId, set === 'users' ? 'User' : 'Group'],
        )
        assert.equal((await ask('POST', path, body)).status, 409)
        const listed = await ask('GET', `${path}?$filter=resourceId eq ${resourceId}`, undefined, [
          'Directory.Read.All',
        ])
        assert.deepEqual(listed.body.value, [without(made.body)])
        assert.equal((await ask('GET', path, undefined, ['User.Read.All', 'Group.Read.All'])).status, 403)
        const one = await ask('GET', `${path}/${made.body.id}`)
        assert.deepEqual(without(one.body), without(made.body))
        const wrong = [
          { ...body, appRoleId: daemon.id },
          { ...body, appRoleId: noRole },
          { ...body, appRoleId: randomUUID() },
          { ...body, principalId: resourceId },
          { ...body, resourceId: 'x' },
        ]
        for (const sent of wrong) {
          const { status, text } = await ask('POST', path, sent)
          assert.ok(status === 400 || status === 404, `${JSON.stringify(sent)}: ${text}`)
        }
      }
      const to = `/servicePrincipals/${resourceId}/appRoleAssignedTo`
      const readers = ['Application.Read.All']
      const all = await ask('GET', `${to}?$count=true&$top=1`, undefined, readers)
      assert.deepEqual([all.body['@odata.count'], all.body.value.length], [2, 1])
      const second = await ask(
        'GET',
        new URL(all.body['@odata.nextLink']).href.split('/v1.0')[1] ?? '',
        undefined,
        readers,
      )
      const ids = [...all.body.value, ...second.body.value].map(({ principalId }) => principalId)
      assert.deepEqual(ids.toSorted(), Object.values(principals).toSorted())
      const [{ id, principalId }] = all.body.value
      const at = `${to}/${id}`
      assert.equal((await ask('DELETE', at, undefined, [...granting, ...readers])).status, 204)
      assert.equal((await ask('DELETE', at, undefined, [...granting, ...readers])).status, 404)
      const set = principalId === principals.users ? 'users' : 'groups'
      const left = await ask('GET', `/${set}/${principalId}/appRoleAssignments`)
      assert.deepEqual(left.body.value, [])
    },
  )

  test('DIR-272: people assign roles of applications that they own, and roles of this API to no user', async () => {
    const reader = role('Reader')
    const { servicePrincipalId: resourceId, applicationId } = await addWithRoles([reader])
    const [owner, other, user] = [await directory.user(), await directory.user(), await directory.user()]
    await service.database.sql`
      insert into owner_edge (tenant_id, object_id, owner_id) values (${service.tenantId}, ${applicationId}, ${owner})`
    const path = `/v1.0/users/${user}/appRoleAssignments`
    const body = { principalId: user, resourceId, appRoleId: reader.id }
    const as = (principal: string) => ({
      token: service.tokenFor({ principal, permissions: granting }),
      body,
    })
    assert.equal((await service.request('POST', path, as(other))).status, 403)
    assert.equal((await service.request('POST', path, as(owner))).status, 201)
    const permission = {
      ...body,
      resourceId: await directory.findApi(),
      appRoleId: permissionId('User.Read.All'),
    }
    assert.equal((await ask('POST', `/users/${user}/appRoleAssignments`, permission)).status, 400)
    const audited = await service.database.sql<{ after: unknown }[]>`
      select after from masquerade.audit_event where action = 'grant app role' and target = ${`/users/${user}`}`
    assert.deepEqual(
      audited.map((entry) => entry.after),
      [{ resourceId, appRoleId: reader.id }],
    )
  })

  test('DIR-272: roles that an application drops end their assignments, and malformed roles are 400', async () => {
    const [kept, dropped] = [role('Kept'), role('Dropped')]
    const { servicePrincipalId: resourceId, applicationId } = await addWithRoles([kept, dropped])
    const principalId = await directory.user()
    for (const { id: appRoleId } of [kept, dropped])
      await ask('POST', `/users/${principalId}/appRoleAssignments`, { principalId, resourceId, appRoleId })
    const write = ['Application.ReadWrite.All']
    assert.equal(
      (await ask('PATCH', `/applications/${applicationId}`, { appRoles: [kept] }, write)).status,
      204,
    )
    const left = await ask('GET', `/users/${principalId}/appRoleAssignments`)
    assert.deepEqual(
      left.body.value.map(({ appRoleId }: { appRoleId: string }) => appRoleId),
      [kept.id],
    )
    const principal = await ask('GET', `/servicePrincipals/${resourceId}`, undefined, [
      'Application.Read.All',
    ])
    assert.deepEqual(
      principal.body.appRoles.map(({ value }: { value: string }) => value),
      ['Kept'],
    )
    const wrong = [
      [{ ...kept, id: noRole }],
      [{ ...kept, allowedMemberTypes: [] }],
      [{ ...kept, allowedMemberTypes: ['Everyone'] }],
      [kept, { ...dropped, value: 'Kept' }],
      [kept, { ...dropped, id: kept.id }],
      [{ ...kept, value: 'two words' }],
    ]
    for (const appRoles of wrong)
      assert.equal((await ask('PATCH', `/applications/${applicationId}`, { appRoles }, write)).status, 400)
  })

  clause(
    'DIR-273',
    'The id token of a user has the claim `roles` with the values of the roles that the user holds of the client, through groups at any depth as well. …',
    async () => {
      const [reader, writer] = [role('Reader'), role('Writer')]
      const { servicePrincipalId: resourceId, appId } = await addWithRoles([reader, writer])
      const person = await addPerson(service)
      const claims = async () => {
        const { url, exchange } = await beginSignIn(service, appId, 'openid User.Read')
        const browser = new Browser('https://client.example')
        const page = await signIn(browser, await browser.open(url), person)
        return (await exchange(page)).claims()
      }
      assert.equal((await claims())?.roles, undefined)
      const [inner, outer] = [await directory.group(), await directory.group()]
      await directory.join(person.id, inner)
      await directory.join(inner, outer)
      for (const [set, principalId, appRoleId] of [
        ['users', person.id, reader.id],
        ['groups', outer, writer.id],
      ])
        await ask('POST', `/${set}/${principalId}/appRoleAssignments`, { principalId, resourceId, appRoleId })
      assert.deepEqual((await claims())?.roles, ['Reader', 'Writer'])
      const required = { appRoleAssignmentRequired: true }
      const change = await ask('PATCH', `/servicePrincipals/${resourceId}`, required, [
        'Application.ReadWrite.All',
        'DelegatedPermissionGrant.ReadWrite.All',
      ])
      assert.equal(change.status, 204, change.text)
      assert.deepEqual((await claims())?.roles, ['Reader', 'Writer'])
      const stranger = await addPerson(service)
      const { url } = await beginSignIn(service, appId, 'openid User.Read')
      const browser = new Browser('https://client.example')
      const refused = await signIn(browser, await browser.open(url), stranger)
      assert.equal(refused.url.searchParams.get('error'), 'access_denied')
      assert.equal(refused.url.searchParams.get('code'), null)
    },
  )
})

function without({ '@odata.context': _, ...rest }: Record<string, unknown>) {
  return rest
}
