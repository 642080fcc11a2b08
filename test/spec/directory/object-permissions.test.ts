import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { parseCell } from '../../../src/auth/permission.ts'
import { resources } from '../../../src/directory/objects/kinds/resources.ts'
import { objectPermissions } from '../../../src/directory/objects/object-permissions.ts'
import { everything } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('who may do what with directory objects', () => {
  let service: TestService
  let directory: TestDirectory

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
  })
  after(() => service?.[Symbol.asyncDispose]())

  const ask = (token: string, method: string, path: string, body?: unknown) =>
    service.request(method, `/v1.0${path}`, { token, ...(body !== undefined && { body }) })

  clause(
    'DIR-85',
    'A caller without the permission is 403 `Authorization_RequestDenied` with the message `Insufficient privileges to complete the operation.`',
    async () => {
      const id = randomUUID()
      const strangers = [
        service.tokenFor({ permissions: ['Mail.ReadWrite'] }),
        service.tokenFor({ kind: 'application', permissions: ['Mail.ReadWrite'] }),
        service.tokenFor({ personal: true, permissions: everything }),
      ]
      for (const token of strangers)
        for (const [method, path] of [
          ...Object.values(resources).flatMap(({ set }) => [
            ['GET', `/${set}`],
            ['GET', `/${set}/${id}`],
          ]),
          ['POST', '/users'],
          ['PATCH', `/contacts/${id}`],
          ['DELETE', `/groups/${id}`],
          ['DELETE', `/directoryObjects/${id}`],
          ['POST', '/directoryObjects/getByIds'],
          ['GET', `/directory/deletedItems/${id}`],
          ['POST', `/directory/deletedItems/${id}/restore`],
          ['GET', '/directory/deletedItems/microsoft.graph.user'],
        ]) {
          const answer = await ask(token, method ?? '', path ?? '')
          assert.equal(answer.status, 403, `${method} ${path}: ${answer.text}`)
          assert.equal(answer.body.error.code, 'Authorization_RequestDenied')
          assert.equal(answer.body.error.message, 'Insufficient privileges to complete the operation.')
        }
    },
  )

  test('each permission of the tables is enough by itself to read', async () => {
    for (const { kind, set } of Object.values(resources))
      for (const side of ['delegated', 'application'] as const)
        for (const permissions of parseCell(objectPermissions[kind].read[side])) {
          const token = service.tokenFor({ kind: side, permissions })
          assert.equal((await ask(token, 'GET', `/${set}?$top=1`)).status, 200, `${set} ${permissions}`)
        }
  })

  test('people read and change themselves, but no more than they may', async () => {
    const principal = await directory.user('self')
    const token = service.tokenFor({ principal, permissions: ['User.ReadWrite'] })
    assert.equal((await ask(token, 'GET', '/me')).body.id, principal)
    assert.equal((await ask(token, 'PATCH', '/me', { mobilePhone: '+32 1', city: 'Ghent' })).status, 204)
    assert.equal((await ask(token, 'GET', '/me?$select=city')).body.city, 'Ghent')
    for (const body of [
      { accountEnabled: false },
      { userPrincipalName: 'boss@example.com' },
      { mail: 'boss@example.com' },
      { jobTitle: 'Boss' },
      { passwordProfile: { password: 'a long-winded Phrase 42' } },
      { city: 'Bruges', department: 'Board' },
    ])
      assert.equal((await ask(token, 'PATCH', '/me', body)).status, 403, JSON.stringify(body))
    assert.equal((await ask(token, 'GET', '/me?$select=city')).body.city, 'Ghent')
    const reader = service.tokenFor({ principal, permissions: ['User.Read'] })
    assert.equal((await ask(reader, 'PATCH', '/me', { city: 'Bruges' })).status, 403)
    assert.equal((await ask(reader, 'GET', '/users')).status, 403)
    const application = service.tokenFor({ kind: 'application', permissions: everything })
    const answer = await ask(application, 'GET', '/me')
    assert.equal(answer.body.error.message, '/me request is only valid with delegated authentication flow.')
  })

  test('setting a password takes more than updating users', async () => {
    const id = await directory.user()
    const body = { passwordProfile: { password: 'a long-winded Phrase 42' } }
    const updater = service.tokenFor({ permissions: ['User.ReadWrite.All'] })
    assert.equal((await ask(updater, 'PATCH', `/users/${id}`, { city: 'Ghent' })).status, 204)
    assert.equal((await ask(updater, 'PATCH', `/users/${id}`, body)).status, 403)
    const permissions = ['User.ReadWrite.All', 'Directory.AccessAsUser.All']
    const nobody = service.tokenFor({ permissions, directoryRoles: [] })
    assert.equal((await ask(nobody, 'PATCH', `/users/${id}`, body)).status, 403)
    const directoryRoles = [directoryRoleTemplates['User Administrator']]
    const setter = service.tokenFor({ permissions, directoryRoles })
    assert.equal((await ask(setter, 'PATCH', `/users/${id}`, body)).status, 204)
    const weak = await ask(setter, 'PATCH', `/users/${id}`, { passwordProfile: { password: 'short' } })
    assert.equal(weak.status, 400)
  })

  test('power over somebody with a directory role takes as much as the role', async () => {
    const role = await directory.role()
    const group = await directory.group({ isAssignableToRole: true })
    const [boss, plain] = [await directory.user(), await directory.user()]
    await directory.join(group, role)
    await directory.join(boss, group)
    const permissions = ['User.ReadWrite.All', 'Directory.ReadWrite.All', 'Directory.AccessAsUser.All']
    const weak = [
      service.tokenFor({ permissions, directoryRoles: [directoryRoleTemplates['User Administrator']] }),
      service.tokenFor({ kind: 'application', permissions }),
    ]
    const strong = [
      service.tokenFor({ permissions, directoryRoles: [directoryRoleTemplates['Global Administrator']] }),
      service.tokenFor({
        kind: 'application',
        permissions: [...permissions, 'RoleManagement.ReadWrite.Directory'],
      }),
    ]
    const attempts = [
      { accountEnabled: false },
      { userPrincipalName: 'taken-over@example.com' },
      { passwordProfile: { password: 'a long-winded Phrase 42' } },
      { otherMails: ['me@example.org'] },
    ]
    for (const token of weak) {
      for (const body of attempts) {
        assert.equal((await ask(token, 'PATCH', `/users/${boss}`, body)).status, 403, JSON.stringify(body))
      }
      assert.equal((await ask(token, 'PATCH', `/users/${boss}`, { jobTitle: 'Boss' })).status, 204)
      assert.equal((await ask(token, 'PATCH', `/users/${plain}`, { accountEnabled: true })).status, 204)
      for (const set of ['users', 'directoryObjects'])
        assert.equal((await ask(token, 'DELETE', `/${set}/${boss}`)).status, 403)
    }
    for (const token of strong) {
      assert.equal((await ask(token, 'PATCH', `/users/${boss}`, { accountEnabled: true })).status, 204)
      assert.equal((await ask(token, 'DELETE', `/users/${boss}`)).status, 204)
      assert.equal((await ask(weak[0] ?? '', 'POST', `/directory/deletedItems/${boss}/restore`)).status, 403)
      assert.equal((await ask(token, 'POST', `/directory/deletedItems/${boss}/restore`)).status, 200)
    }
  })

  test('groups that can hold roles are made and deleted by those who manage roles', async () => {
    const body = {
      displayName: 'Admins',
      mailEnabled: false,
      mailNickname: 'admins',
      securityEnabled: true,
      isAssignableToRole: true,
    }
    const writer = service.tokenFor({ permissions: ['Group.ReadWrite.All'] })
    const permissions = ['Group.ReadWrite.All', 'RoleManagement.ReadWrite.Directory']
    const manager = service.tokenFor({ permissions })
    assert.equal((await ask(writer, 'POST', '/groups', body)).status, 403)
    assert.equal((await ask(manager, 'POST', '/groups', { ...body, securityEnabled: false })).status, 400)
    const { id } = (await ask(manager, 'POST', '/groups', body)).body
    for (const set of ['groups', 'directoryObjects'])
      assert.equal((await ask(writer, 'DELETE', `/${set}/${id}`)).status, 403)
    assert.equal((await ask(manager, 'DELETE', `/groups/${id}`)).status, 204)
    assert.equal((await ask(writer, 'POST', `/directory/deletedItems/${id}/restore`)).status, 403)
    assert.equal((await ask(writer, 'DELETE', `/directory/deletedItems/${id}`)).status, 403)
    assert.equal((await ask(manager, 'POST', `/directory/deletedItems/${id}/restore`)).status, 200)
  })

  test('a deleted object of a kind that the caller may not see is not there', async () => {
    const user = await directory.user()
    await directory.softDelete(user)
    const groups = service.tokenFor({ permissions: ['Group.ReadWrite.All'] })
    for (const id of [user, randomUUID()]) {
      assert.equal((await ask(groups, 'GET', `/directory/deletedItems/${id}`)).status, 404)
      assert.equal((await ask(groups, 'DELETE', `/directory/deletedItems/${id}`)).status, 404)
    }
  })
})
