import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { importDirectory } from '../../../src/directory/transfer/import-directory.ts'
import type { ImportFailed } from '../../../src/directory/transfer/import-result.ts'
import { caller, everything } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { globalAdministrator } from '../../support/tokens.ts'

describe('more relations', () => {
  let service: TestService
  let directory: TestDirectory
  let token: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    token = service.tokenFor({
      kind: 'application',
      permissions: [...everything, 'GroupMember.ReadWrite.All', 'Application.ReadWrite.All'],
    })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = caller(
    () => service,
    () => token,
  )
  const urlOf = (id: string) => `${service.origin}/v1.0/directoryObjects/${id}`
  const newGroup = (more: Record<string, unknown>) => ({
    displayName: 'Bound',
    mailNickname: `b${randomUUID()}`,
    mailEnabled: false,
    securityEnabled: true,
    ...more,
  })
  const idsAt = async (path: string) =>
    (await call('GET', path, 200)).body.value.map(({ id }: { id: string }) => id).toSorted()

  clause(
    'DIR-209',
    '`POST /groups` takes up to 20 URLs each in `members@odata.bind` and `owners@odata.bind`: the group is created with all of them or not at all, …',
    async () => {
      const [owner, user, device] = [await directory.user(), await directory.user(), await directory.device()]
      const inner = await directory.group()
      const members = [user, device, inner]
      const { body: made } = await call('POST', '/groups', 201, {
        ...newGroup({}),
        'members@odata.bind': members.map(urlOf),
        'owners@odata.bind': [urlOf(owner)],
      })
      assert.deepEqual(await idsAt(`/groups/${made.id}/members`), members.toSorted())
      assert.deepEqual(await idsAt(`/groups/${made.id}/owners`), [owner])
      const [groups] = await service.database.sql<{ count: number }[]>`
        select count(*) as count from directory_object where kind = 'group'`
      const wrong: [Record<string, unknown>, number][] = [
        [{ 'members@odata.bind': [urlOf(randomUUID())] }, 404],
        [{ 'members@odata.bind': [urlOf(user), urlOf(user)] }, 400],
        [{ 'members@odata.bind': Array.from({ length: 21 }, () => urlOf(user)) }, 400],
        [{ 'members@odata.bind': ['x'] }, 400],
        [{ 'members@odata.bind': urlOf(user) }, 400],
        [{ 'owners@odata.bind': [urlOf(device)] }, 400],
        [{ 'owners@odata.bind': [urlOf(owner), urlOf(owner)] }, 400],
        [{ 'owners@odata.bind': [urlOf(randomUUID())] }, 404],
        [{ isAssignableToRole: true, 'members@odata.bind': [urlOf(inner)] }, 400],
      ]
      for (const [more, status] of wrong) await call('POST', '/groups', status, newGroup(more))
      const [left] = await service.database.sql<{ count: number }[]>`
        select count(*) as count from directory_object where kind = 'group'`
      assert.equal(left?.count, groups?.count, 'a refused request left a group')

      const ask = async (permissions: string[], more: Record<string, unknown>) => {
        const asked = await service.request('POST', '/v1.0/groups', {
          token: service.tokenFor({ kind: 'application', permissions }),
          body: newGroup(more),
        })
        return asked.status
      }
      const bound = { 'members@odata.bind': [urlOf(user)] }
      assert.equal(await ask(['Group.ReadWrite.All'], bound), 403)
      assert.equal(await ask(['Group.Create'], { 'owners@odata.bind': [urlOf(owner)] }), 403)
      const adding = ['Group.ReadWrite.All', 'GroupMember.ReadWrite.All', 'User.ReadWrite.All']
      assert.equal(await ask(adding, bound), 201)
      assert.equal(await ask(adding, { ...bound, isAssignableToRole: true }), 403)

      const person = service.tokenFor({ principal: user, permissions: adding })
      const own = await service.request('POST', '/v1.0/groups', {
        token: person,
        body: newGroup({ 'members@odata.bind': [urlOf(owner)], 'owners@odata.bind': [urlOf(owner)] }),
      })
      assert.equal(own.status, 201, own.text)
      assert.deepEqual(await idsAt(`/groups/${own.body.id}/owners`), [owner, user].toSorted())
    },
  )

  clause(
    'DIR-210',
    '`GET /users/{id}/manager` and `GET /me/manager` return the manager of a user, `PUT` and `DELETE` of `/users/{id}/manager/$ref` set and remove the one manager, and `directReports` lists the users that a user manages. …',
    async () => {
      const [boss, other, report] = [await directory.user(), await directory.user(), await directory.user()]
      const manager = `/users/${report}/manager`
      const refer = (id: string) => ({ '@odata.id': urlOf(id) })
      await call('GET', manager, 404)
      await call('DELETE', `${manager}/$ref`, 404)
      await call('PUT', `${manager}/$ref`, 204, refer(other))
      await call('PUT', `${manager}/$ref`, 204, refer(boss))
      const { body } = await call('GET', `${manager}?$select=id`, 200)
      assert.deepEqual([body.id, body['@odata.type']], [boss, '#vendor.graph.user'])
      assert.deepEqual(await idsAt(`/users/${boss}/directReports`), [report])
      assert.deepEqual(await idsAt(`/users/${other}/directReports`), [])
      assert.equal((await call('GET', `/users/${boss}/directReports/$count`, 200)).text, '1')
      assert.deepEqual(await idsAt(`/users?$filter=directReports/any(r:r/id eq '${report}')`), [boss])
      const expanded = await call('GET', `/users/${report}?$expand=manager($select=id)`, 200)
      assert.equal(expanded.body.manager.id, boss)
      const without = await call('GET', `/users/${boss}?$expand=manager,directReports`, 200)
      assert.equal(without.body.manager, undefined)
      assert.equal(without.body.directReports[0].id, report)
      await call('PUT', `${manager}/$ref`, 400, refer(report))
      await call('PUT', `${manager}/$ref`, 400, refer(await directory.group()))
      await call('PUT', `${manager}/$ref`, 404, refer(randomUUID()))

      const permissions = ['User.ReadWrite.All', 'Directory.ReadWrite.All']
      const asPerson = (directoryRoles: readonly string[] = []) =>
        service.tokenFor({ principal: report, permissions, directoryRoles })
      const set = (asked: string, token: string) =>
        service.request('PUT', `/v1.0${asked}/$ref`, { token, body: refer(other) })
      assert.equal((await set(manager, asPerson())).status, 403)
      assert.equal((await set(`/users/${boss}/manager`, asPerson())).status, 403)
      const mine = await service.request('GET', '/v1.0/me/manager', { token: asPerson() })
      assert.equal(mine.body.id, boss)
      assert.equal((await set(manager, asPerson(globalAdministrator))).status, 204)
      const weak = service.tokenFor({ kind: 'application', permissions: ['User.Read.All'] })
      assert.equal((await set(manager, weak)).status, 403)
      const rights = await call('GET', `/users/${other}/carriedRights`, 200)
      assert.deepEqual(rights.body.value, [])
      await call('DELETE', `${manager}/$ref`, 204)
      await call('GET', manager, 404)
    },
  )

  clause(
    'DIR-215',
    'Dynamic membership is refused: a group with `DynamicMembership` in its `groupTypes` or with a `membershipRule` is 400.',
    async () => {
      const group = await directory.group()
      for (const dynamic of [
        { groupTypes: ['DynamicMembership'] },
        { groupTypes: ['Unified', 'DynamicMembership'] },
        { membershipRule: 'user.department -eq "Sales"' },
        { membershipRule: '' },
        { membershipRuleProcessingState: 'On' },
      ]) {
        const refused = /^Dynamic membership \(.*\) is not supported/
        const made = await call('POST', '/groups', 400, newGroup(dynamic))
        assert.match(made.body.error.message, refused)
        const changed = await call('PATCH', `/groups/${group}`, 400, dynamic)
        assert.match(changed.body.error.message, refused)
        const headers = { 'content-type': 'application/json' }
        const batch = await call('POST', '/$batch', 200, {
          requests: [
            { id: '1', method: 'POST', url: '/groups', headers, body: newGroup(dynamic) },
            { id: '2', method: 'PATCH', url: `/groups/${group}`, headers, body: dynamic },
          ],
        })
        for (const { status, body } of batch.body.responses) {
          assert.equal(status, 400)
          assert.match(body.error.message, refused)
        }
        const line = JSON.stringify({ type: 'group', ...newGroup(dynamic) })
        await assert.rejects(
          service.database.transaction((tx) =>
            importDirectory(tx, { tenantId: service.tenantId, fileName: 'x', chunks: oneChunk(line) }),
          ),
          ({ faults }: ImportFailed) => faults.some(({ reason }) => refused.test(reason)),
        )
      }
      await call('PATCH', `/groups/${group}`, 204, { membershipRule: null })
    },
  )
})

async function* oneChunk(text: string) {
  yield Buffer.from(text)
}
