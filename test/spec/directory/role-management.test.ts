import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { caller } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { globalAdministrator } from '../../support/tokens.ts'

describe('role management and domains', () => {
  let service: TestService
  let directory: TestDirectory
  let token: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    token = service.tokenFor({
      kind: 'application',
      permissions: ['Directory.Read.All', 'RoleManagement.ReadWrite.Directory'],
    })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = caller(
    () => service,
    () => token,
  )
  const get = async (path: string) => (await call('GET', path, 200)).body
  const definitions = '/roleManagement/directory/roleDefinitions'
  const assignments = '/roleManagement/directory/roleAssignments'

  clause(
    'DIR-211',
    '`GET /domains` lists the domains that the organization has verified, and `GET /domains/{name}` returns one; …',
    async () => {
      const names = [
        { name: 'one.example', isDefault: true, isInitial: true },
        { name: 'Two.example', isDefault: false },
      ]
      await service.database.sql`
        update directory_object set properties = properties || ${service.database.sql.json({ verifiedDomains: names })}::jsonb
        where kind = 'organization'`
      const all = await get('/domains')
      assert.deepEqual(all.value.map(({ id }: { id: string }) => id).toSorted(), [
        'Two.example',
        'one.example',
      ])
      const two = await get('/domains/two.example')
      assert.deepEqual([two.id, two.isVerified, two.isDefault], ['Two.example', true, false])
      assert.equal((await get('/domains?$filter=isDefault eq true')).value[0].id, 'one.example')
      assert.equal((await call('GET', '/domains/$count', 200)).text, '2')
      await call('GET', '/domains/none.example', 404)
      const denied = await service.request('GET', '/v1.0/domains', {
        token: service.tokenFor({ kind: 'application', permissions: ['User.Read.All'] }),
      })
      assert.equal(denied.status, 403)
    },
  )

  clause(
    'DIR-212',
    '`GET /roleManagement/directory/roleDefinitions` lists the directory roles that there are, active or not; …',
    async () => {
      const all = await get(`${definitions}?$orderby=displayName`)
      assert.equal(all.value.length, Object.keys(directoryRoleTemplates).length)
      const id = directoryRoleTemplates['Groups Administrator']
      const one = await get(`${definitions}/${id}`)
      assert.deepEqual([one.displayName, one.isBuiltIn, one.templateId], ['Groups Administrator', true, id])
      const found = await get(`${definitions}?$filter=displayName eq 'groups administrator'`)
      assert.equal(found.value[0].id, id)
      await call('GET', `${definitions}/${randomUUID()}`, 404)
      await call('GET', `${definitions}/x`, 404)
    },
  )

  clause(
    'DIR-213',
    '`/roleManagement/directory/roleAssignments` lists the principals that hold directory roles, `POST` with `principalId` and `roleDefinitionId` gives a role and activates it where needed, and `DELETE` takes it, …',
    async () => {
      const user = await directory.user()
      const roleDefinitionId = directoryRoleTemplates['Cloud Device Administrator']
      const body = { principalId: user, roleDefinitionId, directoryScopeId: '/' }
      const made = await call('POST', assignments, 201, body)
      assert.deepEqual([made.body.principalId, made.body.roleDefinitionId], [user, roleDefinitionId])
      const mine = await get(`${assignments}?$filter=principalId eq '${user}'`)
      assert.deepEqual(
        mine.value.map(({ id }: { id: string }) => id),
        [made.body.id],
      )
      const rights = await get(`/users/${user}/carriedRights`)
      assert.equal(rights.value[0].name, 'Cloud Device Administrator')
      await call('POST', assignments, 400, body)
      await call('POST', assignments, 404, { ...body, principalId: randomUUID() })
      await call('POST', assignments, 400, { ...body, roleDefinitionId: randomUUID() })
      await call('POST', assignments, 400, { ...body, directoryScopeId: '/administrativeUnits/x' })
      await call('POST', assignments, 400, { ...body, principalId: await directory.group() })
      await call('POST', assignments, 400, { ...body, principalId: await directory.device() })

      const attempt = (asked: string, principalId: string) =>
        service.request('POST', `/v1.0${assignments}`, {
          token: asked,
          body: { ...body, principalId, roleDefinitionId: globalAdministrator[0] },
        })
      const writes = ['Directory.ReadWrite.All', 'RoleManagement.ReadWrite.Directory']
      const weak = service.tokenFor({ kind: 'application', permissions: ['Directory.ReadWrite.All'] })
      assert.equal((await attempt(weak, user)).status, 403)
      const person = service.tokenFor({ principal: user, permissions: writes })
      assert.equal((await attempt(person, user)).status, 403)
      const administrator = service.tokenFor({
        principal: await directory.user(),
        permissions: writes,
        directoryRoles: globalAdministrator,
      })
      const strong = await attempt(administrator, user)
      assert.equal(strong.status, 201, strong.text)

      await call('DELETE', `${assignments}/${made.body.id}`, 204)
      await call('GET', `${assignments}/${made.body.id}`, 404)
      await call('DELETE', `${assignments}/${made.body.id}`, 404)
      await call('DELETE', `${assignments}/x`, 404)
    },
  )
})
