import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type DirectoryRole, directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { firstPartyApplications } from '../../../src/auth/first-party.ts'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { permissionId } from '../../../src/directory/applications/api-principal.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { type ApplicationWishes, addApplication } from '../../support/issuer.ts'
import { freshDatabase, useMasking } from '../../support/masking.ts'
import { hasAllVariants } from '../../support/postgres.ts'

const { service, send, putPolicy, bindReached, reachedDatabase } = useMasking()
const directory = () => fillDirectory(service())

type Registered = Awaited<ReturnType<typeof addApplication>>

const all = Object.keys(knownPermissions)
const grants = ['AppRoleAssignment.ReadWrite.All', 'DelegatedPermissionGrant.ReadWrite.All']
const ask = (token: string, method: string, path: string, body?: unknown) =>
  service().request(method, `/v1.0${path}`, { token, ...(body !== undefined && { body }) })
const refer = (id: string) => ({ '@odata.id': `https://x/v1.0/directoryObjects/${id}` })
const application = (...permissions: string[]) => service().tokenFor({ kind: 'application', permissions })
const person = async (roles: DirectoryRole[], permissions = all, principal?: string) =>
  service().tokenFor({
    principal: principal ?? (await directory().user()),
    permissions,
    directoryRoles: roles.map((role) => directoryRoleTemplates[role]),
  })

const assign = async (principalId: string, roleName: string, scope: string) => {
  const url = `${scope === '/' ? '' : scope}/providers/Vendor.Authorization/roleAssignments/${randomUUID()}`
  assert.equal((await send('PUT', url, { properties: { principalId, roleName } })).status, 201)
}
const map = async (principalId: string) => {
  const db = freshDatabase()
  const url = `${db}/roleMappings/x`
  assert.equal((await send('PUT', url, { properties: { principalId, databaseRole: 'payroll' } })).status, 201)
  await bindReached(db)
}
const exempt = async (entry: string) => {
  const db = freshDatabase()
  const put = await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: entry })
  assert.equal(put.status, 200)
  await bindReached(db)
}
const inGroup = async (principalId: string): Promise<string> => {
  const [inner, outer] = [await directory().group(), await directory().group()]
  await directory().join(principalId, inner)
  await directory().join(inner, outer)
  return outer
}

const register = (wishes: ApplicationWishes = {}) => addApplication(service(), wishes)
async function strengthen(give: (one: Registered) => Promise<unknown>, wishes: ApplicationWishes = {}) {
  const one = await register(wishes)
  await give(one)
  return one
}

/** Everything by which an application can be stronger than the permission to write applications. */
const strengths: Readonly<Record<string, () => Promise<Registered>>> = {
  'an application permission': () => register({ permissions: ['RoleManagement.ReadWrite.Directory'] }),
  'another application permission': () => register({ permissions: ['Mail.ReadWrite'] }),
  'a permission that one of the caller implies': () =>
    register({ permissions: ['Organization.ReadWrite.All'] }),
  'tenant consent': () => register({ consented: ['RoleManagement.ReadWrite.Directory'] }),
  'tenant consent for masking': () => register({ consented: ['user_impersonation'] }),
  'consent of one person': () =>
    strengthen(async ({ servicePrincipalId }) => {
      const { database, tenantId } = service()
      await database.sql`
        insert into delegated_permission (tenant_id, client_id, user_id, permission)
        values (${tenantId}, ${servicePrincipalId}, ${await directory().user()}, 'AppRoleAssignment.ReadWrite.All')`
    }),
  'a directory role': () =>
    strengthen(async ({ servicePrincipalId }) =>
      directory().join(servicePrincipalId, await directory().role()),
    ),
  'masking Owner at /': () =>
    strengthen(({ servicePrincipalId }) => assign(servicePrincipalId, 'Owner', '/')),
  'masking Reader of one database': () =>
    strengthen(async ({ servicePrincipalId }) =>
      assign(servicePrincipalId, 'Reader', await reachedDatabase()),
    ),
  'a masking role through groups': () =>
    strengthen(async ({ servicePrincipalId }) => {
      await reachedDatabase()
      await assign(await inGroup(servicePrincipalId), 'Contributor', '/subscriptions/sub-1')
    }),
  'a database role': () => strengthen(({ servicePrincipalId }) => map(servicePrincipalId)),
  'a database role through groups': () =>
    strengthen(async ({ servicePrincipalId }) => map(await inGroup(servicePrincipalId))),
  'exemption by id': () => strengthen(({ servicePrincipalId }) => exempt(servicePrincipalId)),
  'exemption by appId': () => strengthen(({ appId }) => exempt(appId.toUpperCase())),
  'exemption through groups': () =>
    strengthen(async ({ servicePrincipalId }) => exempt(await inGroup(servicePrincipalId))),
}

/** Every way into an application, and every way to change what it may do. */
async function waysIn({ applicationId, appId, servicePrincipalId }: Registered) {
  const [app, principal] = [`/applications/${applicationId}`, `/servicePrincipals/${servicePrincipalId}`]
  const user = await directory().user()
  const evil = 'https://evil.example/'
  const ways: [string, string, unknown?][] = [
    ['POST', `${app}/addPassword`, {}],
    ['POST', `${app}/removePassword`, { keyId: randomUUID() }],
    ['PATCH', app, { web: { redirectUris: [evil] } }],
    ['PATCH', `/applications/appId=${appId}`, { web: { redirectUris: [evil] } }],
    ['PATCH', app, { spa: { redirectUris: [evil] } }],
    ['PATCH', app, { publicClient: { redirectUris: [evil] } }],
    ['PATCH', app, { isFallbackPublicClient: true }],
    ['PATCH', app, { identifierUris: ['api://x'] }],
    ['PATCH', app, { signInAudience: 'AzureADMultipleOrgs' }],
    ['PATCH', app, { displayName: 'Another', notes: 'x' }],
    ['POST', `${app}/owners/$ref`, refer(user)],
    ['DELETE', app],
    ['DELETE', `/directoryObjects/${applicationId}`],
    ['PATCH', principal, { replyUrls: [evil] }],
    ['PATCH', principal, { accountEnabled: true }],
    ['PATCH', principal, { servicePrincipalNames: [appId, 'api://x'] }],
    ['PATCH', `/servicePrincipals/appId=${appId}`, { appRoleAssignmentRequired: true }],
    ['POST', `${principal}/owners/$ref`, refer(user)],
    ['DELETE', principal],
  ]
  return ways
}

test('DIR-154: nobody gets into an application that is stronger than they are', async () => {
  const owner = await directory().user()
  const weak = [
    application('Application.ReadWrite.All', 'Directory.ReadWrite.All', 'User.ReadWrite.All'),
    await person(['Application Administrator', 'Cloud Application Administrator', 'Groups Administrator']),
    await person([], all, owner),
    await person(['Global Administrator'], ['Application.ReadWrite.All', 'Directory.ReadWrite.All']),
  ]
  // In `npm test` each way into each strong application is tried by one of the callers, in turn.
  let turn = 0
  for (const [strength, make] of Object.entries(strengths)) {
    const one = await make()
    for (const id of [one.applicationId, one.servicePrincipalId])
      await service().database.sql`
        insert into owner_edge (tenant_id, object_id, owner_id) values (${service().tenantId}, ${id}, ${owner})`
    for (const [method, path, body] of await waysIn(one)) {
      turn++
      for (const [at, token] of weak.entries()) {
        if (!hasAllVariants && at !== turn % weak.length) continue
        const answer = await ask(token, method, path, body)
        assert.equal(answer.status, 403, `${strength}, caller ${at}: ${method} ${path}: ${answer.text}`)
        assert.match(
          answer.body.error.message,
          /^Insufficient privileges to complete the operation\. The application has /,
        )
      }
    }
    for (const token of weak)
      assert.equal(
        (await ask(token, 'PATCH', `/applications/${one.applicationId}`, { notes: 'x' })).status,
        204,
      )
  }
})

const own = (ownerId: string, objectId: string) =>
  service().database.sql`
    insert into owner_edge (tenant_id, object_id, owner_id) values (${service().tenantId}, ${objectId}, ${ownerId})`
const badge = () => ({
  name: `p${randomUUID().slice(0, 8)}`,
  dataType: 'String',
  targetObjects: ['User'],
})

clause(
  'DIR-415',
  'Extension properties of an application are defined and deleted only by a caller whom DIR-154 lets change the application: …',
  async () => {
    const [owner, bearer] = [await directory().user(), await directory().user()]
    const weak = [
      application('Application.ReadWrite.All'),
      await person(['Application Administrator']),
      await person([], all, owner),
    ]
    const strong = await person(['Global Administrator'])
    for (const [strength, make] of Object.entries(strengths)) {
      const { applicationId } = await make()
      await own(owner, applicationId)
      const path = `/applications/${applicationId}/extensionProperties`
      const made = await ask(strong, 'POST', path, badge())
      assert.equal(made.status, 201, made.text)
      const { id, name } = made.body
      assert.equal((await ask(strong, 'PATCH', `/users/${bearer}`, { [name]: '42' })).status, 204)
      for (const token of weak)
        for (const answer of [
          await ask(token, 'DELETE', `${path}/${id}`),
          await ask(token, 'POST', path, badge()),
        ]) {
          assert.equal(answer.status, 403, `${strength}: ${answer.text}`)
          assert.match(answer.body.error.message, /The application has /)
        }
      assert.equal((await ask(strong, 'GET', `/users/${bearer}?$select=${name}`)).body[name], '42')
      assert.equal((await ask(strong, 'DELETE', `${path}/${id}`)).status, 204)
    }
    const { applicationId } = await register()
    await own(owner, applicationId)
    const { applicationId: itself, appId } = await register({ consented: ['Directory.ReadWrite.All'] })
    const permissions = ['Application.ReadWrite.All']
    const callers = [
      ...weak.map((token) => ({ token, id: applicationId })),
      { token: service().tokenFor({ kind: 'application', permissions, applicationId: appId }), id: itself },
    ]
    for (const { token, id } of callers) {
      const path = `/applications/${id}/extensionProperties`
      const made = await ask(token, 'POST', path, badge())
      assert.equal(made.status, 201, made.text)
      assert.equal((await ask(token, 'DELETE', `${path}/${made.body.id}`)).status, 204)
    }
  },
)

clause(
  'DIR-416',
  'DIR-415 goes for schema extensions and the application in their `owner`, also for its owners. …',
  async () => {
    const [owner, bearer] = [await directory().user(), await directory().user()]
    const weak = await person([], all, owner)
    const strong = await person(['Global Administrator'])
    const schema = (appId: string) => ({
      id: 'badge',
      owner: appId,
      targetTypes: ['User'],
      properties: [{ name: 'number', type: 'String' }],
    })
    const tokenOf = async (appId: string, roles: DirectoryRole[], principal?: string) =>
      service().tokenFor({
        principal: principal ?? (await directory().user()),
        permissions: all,
        directoryRoles: roles.map((role) => directoryRoleTemplates[role]),
        applicationId: appId,
      })
    for (const [strength, make] of Object.entries(strengths)) {
      const { applicationId, appId } = await make()
      await own(owner, applicationId)
      const itself = await tokenOf(appId, ['Application Administrator'])
      const made = await ask(itself, 'POST', '/schemaExtensions', schema(appId))
      assert.equal(made.status, 201, made.text)
      const { id } = made.body
      const value = { [id]: { number: '42' } }
      assert.equal((await ask(strong, 'PATCH', `/users/${bearer}`, value)).status, 204)
      for (const answer of [
        await ask(weak, 'DELETE', `/schemaExtensions/${id}`),
        await ask(weak, 'PATCH', `/schemaExtensions/${id}`, { description: 'x' }),
        await ask(weak, 'POST', '/schemaExtensions', schema(appId)),
      ]) {
        assert.equal(answer.status, 403, `${strength}: ${answer.text}`)
        assert.match(answer.body.error.message, /The application has /)
      }
      assert.deepEqual((await ask(strong, 'GET', `/users/${bearer}?$select=${id}`)).body[id], value[id])
      assert.equal((await ask(itself, 'DELETE', `/schemaExtensions/${id}`)).status, 204)
    }
    const { applicationId, appId } = await register()
    await own(owner, applicationId)
    const made = await ask(weak, 'POST', '/schemaExtensions', schema(appId))
    assert.equal(made.status, 201, made.text)
    assert.equal((await ask(weak, 'DELETE', `/schemaExtensions/${made.body.id}`)).status, 204)
  },
)

clause(
  'DIR-431',
  'Schema extensions whose `owner` is an application of the service itself, as those have that are made with the …',
  async () => {
    const bearer = await directory().user()
    for (const { appId } of Object.values(firstPartyApplications)) {
      const tokenOf = async (role: DirectoryRole) =>
        service().tokenFor({
          principal: await directory().user(),
          permissions: all,
          directoryRoles: [directoryRoleTemplates[role]],
          applicationId: appId,
        })
      const strong = await tokenOf('Global Administrator')
      const schema = {
        id: 'level',
        targetTypes: ['User'],
        properties: [{ name: 'grade', type: 'String' }],
      }
      const made = await ask(strong, 'POST', '/schemaExtensions', schema)
      assert.equal(made.status, 201, made.text)
      assert.equal(made.body.owner, appId)
      const { id } = made.body
      const value = { [id]: { grade: 'top' } }
      assert.equal((await ask(strong, 'PATCH', `/users/${bearer}`, value)).status, 204)
      for (const role of ['Application Administrator', 'Cloud Application Administrator'] as const) {
        const weak = await tokenOf(role)
        for (const answer of [
          await ask(weak, 'DELETE', `/schemaExtensions/${id}`),
          await ask(weak, 'PATCH', `/schemaExtensions/${id}`, { status: 'Available' }),
          await ask(weak, 'POST', '/schemaExtensions', schema),
        ]) {
          assert.equal(answer.status, 403, answer.text)
          assert.match(answer.body.error.message, /own applications/)
        }
      }
      assert.deepEqual((await ask(strong, 'GET', `/users/${bearer}?$select=${id}`)).body[id], value[id])
      assert.equal((await ask(strong, 'DELETE', `/schemaExtensions/${id}`)).status, 204)
    }
  },
)

test('DIR-154: callers who could grant the same change such an application', async () => {
  for (const [strength, make] of Object.entries(strengths)) {
    for (const token of [
      application('Application.ReadWrite.All', 'RoleManagement.ReadWrite.Directory', ...grants),
      await person(['Global Administrator']),
    ]) {
      const one = await make()
      const at = `/applications/${one.applicationId}`
      assert.equal((await ask(token, 'POST', `${at}/addPassword`, {})).status, 200, strength)
      const change = { web: { redirectUris: ['https://good.example/'] } }
      assert.equal((await ask(token, 'PATCH', at, change)).status, 204, strength)
    }
  }
})

test('DIR-154: deleting and restoring is no way around, nor a new service principal', async () => {
  const strong = await person(['Global Administrator'])
  const weak = application('Application.ReadWrite.All', 'Directory.ReadWrite.All')
  const one = await register({ permissions: ['RoleManagement.ReadWrite.Directory'] })
  assert.equal((await ask(strong, 'DELETE', `/servicePrincipals/${one.servicePrincipalId}`)).status, 204)
  for (const [method, path, body] of [
    ['POST', `/applications/${one.applicationId}/addPassword`, {}],
    ['POST', `/directory/deletedItems/${one.servicePrincipalId}/restore`],
    ['DELETE', `/directory/deletedItems/${one.servicePrincipalId}`],
  ] as const)
    assert.equal((await ask(weak, method, path, body)).status, 403, path)
  assert.equal((await ask(strong, 'DELETE', `/applications/${one.applicationId}`)).status, 204)
  const restore = `/directory/deletedItems/${one.applicationId}/restore`
  assert.equal((await ask(weak, 'POST', restore)).status, 403)
  assert.equal((await ask(strong, 'POST', restore)).status, 200)

  const appId = randomUUID()
  await directory().add('application', { displayName: 'Exempt by its appId', appId })
  await exempt(appId)
  assert.equal((await ask(weak, 'POST', '/servicePrincipals', { appId })).status, 403)
  assert.equal((await ask(strong, 'POST', '/servicePrincipals', { appId })).status, 201)
})

test('DIR-154: grants to an application with other rights take these rights too', async () => {
  const resourceId = await directory().findApi()
  const one = await strengthen(({ servicePrincipalId }) => assign(servicePrincipalId, 'Owner', '/'))
  const { servicePrincipalId: principalId } = one
  const role = { principalId, resourceId, appRoleId: permissionId('User.Read.All') }
  const consent = { clientId: principalId, consentType: 'AllPrincipals', resourceId, scope: 'User.Read.All' }
  const granter = application('Application.Read.All', ...grants)
  const administrator = await person(['Application Administrator'])
  const assignments = `/servicePrincipals/${principalId}/appRoleAssignments`
  assert.equal((await ask(granter, 'POST', assignments, role)).status, 403)
  for (const token of [granter, administrator])
    assert.equal((await ask(token, 'POST', '/oauth2PermissionGrants', consent)).status, 403)
  const strong = application('Application.Read.All', 'RoleManagement.ReadWrite.Directory', ...grants)
  assert.equal((await ask(strong, 'POST', assignments, role)).status, 201)
  const made = await ask(strong, 'POST', '/oauth2PermissionGrants', consent)
  assert.equal(made.status, 201)
  for (const token of [granter, administrator])
    assert.equal((await ask(token, 'DELETE', `/oauth2PermissionGrants/${made.body.id}`)).status, 403)
})

test('DIR-154: an application rotates its own secret, and gets no nearer to its users', async () => {
  const permissions = ['Application.ReadWrite.All', 'Mail.ReadWrite']
  const own = async (wishes: ApplicationWishes) => {
    const one = await register(wishes)
    await assign(one.servicePrincipalId, 'Owner', '/subscriptions/sub-5')
    const token = service().tokenFor({
      kind: 'application',
      principal: one.servicePrincipalId,
      applicationId: one.appId,
      permissions,
    })
    return { token, path: `/applications/${one.applicationId}` }
  }
  const plain = await own({ permissions })
  assert.equal((await ask(plain.token, 'POST', `${plain.path}/addPassword`, {})).status, 200)
  const consented = await own({ permissions, consented: ['Group.ReadWrite.All'] })
  const change = { web: { redirectUris: ['https://evil.example/'] } }
  assert.equal((await ask(consented.token, 'PATCH', consented.path, change)).status, 403)
  assert.equal((await ask(consented.token, 'POST', `${consented.path}/addPassword`, {})).status, 403)
})

test('DIR-154: permissions that people consent to by themselves make no application strong', async () => {
  const one = await register({ consented: ['User.Read', 'openid', 'offline_access'] })
  await service().database.sql`
    insert into delegated_permission (tenant_id, client_id, user_id, permission)
    values (${service().tenantId}, ${one.servicePrincipalId}, ${await directory().user()}, 'Mail.ReadWrite')`
  for (const token of [application('Application.ReadWrite.All'), await person(['Application Administrator'])])
    assert.equal((await ask(token, 'POST', `/applications/${one.applicationId}/addPassword`, {})).status, 200)
  // With consent for everybody nobody is asked any more: a redirect address would be enough for the mail of others.
  const wide = await register({ consented: ['Mail.ReadWrite'] })
  const change = { web: { redirectUris: ['https://evil.example/'] } }
  const path = `/applications/${wide.applicationId}`
  assert.equal((await ask(application('Application.ReadWrite.All'), 'PATCH', path, change)).status, 403)
  assert.equal((await ask(await person(['Application Administrator']), 'PATCH', path, change)).status, 204)
})
