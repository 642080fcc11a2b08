import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { clause, permissionTable } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('getMemberGroups, its rules and permissions', () => {
  let service: TestService
  let directory: TestDirectory
  let reader: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    reader = await service.tokenFor({ permissions: ['Directory.Read.All'] })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const ask = (path: string, securityEnabledOnly: unknown = false, token = reader) =>
    service.request('POST', `/v1.0${path}/getMemberGroups`, { token, body: { securityEnabledOnly } })

  async function groupsOf(path: string, securityEnabledOnly = false): Promise<string[]> {
    const { status, body } = await ask(path, securityEnabledOnly)
    assert.equal(status, 200)
    return body.value.toSorted()
  }

  clause(
    'DIR-109',
    '`securityEnabledOnly` is required: without it, or with anything but a Boolean, getMemberGroups is 400.',
    async () => {
      const path = `/v1.0/users/${await directory.user()}/getMemberGroups`
      for (const body of [
        {},
        { securityEnabledOnly: null },
        { securityEnabledOnly: 'false' },
        { securityEnabledOnly: 0 },
        { securityEnabledOnly: [] },
        { SecurityEnabledOnly: false },
        { securityEnabledOnly: false, more: 1 },
        [],
        'true',
        'null',
      ]) {
        const answer = await service.request('POST', path, { token: reader, body })
        assert.equal(answer.status, 400, JSON.stringify(body))
        assert.ok(answer.body.error.code)
      }
    },
  )

  clause(
    'DIR-110',
    '`securityEnabledOnly` true for an object that is neither a user nor a service principal is 400, on the path of its kind and on `/directoryObjects` alike.',
    async () => {
      for (const id of [
        await directory.group(),
        await directory.device(),
        await directory.contact(),
        await directory.role(),
      ])
        assert.equal((await ask(`/directoryObjects/${id}`, true)).status, 400)
      assert.equal((await ask(`/groups/${await directory.group()}`, true)).status, 400)
      for (const id of [await directory.user(), await directory.servicePrincipal()])
        assert.equal((await ask(`/directoryObjects/${id}`, true)).status, 200)
      assert.equal((await ask(`/directoryObjects/${randomUUID()}`, true)).status, 404)
    },
  )

  clause(
    'DIR-111',
    '`securityEnabledOnly` true filters the result and not the walk: a security-enabled group that is reached through one that is not still counts.',
    async () => {
      const [user, open, secure] = [
        await directory.user(),
        await directory.unifiedGroup(),
        await directory.group(),
      ]
      await directory.join(user, open)
      await directory.join(open, secure)
      assert.deepEqual(await groupsOf(`/users/${user}`, true), [secure])
    },
  )

  clause('DIR-112', '`securityEnabledOnly` true leaves directory roles out of the result.', async () => {
    const [user, group] = [await directory.user(), await directory.group()]
    await directory.join(user, group, await directory.role())
    await directory.join(group, await directory.role())
    assert.deepEqual(await groupsOf(`/users/${user}`, true), [group])
  })

  clause('DIR-113', 'No identifier comes twice in the result, however many ways lead to it.', async () => {
    const user = await directory.user()
    const [left, right, top] = [await directory.group(), await directory.group(), await directory.group()]
    await directory.join(user, left, right, top)
    await directory.join(left, top, right)
    await directory.join(right, top)
    assert.deepEqual(await groupsOf(`/users/${user}`), [left, right, top].sort())
  })

  clause(
    'DIR-114',
    'Groups that contain each other in a circle do not disturb getMemberGroups, and the object itself is never in its own result.',
    async () => {
      const [a, b, c] = [await directory.group(), await directory.group(), await directory.group()]
      await directory.join(a, b)
      await directory.join(b, c)
      await directory.join(c, a)
      assert.deepEqual(await groupsOf(`/groups/${a}`), [b, c].sort())
      const user = await directory.user()
      await directory.join(user, b)
      assert.deepEqual(await groupsOf(`/users/${user}`), [a, b, c].sort())
      // A deleted group breaks the circle: neither it nor what is reached through it alone counts.
      await directory.softDelete(c)
      assert.deepEqual(await groupsOf(`/users/${user}`), [b])
      assert.equal((await ask(`/groups/${c}`)).status, 404)
    },
  )

  clause(
    'DIR-115',
    '`@odata.context` of the result is `{base_url}/$metadata#Collection(Edm.String)`.',
    async () => {
      const { body } = await ask(`/users/${await directory.user()}`)
      assert.equal(body['@odata.context'], `${service.origin}/v1.0/$metadata#Collection(Edm.String)`)
    },
  )

  const pathOf: Record<string, () => Promise<string>> = {
    'directory object': async () => `/directoryObjects/${await directory.device()}`,
    user: async () => `/users/${await directory.user()}`,
    group: async () => `/groups/${await directory.group()}`,
    'service principal': async () => `/servicePrincipals/${await directory.servicePrincipal()}`,
    'organizational contact': async () => `/contacts/${await directory.contact()}`,
    device: async () => `/devices/${await directory.device()}`,
  }

  clause('DIR-66', 'Get member groups is permitted by:', async () => {
    for (const row of permissionTable('DIR-66')) {
      const path = await pathOf[row.subject]?.()
      assert.ok(path, row.subject)
      for (const kind of ['delegated', 'application'] as const)
        for (const permissions of row[kind]) {
          const answer = await ask(path, false, await service.tokenFor({ kind, permissions }))
          assert.equal(answer.status, 200, `${row.subject} ${kind} ${permissions}`)
          if (permissions.length > 1)
            for (const left of permissions) {
              const token = await service.tokenFor({ kind, permissions: [left] })
              assert.equal((await ask(path, false, token)).status, 403, `${row.subject} ${kind} ${left}`)
            }
          const token = await service.tokenFor({ permissions, personal: true })
          assert.equal((await ask(path, false, token)).status, 403, `${row.subject} personal`)
        }
    }
  })

  clause(
    'DIR-107',
    'Where a table does not say least privilege (DIR-66 and DIR-70), it is exact: a permission that it does not list does not help.',
    async () => {
      const rows = permissionTable('DIR-66')
      const every = new Set([
        ...rows.flatMap((row) => [...row.delegated, ...row.application].flat()),
        ...['Application', 'Device', 'Directory', 'Group', 'User'].map((noun) => `${noun}.ReadWrite.All`),
        'Directory.AccessAsUser.All',
        'RoleManagement.ReadWrite.Directory',
      ])
      for (const row of rows) {
        const path = await pathOf[row.subject]?.()
        assert.ok(path, row.subject)
        for (const kind of ['delegated', 'application'] as const)
          for (const permission of every) {
            const expected = row[kind].some((needed) => needed.every((name) => name === permission))
              ? 200
              : 403
            const token = await service.tokenFor({ kind, permissions: [permission] })
            assert.equal(
              (await ask(path, false, token)).status,
              expected,
              `${row.subject} ${kind} ${permission}`,
            )
          }
      }
    },
  )

  clause('DIR-108', '`/me/getMemberGroups` is permitted by the row `user` of DIR-66.', async () => {
    const user = await directory.user()
    const row = permissionTable('DIR-66').find(({ subject }) => subject === 'user')
    assert.ok(row)
    for (const permissions of row.delegated) {
      const token = await service.tokenFor({ permissions, principal: user })
      assert.equal((await ask('/me', false, token)).status, 200, `${permissions}`)
    }
    for (const permission of [
      'User.Read.All',
      'GroupMember.Read.All',
      'User.Read',
      'Directory.ReadWrite.All',
    ]) {
      const token = await service.tokenFor({ permissions: [permission], principal: user })
      assert.equal((await ask('/me', false, token)).status, 403, permission)
    }
  })

  clause(
    'DIR-116',
    'A caller without the permission gets the same answer whether the object exists or not.',
    async () => {
      const token = await service.tokenFor({ permissions: ['User.Read.All'] })
      const said = async (path: string, securityEnabledOnly: unknown) => {
        const { status, body } = await ask(path, securityEnabledOnly, token)
        assert.equal(status, 403)
        return { code: body.error.code, message: body.error.message, details: body.error.details }
      }
      for (const [there, missing] of [
        [await directory.user(), randomUUID()],
        [await directory.user(), 'not-an-id'],
        [await directory.group(), randomUUID()],
      ])
        for (const set of ['users', 'groups', 'directoryObjects', 'devices', 'contacts'])
          for (const value of [true, false, 'wrong'])
            assert.deepEqual(await said(`/${set}/${there}`, value), await said(`/${set}/${missing}`, value))
    },
  )
})
