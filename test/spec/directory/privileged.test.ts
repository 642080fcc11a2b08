import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { consentPermissions } from '../../../src/directory/applications/granted-permissions.ts'
import { roleTemplates } from '../../../src/directory/objects/role-templates.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { addApplication } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('ways to more than one was given', () => {
  let service: TestService
  let directory: TestDirectory

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
  })
  after(() => service?.[Symbol.asyncDispose]())

  const ask = (token: string, method: string, path: string, body?: unknown) =>
    service.request(method, `/v1.0${path}`, { token, ...(body !== undefined && { body }) })
  const passwordProfile = { password: 'a long-winded Phrase 42' }
  const writeUsers = ['User.ReadWrite.All', 'Directory.ReadWrite.All']
  const asUser = ['User.ReadWrite.All', 'Directory.AccessAsUser.All']

  clause(
    'DIR-153',
    'A delegated token sets the password of another person only for a caller who is Global Administrator, User Administrator, Privileged Authentication Administrator, …',
    async () => {
      const id = await directory.user()
      const allowed = [
        'Global Administrator',
        'User Administrator',
        'Privileged Authentication Administrator',
        'Authentication Administrator',
        'Password Administrator',
        'Helpdesk Administrator',
      ]
      for (const { displayName, id: template } of roleTemplates) {
        const token = service.tokenFor({ permissions: asUser, directoryRoles: [template] })
        const { status } = await ask(token, 'PATCH', `/users/${id}`, { passwordProfile })
        assert.equal(status, allowed.includes(displayName) ? 204 : 403, displayName)
      }
      const principal = await directory.user()
      const nobody = service.tokenFor({ principal, permissions: asUser })
      assert.equal((await ask(nobody, 'PATCH', `/users/${id}`, { passwordProfile })).status, 403)
      assert.equal((await ask(nobody, 'PATCH', '/me', { passwordProfile })).status, 403)
    },
  )

  clause(
    'DIR-283',
    'A signed-in person, administrators included, sets the own password only where the current one is asked for: …',
    async () => {
      const principal = await directory.user()
      const [row] = await service.database.sql<{ name: string }[]>`
        select user_principal_name as name from directory_object where id = ${principal}`
      const name = row?.name ?? ''
      const spellings = [principal, principal.toUpperCase(), name, encodeURIComponent(name.toUpperCase())]
      for (const role of ['Helpdesk Administrator', 'User Administrator', 'Global Administrator'] as const) {
        const directoryRoles = [directoryRoleTemplates[role]]
        const token = service.tokenFor({ principal, permissions: asUser, directoryRoles })
        const bodies = [{ passwordProfile }, { passwordProfile: { forceChangePasswordNextSignIn: false } }]
        for (const path of ['/me', ...spellings.map((spelling) => `/users/${spelling}`)])
          for (const body of [...bodies, { ...bodies[0], city: 'Ghent' }])
            assert.equal((await ask(token, 'PATCH', path, body)).status, 403, `${role} ${path}`)
        for (const spelling of spellings) {
          const { status, body } = await ask(token, 'POST', `/users/${spelling}/invite`, {})
          assert.equal(status, 403, `${role} ${spelling}`)
          assert.equal(body.password, undefined)
        }
        const requests = [
          {
            id: '1',
            method: 'PATCH',
            url: '/me',
            body: { passwordProfile },
            headers: { 'content-type': 'application/json' },
          },
        ]
        const batch = await ask(token, 'POST', '/$batch', { requests })
        assert.equal(batch.body.responses[0].status, 403, batch.text)
        const other = await directory.user()
        assert.equal((await ask(token, 'POST', `/users/${other}/invite`, {})).status, 200, role)
      }
      const stored = await service.database.sql`select from user_password where user_id = ${principal}`
      assert.equal(stored.count, 0)
    },
  )

  test('DIR-153: not everybody who writes users touches the account of somebody who holds one', async () => {
    const role = await directory.role()
    const admins = await directory.group({ isAssignableToRole: true })
    await directory.join(admins, role)
    const holders = [await directory.user(), await directory.user()]
    await directory.join(holders[0] ?? '', role)
    await directory.join(holders[1] ?? '', admins)
    const directoryRoles = [directoryRoleTemplates['User Administrator']]
    const weak = [
      service.tokenFor({ kind: 'application', permissions: writeUsers }),
      service.tokenFor({ permissions: [...writeUsers, ...asUser], directoryRoles }),
    ]
    const strong = service.tokenFor({
      kind: 'application',
      permissions: [...writeUsers, 'RoleManagement.ReadWrite.Directory'],
    })
    const changes = [
      { passwordProfile },
      { accountEnabled: false },
      { userPrincipalName: 'other@example.com' },
      { city: 'Ghent', accountEnabled: true },
    ]
    for (const id of holders) {
      for (const token of weak) {
        for (const body of changes)
          assert.equal((await ask(token, 'PATCH', `/users/${id}`, body)).status, 403, JSON.stringify(body))
        for (const set of ['users', 'directoryObjects'])
          assert.equal((await ask(token, 'DELETE', `/${set}/${id}`)).status, 403, set)
        assert.equal((await ask(token, 'PATCH', `/users/${id}`, { city: 'Ghent' })).status, 204)
      }
      assert.equal((await ask(strong, 'PATCH', `/users/${id}`, { passwordProfile })).status, 204)
      assert.equal((await ask(strong, 'DELETE', `/users/${id}`)).status, 204)
      for (const token of weak) {
        assert.equal((await ask(token, 'POST', `/directory/deletedItems/${id}/restore`)).status, 403)
        assert.equal((await ask(token, 'DELETE', `/directory/deletedItems/${id}`)).status, 403)
      }
      assert.equal((await ask(strong, 'POST', `/directory/deletedItems/${id}/restore`)).status, 200)
    }
  })

  clause(
    'DIR-292',
    'A signed-in person enables or restores an application or service principal that has application permissions, …',
    async () => {
      const owner = await directory.user()
      const victim = await directory.user()
      const permissions = ['Application.ReadWrite.All']
      const token = service.tokenFor({ principal: owner, permissions })
      const administrators = (['Application Administrator', 'Cloud Application Administrator'] as const).map(
        (role) =>
          service.tokenFor({
            permissions: [...permissions, 'DelegatedPermissionGrant.ReadWrite.All'],
            directoryRoles: [directoryRoleTemplates[role]],
          }),
      )
      const [administrator = ''] = administrators
      const register = async (consented: readonly string[]) => {
        const made = await addApplication(service)
        const { tenantId } = service
        const { applicationId, servicePrincipalId } = made
        for (const id of [applicationId, servicePrincipalId])
          await service.database.sql`
            insert into owner_edge (tenant_id, object_id, owner_id) values (${tenantId}, ${id}, ${owner})`
        const grant = { tenantId, servicePrincipalId, userId: victim, permissions: consented }
        await service.database.transaction((tx) => consentPermissions(tx, grant))
        return made
      }
      const blocked = await register(['Mail.Read', 'offline_access'])
      const principal = `/servicePrincipals/${blocked.servicePrincipalId}`
      const byAppId = `/servicePrincipals(appId='${blocked.appId}')`
      const enable = { accountEnabled: true }
      assert.equal((await ask(token, 'PATCH', principal, { notes: 'mine' })).status, 204)
      for (const strong of administrators) {
        assert.equal((await ask(strong, 'PATCH', principal, { accountEnabled: false })).status, 204)
        for (const path of [principal, byAppId])
          assert.equal((await ask(token, 'PATCH', path, enable)).status, 403, path)
        assert.equal((await ask(strong, 'PATCH', principal, enable)).status, 204)
        assert.equal((await ask(token, 'PATCH', principal, enable)).status, 204, 'it is enabled already')
      }
      for (const set of ['applications', 'servicePrincipals']) {
        const id = set === 'applications' ? blocked.applicationId : blocked.servicePrincipalId
        assert.equal((await ask(administrator, 'DELETE', `/${set}/${id}`)).status, 204)
        const restore = `/directory/deletedItems/${id}/restore`
        const refused = await ask(token, 'POST', restore)
        assert.equal(refused.status, 403, refused.text)
        assert.match(refused.body.error.message, /permissions, consents or rights/)
        assert.equal((await ask(administrator, 'POST', restore)).status, 200)
      }

      const harmless = await register([])
      const own = `/servicePrincipals/${harmless.servicePrincipalId}`
      assert.equal((await ask(token, 'PATCH', own, { accountEnabled: false })).status, 204)
      assert.equal((await ask(token, 'PATCH', own, enable)).status, 204)
      assert.equal((await ask(token, 'DELETE', `/applications/${harmless.applicationId}`)).status, 204)
      const back = `/directory/deletedItems/${harmless.applicationId}/restore`
      assert.equal((await ask(token, 'POST', back)).status, 200)
    },
  )

  clause(
    'DIR-154',
    'Credentials, redirect addresses, identifiers, owners, permissions and state of an application or service principal are changed only by …',
    async () => {
      const write = 'Application.ReadWrite.All'
      for (const strongest of [
        'AppRoleAssignment.ReadWrite.All',
        'DelegatedPermissionGrant.ReadWrite.All',
        'RoleManagement.ReadWrite.Directory',
      ]) {
        const { applicationId } = await addApplication(service, { permissions: [strongest, write] })
        const path = `/applications/${applicationId}/addPassword`
        for (const kind of ['application', 'delegated'] as const) {
          const weak = service.tokenFor({ kind, permissions: [write, 'Directory.ReadWrite.All'] })
          const { status, body } = await ask(weak, 'POST', path, {})
          assert.equal(status, 403, strongest)
          assert.equal(body.secretText, undefined)
          const equal = service.tokenFor({ kind, permissions: [write, strongest] })
          assert.equal((await ask(equal, 'POST', path, {})).status, 200, strongest)
        }
      }
      const { applicationId } = await addApplication(service, { permissions: ['Directory.ReadWrite.All'] })
      const path = `/applications/${applicationId}/addPassword`
      for (const [permissions, status] of [
        [[write], 403],
        [[write, 'User.ReadWrite.All'], 403],
        [[write, 'Directory.ReadWrite.All'], 200],
        [[write, 'AppRoleAssignment.ReadWrite.All'], 200],
      ] as const)
        assert.equal(
          (await ask(service.tokenFor({ kind: 'application', permissions }), 'POST', path, {})).status,
          status,
        )
    },
  )

  clause(
    'DIR-155',
    'A caller who reads users by `User.ReadBasic.All` alone sees `id`, `displayName`…',
    async () => {
      const group = await directory.group()
      const userPrincipalName = 'private@example.com'
      const hidden = { mobilePhone: '+32 1', jobTitle: 'Baker', employeeId: 'E77', businessPhones: ['+32 2'] }
      const shown = { displayName: 'Ada Private', givenName: 'Ada', surname: 'Private', userPrincipalName }
      const id = await directory.add('user', { ...hidden, ...shown, accountEnabled: true })
      await directory.join(id, group)
      const basic = service.tokenFor({ permissions: ['User.ReadBasic.All', 'GroupMember.Read.All'] })
      const whole = service.tokenFor({ permissions: ['User.Read.All', 'GroupMember.Read.All'] })
      const select = `$select=id,${Object.keys({ ...hidden, ...shown }).join(',')},accountEnabled`
      const filter = `$filter=userPrincipalName eq '${userPrincipalName}'`
      for (const path of [
        `/users/${id}`,
        `/users/${id}?${select}`,
        `/users?${filter}`,
        `/users?${filter}&${select}`,
        `/users?$search="displayName:private"`,
        `/groups/${group}/members`,
        `/groups/${group}/members?${select}`,
        `/groups/${group}/members/vendor.graph.user?${select}`,
      ]) {
        const { status, body, text } = await ask(basic, 'GET', path)
        assert.equal(status, 200, `${path}: ${text}`)
        const [user] = body.value ?? [body]
        assert.equal(user.id, id, path)
        for (const [name, value] of Object.entries(shown)) assert.equal(user[name], value, `${path} ${name}`)
        assert.deepEqual([user.mobilePhone, user.jobTitle, user.businessPhones], [null, null, []], path)
        assert.equal(user.accountEnabled ?? null, null, path)
        assert.doesNotMatch(text, /Baker|E77|\+32/, path)
        const all = await ask(whole, 'GET', path)
        assert.match(all.text, /Baker/, path)
      }
      for (const options of [
        "$filter=employeeId eq 'E77'",
        "$filter=startswith(jobTitle,'B')",
        '$filter=accountEnabled eq true',
        '$search="jobTitle:Ba"',
      ])
        for (const path of ['/users', `/groups/${group}/members/vendor.graph.user`, '/users/$count']) {
          if (path.endsWith('$count') && options.startsWith('$search')) continue
          assert.equal((await ask(basic, 'GET', `${path}?${options}`)).status, 400, `${path} ${options}`)
          assert.equal((await ask(whole, 'GET', `${path}?${options}`)).status, 200, `${path} ${options}`)
        }
      await directory.softDelete(id)
      for (const path of [`/directory/deletedItems/${id}`, '/directory/deletedItems/microsoft.graph.user']) {
        const refused = (await ask(basic, 'GET', path)).status
        assert.ok(refused === 403 || refused === 404, `${path}: ${refused}`)
        assert.equal((await ask(whole, 'GET', path)).status, 200)
      }
    },
  )

  test('somebody who sees that members are there cannot search them by what they are called', async () => {
    const group = await directory.group()
    await directory.join(await directory.user('findme'), group)
    const members = service.tokenFor({ permissions: ['GroupMember.Read.All'] })
    const path = `/groups/${group}/members`
    assert.equal((await ask(members, 'GET', path)).body.value.length, 1)
    for (const options of ['$search="displayName:findme"', '$search="displayName:nobody"'])
      assert.equal((await ask(members, 'GET', `${path}?${options}`)).status, 403, options)
  })
})
