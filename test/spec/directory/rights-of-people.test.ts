import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type DirectoryRole, directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { effectiveRights, findRight, type RightName } from '../../../src/auth/effective-rights.ts'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { permissionId } from '../../../src/directory/applications/api-principal.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { addApplication } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const refused = 'Insufficient privileges to complete the operation.'
const permissions = Object.keys(knownPermissions)
const extension = { '@odata.type': '#vendor.graph.openTypeExtension', extensionName: 'a.b', x: 1 }
const roleNames = Object.keys(directoryRoleTemplates) as DirectoryRole[]

describe('rights of people', () => {
  let service: TestService
  let directory: TestDirectory

  before(async () => {
    service = await startTestService({ MASQUERADE_EVERYONE_CREATES: 'none' })
    directory = fillDirectory(service)
  })
  after(() => service?.[Symbol.asyncDispose]())

  const ask = (token: string, method: string, path: string, body?: unknown, at = service) =>
    at.request(method, `/v1.0${path}`, { token, ...(body !== undefined && { body }) })
  const refer = (id: string) => ({ '@odata.id': `https://x/v1.0/directoryObjects/${id}` })
  const own = (ownerId: string, objectId: string) =>
    service.database.sql`
      insert into owner_edge (tenant_id, object_id, owner_id) values (${service.tenantId}, ${objectId}, ${ownerId})`
  const newGroup = () => ({
    displayName: 'New',
    mailEnabled: false,
    mailNickname: `n-${randomUUID()}`,
    securityEnabled: true,
  })
  const newUser = () => ({
    accountEnabled: true,
    displayName: 'New',
    mailNickname: 'new',
    userPrincipalName: `new-${randomUUID()}@example.com`,
    passwordProfile: { password: 'a long-winded Phrase 42' },
  })

  clause(
    'DIR-156',
    'A delegated token writes what its permissions allow and the signed-in person may do as well: by a directory role, …',
    async () => {
      const clerk = await directory.user()
      const [victim, group, device] = [
        await directory.user(),
        await directory.group(),
        await directory.device(),
      ]
      const { applicationId, servicePrincipalId } = await addApplication(service)
      await directory.join(victim, group)
      const token = service.tokenFor({ principal: clerk, permissions })
      const attempts: [string, string, unknown?][] = [
        ['PATCH', `/users/${victim}`, { accountEnabled: false }],
        ['PATCH', `/users/${victim}`, { city: 'Ghent' }],
        ['PATCH', `/users/${clerk}`, { jobTitle: 'Boss' }],
        ['PATCH', '/me', { accountEnabled: true }],
        ['PATCH', '/me', { userPrincipalName: 'boss@example.com' }],
        ['DELETE', `/users/${victim}`],
        ['DELETE', `/directoryObjects/${victim}`],
        ['POST', '/users', newUser()],
        ['POST', '/groups', newGroup()],
        ['PATCH', `/groups/${group}`, { description: 'mine' }],
        ['PATCH', `/groups/${group}`, { 'members@odata.bind': [refer(clerk)['@odata.id']] }],
        ['POST', `/groups/${group}/members/$ref`, refer(clerk)],
        ['DELETE', `/groups/${group}/members/${victim}/$ref`],
        ['POST', `/groups/${group}/owners/$ref`, refer(clerk)],
        ['DELETE', `/groups/${group}`],
        ['POST', `/groups/${group}/extensions`, extension],
        ['POST', '/applications', { displayName: 'Mine' }],
        ['POST', `/applications/${applicationId}/addPassword`, {}],
        ['PATCH', `/applications/${applicationId}`, { web: { redirectUris: ['https://evil.example/'] } }],
        ['POST', `/applications/${applicationId}/owners/$ref`, refer(clerk)],
        ['PATCH', `/servicePrincipals/${servicePrincipalId}`, { accountEnabled: false }],
        ['PATCH', `/devices/${device}`, { displayName: 'mine' }],
        ['POST', '/directoryRoles', { roleTemplateId: directoryRoleTemplates['Global Reader'] }],
        ['POST', '/contacts', { displayName: 'Mine' }],
      ]
      for (const [method, path, body] of attempts) {
        const answer = await ask(token, method, path, body)
        assert.equal(answer.status, 403, `${method} ${path}: ${answer.text}`)
        assert.equal(answer.body.error.code, 'Authorization_RequestDenied')
        assert.ok(
          answer.body.error.message.startsWith(`${refused} The signed-in person may not `),
          answer.text,
        )
      }
      assert.equal((await ask(token, 'PATCH', '/me', { city: 'Ghent' })).status, 204, 'self-service')
      assert.equal((await ask(token, 'PATCH', `/users/${clerk}`, { city: 'Bruges' })).status, 204)
      assert.equal((await ask(token, 'GET', `/users/${victim}`)).status, 200, 'reads go by the permissions')
      const unknown = await ask(token, 'DELETE', `/groups/${randomUUID()}`)
      assert.equal(unknown.status, 403, 'nobody learns whether a group exists')
      const application = service.tokenFor({ kind: 'application', permissions })
      assert.equal((await ask(application, 'PATCH', `/users/${victim}`, { city: 'Ghent' })).status, 204)
      const few = service.tokenFor({ permissions: ['User.Read.All'] })
      assert.equal(
        (await ask(few, 'PATCH', `/users/${victim}`, { city: 'Ghent' })).status,
        403,
        'no permission',
      )
    },
  )

  /** A write that takes the right and nothing else; each makes its own objects. */
  const deeds: Readonly<Record<RightName, () => Promise<[string, string, unknown?]>>> = {
    createUser: async () => ['POST', '/users', newUser()],
    updateUser: async () => ['PATCH', `/users/${await directory.user()}`, { jobTitle: 'Baker' }],
    resetPassword: async () => [
      'PATCH',
      `/users/${await directory.user()}`,
      { passwordProfile: { password: 'a long-winded Phrase 42' } },
    ],
    changeOwnPassword: async () => ['POST', '/me/changePassword', { currentPassword: 'x', newPassword: 'y' }],
    subscribe: async () => ['DELETE', `/subscriptions/${service.tenantId}`],
    deleteUser: async () => ['DELETE', `/users/${await directory.user()}`],
    extendUser: async () => ['POST', `/users/${await directory.user()}/extensions`, extension],
    writeMailbox: async () => ['POST', `/users/${await directory.user()}/messages`, { subject: 'x' }],
    createGroup: async () => ['POST', '/groups', newGroup()],
    updateGroup: async () => ['PATCH', `/groups/${await directory.group()}`, { description: 'x' }],
    changeMembers: async () => [
      'POST',
      `/groups/${await directory.group()}/members/$ref`,
      refer(await directory.user()),
    ],
    changeGroupOwners: async () => [
      'POST',
      `/groups/${await directory.group()}/owners/$ref`,
      refer(await directory.user()),
    ],
    deleteGroup: async () => ['DELETE', `/groups/${await directory.group()}`],
    writeGroupItems: async () => [
      'POST',
      `/groups/${await directory.unifiedGroup()}/threads`,
      { topic: 'x', posts: [{ body: { contentType: 'text', content: 'x' } }] },
    ],
    createApplication: async () => ['POST', '/applications', { displayName: 'x' }],
    manageApplication: async () => {
      const { applicationId } = await addApplication(service)
      return ['POST', `/applications/${applicationId}/addPassword`, {}]
    },
    createServicePrincipal: async () => {
      const appId = randomUUID()
      await directory.add('application', { displayName: 'x', appId })
      return ['POST', '/servicePrincipals', { appId }]
    },
    manageServicePrincipal: async () => {
      const { servicePrincipalId } = await addApplication(service)
      return ['PATCH', `/servicePrincipals/${servicePrincipalId}`, { accountEnabled: false }]
    },
    // Only the application that a schema belongs to, or its owner, defines it: no role is enough by itself.
    defineSchema: async () => [
      'POST',
      '/schemaExtensions',
      {
        id: `a${randomUUID().slice(0, 8)}_x`,
        targetTypes: ['Group'],
        properties: [{ name: 'x', type: 'String' }],
      },
    ],
    grantPermissions: async () => {
      const { servicePrincipalId: principalId } = await addApplication(service)
      const resourceId = await directory.findApi()
      const body = { principalId, resourceId, appRoleId: permissionId('User.Read.All') }
      return ['POST', `/servicePrincipals/${principalId}/appRoleAssignments`, body]
    },
    assignAppRoles: async () => {
      const { servicePrincipalId: resourceId } = await addApplication(service)
      const principalId = await directory.user()
      const body = { principalId, resourceId, appRoleId: '00000000-0000-0000-0000-000000000000' }
      return ['POST', `/users/${principalId}/appRoleAssignments`, body]
    },
    consentForPeople: async () => {
      const { servicePrincipalId: clientId } = await addApplication(service)
      const resourceId = await directory.findApi()
      const body = { clientId, consentType: 'AllPrincipals', resourceId, scope: 'User.Read.All' }
      return ['POST', '/oauth2PermissionGrants', body]
    },
    manageRoles: async () => [
      'POST',
      `/directoryRoles/${await directory.role()}/members/$ref`,
      refer(await directory.user()),
    ],
    writeContacts: async () => ['POST', '/contacts', { displayName: 'x' }],
    writeDevices: async () => ['PATCH', `/devices/${await directory.device()}`, { displayName: 'x' }],
    writeOrganization: async () => ['PATCH', `/organization/${service.tenantId}`, { city: 'Ghent' }],
  }

  test('DIR-156: every right is of the roles that the table gives it, and of no other', async () => {
    const principal = await directory.user()
    for (const right of Object.keys(effectiveRights) as RightName[]) {
      const roles: readonly string[] = findRight(right).roles
      const unified: readonly string[] =
        right === 'writeGroupItems' ? (findRight(right).unifiedRoles ?? []) : []
      for (const role of roleNames) {
        // Each person has these about themselves, whatever their roles.
        if (right === 'changeOwnPassword' || right === 'subscribe') continue
        const [method, path, body] = await deeds[right]()
        const token = service.tokenFor({
          principal,
          permissions,
          directoryRoles: [directoryRoleTemplates[role]],
        })
        const { status, text } = await ask(token, method, path, body)
        const isAllowed = roles.includes(role) || unified.includes(role)
        assert.equal(status < 300, isAllowed, `${right} by ${role}: ${status} ${text}`)
        if (!isAllowed) assert.equal(status, 403, `${right} by ${role}: ${text}`)
      }
    }
  })

  test('DIR-156: owners change what they own, members write into their groups, people into their own mailbox', async () => {
    const principal = await directory.user()
    const token = service.tokenFor({ principal, permissions })
    const [owned, joined, other] = [
      await directory.unifiedGroup(),
      await directory.unifiedGroup(),
      await directory.unifiedGroup(),
    ]
    const outer = await directory.unifiedGroup()
    const { applicationId, appId, servicePrincipalId } = await addApplication(service)
    await own(principal, owned)
    await own(principal, applicationId)
    await directory.join(principal, joined)
    await directory.join(joined, outer)
    const thread = { topic: 'x', posts: [{ body: { contentType: 'text', content: 'x' } }] }
    const bodies: [string, string, unknown, number][] = [
      ['PATCH', `/groups/${owned}`, { description: 'x' }, 204],
      ['POST', `/groups/${owned}/members/$ref`, refer(principal), 204],
      ['DELETE', `/groups/${owned}/members/${principal}/$ref`, undefined, 204],
      ['POST', `/groups/${owned}/owners/$ref`, refer(await directory.user()), 204],
      ['POST', `/groups/${owned}/threads`, thread, 201],
      ['POST', `/groups/${joined}/threads`, thread, 201],
      ['POST', `/groups/${outer}/threads`, thread, 201],
      ['POST', `/groups/${other}/threads`, thread, 403],
      ['PATCH', `/groups/${joined}`, { description: 'x' }, 403],
      ['POST', `/groups/${joined}/extensions`, extension, 403],
      ['POST', `/applications/${applicationId}/addPassword`, {}, 200],
      ['PATCH', `/applications/appId=${appId}`, { notes: 'x' }, 204],
      ['PATCH', `/servicePrincipals/${servicePrincipalId}`, { notes: 'x' }, 403],
      ['PATCH', `/servicePrincipals/appId=${appId}`, { notes: 'x' }, 403],
      ['POST', '/me/messages', { subject: 'x' }, 201],
      ['POST', `/users/${principal}/messages`, { subject: 'x' }, 201],
      ['POST', '/me/extensions', extension, 201],
      ['DELETE', `/groups/${owned}`, undefined, 204],
      ['POST', `/directory/deletedItems/${owned}/restore`, undefined, 200],
      ['DELETE', `/groups/${other}`, undefined, 403],
    ]
    for (const [method, path, body, status] of bodies) {
      const answer = await ask(token, method, path, body)
      assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
    }
    const admin = service.tokenFor({ permissions })
    const foreign = await ask(admin, 'POST', `/users/${principal}/messages`, { subject: 'x' })
    assert.equal(foreign.status, 403, 'not even a Global Administrator writes into another mailbox')
  })

  clause(
    'DIR-161',
    'Every signed-in person may create groups and register applications, unless a setting says otherwise, …',
    async () => {
      await using open = await startTestService()
      const principal = await fillDirectory(open).user()
      const token = open.tokenFor({ principal, permissions })
      const group = await ask(token, 'POST', '/groups', newGroup(), open)
      assert.equal(group.status, 201, group.text)
      const application = await ask(token, 'POST', '/applications', { displayName: 'Mine' }, open)
      assert.equal(application.status, 201, application.text)
      const { appId, id } = application.body
      assert.equal((await ask(token, 'POST', '/servicePrincipals', { appId }, open)).status, 201)
      assert.equal((await ask(token, 'POST', `/applications/${id}/addPassword`, {}, open)).status, 200)
      assert.equal(
        (await ask(token, 'PATCH', `/groups/${group.body.id}`, { description: 'x' }, open)).status,
        204,
      )
      const owners = await ask(token, 'GET', `/groups/${group.body.id}/owners`, undefined, open)
      assert.deepEqual(
        owners.body.value.map((one: { id: string }) => one.id),
        [principal],
      )
      const developer = open.tokenFor({
        principal: await fillDirectory(open).user(),
        permissions,
        directoryRoles: [directoryRoleTemplates['Application Developer']],
      })
      const developed = await ask(developer, 'POST', '/applications', { displayName: 'Developed' }, open)
      const secret = `/applications/${developed.body.id}/addPassword`
      assert.equal((await ask(developer, 'POST', secret, {}, open)).status, 200, 'developers own too')
      const admin = open.tokenFor({ permissions })
      const ofAdmin = await ask(admin, 'POST', '/groups', newGroup(), open)
      assert.deepEqual(
        (await ask(admin, 'GET', `/groups/${ofAdmin.body.id}/owners`, undefined, open)).body.value,
        [],
      )
      const special = { ...newGroup(), isAssignableToRole: true }
      assert.equal((await ask(token, 'POST', '/groups', special, open)).status, 403)
      const foreign = randomUUID()
      await fillDirectory(open).add('application', { displayName: 'Theirs', appId: foreign })
      assert.equal((await ask(token, 'POST', '/servicePrincipals', { appId: foreign }, open)).status, 403)
    },
  )

  clause(
    'DIR-162',
    'A signed-in Application Administrator or Cloud Application Administrator consents to permissions that read the directory, …',
    async () => {
      const resourceId = await directory.findApi()
      for (const role of ['Application Administrator', 'Cloud Application Administrator'] as const) {
        const token = service.tokenFor({
          principal: await directory.user(),
          permissions,
          directoryRoles: [directoryRoleTemplates[role]],
        })
        for (const [scope, status] of [
          ['User.Read.All Mail.ReadWrite openid', 201],
          ['Application.ReadWrite.All', 201],
          ['User.Read.All RoleManagement.ReadWrite.Directory', 403],
          ['Directory.ReadWrite.All', 403],
          ['Group.ReadWrite.All', 403],
          ['user_impersonation', 403],
          ['Tasks.Read.All', 403],
        ] as const) {
          const { servicePrincipalId: clientId } = await addApplication(service)
          const body = { clientId, consentType: 'AllPrincipals', resourceId, scope }
          const answer = await ask(token, 'POST', '/oauth2PermissionGrants', body)
          assert.equal(answer.status, status, `${role} ${scope}: ${answer.text}`)
          if (status === 201) {
            const at = `/oauth2PermissionGrants/${answer.body.id}`
            const wider = { scope: `${scope} RoleManagement.ReadWrite.Directory` }
            assert.equal((await ask(token, 'PATCH', at, wider)).status, 403, 'nor by changing a grant')
          }
        }
      }
    },
  )
})
