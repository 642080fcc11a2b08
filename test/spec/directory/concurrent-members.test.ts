import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('members written at the same time', () => {
  let service: TestService
  let directory: TestDirectory
  let token: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    token = await service.tokenFor({
      permissions: ['GroupMember.ReadWrite.All', 'User.ReadWrite.All', 'Group.ReadWrite.All'],
    })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const urlOf = (id: string) => `${service.origin}/v1.0/directoryObjects/${id}`
  const makeUsers = (count: number) => Promise.all(Array.from({ length: count }, () => directory.user()))

  async function patch(groupId: string, body: object, headers: Record<string, string> = {}): Promise<number> {
    return (await service.request('PATCH', `/v1.0/groups/${groupId}`, { token, body, headers })).status
  }
  const bind = (groupId: string, ids: readonly string[], headers: Record<string, string> = {}) =>
    patch(groupId, { 'members@odata.bind': ids.map(urlOf) }, headers)

  test('of two PATCHes with a member in common one adds all of its members and the other none', async () => {
    for (let round = 0; round < 10; round++) {
      const group = await directory.group()
      const [common = '', ...others] = await makeUsers(9)
      const left = [...others.slice(0, 4), common]
      const right = [common, ...others.slice(4)].reverse()
      const statuses = await Promise.all([bind(group, left), bind(group, right)])
      assert.deepEqual(statuses.toSorted(), [204, 400])
      const winner = statuses[0] === 204 ? left : right
      assert.deepEqual(await directory.directMembers(group), winner.toSorted())
    }
  })

  test('two lenient PATCHes with members in common both succeed, and nobody is there twice', async () => {
    for (let round = 0; round < 5; round++) {
      const group = await directory.group()
      const users = await makeUsers(12)
      const lenient = { prefer: 'handling=lenient' }
      const statuses = await Promise.all([
        bind(group, users.slice(0, 8), lenient),
        bind(group, users.slice(4).reverse(), lenient),
      ])
      assert.deepEqual(statuses, [204, 204])
      assert.deepEqual(await directory.directMembers(group), users.toSorted())
    }
  })

  test('of many who add the same member one is told that it was added', async () => {
    const [group, user] = [await directory.group(), await directory.user()]
    const path = `/v1.0/groups/${group}/members/$ref`
    const body = { '@odata.id': urlOf(user) }
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => service.request('POST', path, { token, body })),
    )
    assert.equal(answers.filter(({ status }) => status === 204).length, 1)
    assert.equal(answers.filter(({ status }) => status === 400).length, 29)
  })

  test('groups that are put into each other at the same time do not wait for each other for ever', async () => {
    const groups = await Promise.all(Array.from({ length: 6 }, () => directory.group()))
    const users = await makeUsers(6)
    const everybody = [...groups, ...users]
    const requests = groups.flatMap((group, at) => {
      const others = everybody.filter((id) => id !== group)
      const turned = [...others.slice(at), ...others.slice(0, at)]
      return [
        bind(group, turned),
        patch(group, { description: `at ${at}`, 'members@odata.bind': turned.toReversed().map(urlOf) }),
        patch(group, { description: `by ${at}` }),
      ]
    })
    const statuses = await Promise.all(requests)
    assert.ok(statuses.every((status) => status === 204 || status === 400))
    for (const group of groups)
      assert.deepEqual(
        await directory.directMembers(group),
        everybody.filter((id) => id !== group).toSorted(),
      )
  })

  test('of two updates under the same If-Match one happens', async () => {
    for (let round = 0; round < 5; round++) {
      const group = await directory.group()
      const headers = { 'if-match': 'W/"1"' }
      const statuses = await Promise.all([
        patch(group, { description: 'left' }, headers),
        patch(group, { description: 'right' }, headers),
        patch(group, { displayName: 'third' }, headers),
      ])
      assert.deepEqual(statuses.toSorted(), [204, 412, 412])
    }
  })

  test('nobody joins a group after its deletion was acknowledged', async () => {
    for (let round = 0; round < 5; round++) {
      const group = await directory.group()
      const users = await makeUsers(6)
      const [deletion, ...additions] = await Promise.all([
        service.request('DELETE', `/v1.0/groups/${group}`, { token }),
        ...users.map((id) => bind(group, [id])),
      ])
      assert.equal(deletion.status, 204)
      assert.ok(additions.every((status) => status === 204 || status === 404))
      const added = users.filter((_, at) => additions[at] === 204)
      assert.deepEqual(await directory.directMembers(group), added.toSorted())
      assert.equal(await bind(group, users.slice(0, 1)), 404)
    }
  })

  test('the change log has every acknowledged change once, without a gap', async () => {
    const { sql } = service.database
    const [row] = await sql<{ first: number; last: number; all: number; twice: number }[]>`
      select min(revision) as first, max(revision) as last, count(*) as all,
        (select count(*) from (select from change_log where kind = 'memberAdded'
          group by entity_id, data having count(*) > 1) as again) as twice
      from change_log`
    assert.deepEqual(row, { first: 1, last: row?.all, all: row?.all, twice: 0 })
    const [missing] = await sql`
      select count(*) as edges from member_edge e where not exists (
        select from change_log c where c.kind = 'memberAdded'
          and c.entity_id = e.container_id::text and c.data ->> 'id' = e.member_id::text)`
    assert.equal(missing?.edges, 0)
  })
})
