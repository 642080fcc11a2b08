import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, type TestContext, test } from 'node:test'
import pg from 'pg'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

/** The statements that this process sends to PostgreSQL from now on, by their texts; 'check' for a check of the revision. */
function watchStatements(t: TestContext): string[] {
  const statements: string[] = []
  const { query } = pg.Client.prototype
  t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...sent: unknown[]) {
    const [config] = sent as [string | { text?: string }]
    statements.push((typeof config === 'string' ? config : config.text) ?? 'check')
    return Reflect.apply(query, this, sent)
  })
  return statements
}

describe('check memberships and explain them', () => {
  let service: TestService
  let directory: TestDirectory
  let reader: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    reader = await service.tokenFor({ permissions: ['Directory.Read.All'] })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const post = (path: string, body: unknown, token = reader) =>
    service.request('POST', `/v1.0${path}`, { token, body })
  const explain = (id: string, groupId: unknown, token = reader) =>
    post(`/directoryObjects/${id}/explainMembership`, { groupId }, token)

  async function value(path: string, body: unknown): Promise<string[]> {
    const answer = await post(path, body)
    assert.equal(answer.status, 200, path)
    assert.equal(answer.body['@odata.context'], `${service.origin}/v1.0/$metadata#Collection(Edm.String)`)
    return answer.body.value
  }

  clause(
    'DIR-193',
    'While the index is in memory, the membership actions take no statement but the check of the revision…',
    async (t) => {
      const [group, role, user] = [await directory.group(), await directory.role(), await directory.user()]
      await directory.join(user, group)
      await directory.join(group, role)
      const ask = async (id: string) => {
        const answers = [
          await value(`/users/${id}/getMemberGroups`, { securityEnabledOnly: false }),
          await value(`/directoryObjects/${user}/getMemberObjects`, { securityEnabledOnly: false }),
          await value(`/users/${id}/checkMemberGroups`, { groupIds: [group] }),
          await value(`/users/${id}/checkMemberObjects`, { ids: [role] }),
        ]
        assert.deepEqual(
          answers.map((ids) => ids.length),
          [2, 2, 1, 1],
        )
      }
      await ask(user)
      const shown = await service.request('GET', `/v1.0/users/${user}`, { token: reader })
      await service.memberships.settled()
      await ask(shown.body.userPrincipalName)
      const statements = watchStatements(t)
      await ask(user)
      await ask(shown.body.userPrincipalName)
      const aboutDirectory = () =>
        statements.filter((text) => /directory_object|_edge|audit_event/.test(text))
      assert.deepEqual(aboutDirectory(), [])
      const checks = statements.filter((text) => text === 'check').length
      assert.ok(checks >= 8 && checks <= 16, `${checks} checks for 8 requests`)
      assert.equal((await explain(user, group)).status, 200)
      assert.equal(aboutDirectory().length, 1, 'the names of the groups')
    },
  )

  clause(
    'DIR-138',
    'checkMemberGroups, getMemberObjects, checkMemberObjects and getByIds answer from the same membership as getMemberGroups.',
    async () => {
      const [inner, outer, other, role] = [
        await directory.group(),
        await directory.unifiedGroup(),
        await directory.group(),
        await directory.role(),
      ]
      await directory.join(inner, outer)
      await directory.join(outer, role)
      const objects: [string, string][] = [
        ['users', await directory.user()],
        ['servicePrincipals', await directory.servicePrincipal()],
        ['devices', await directory.device()],
        ['contacts', await directory.contact()],
        ['directoryObjects', await directory.device()],
        ['groups', await directory.group()],
      ]
      const asked = [other, role, outer, inner, randomUUID()]
      for (const [set, id] of objects) {
        await directory.join(id, inner)
        const path = `/${set}/${id}`
        assert.deepEqual(await value(`${path}/checkMemberGroups`, { groupIds: asked }), [outer, inner], set)
        assert.deepEqual(await value(`${path}/checkMemberObjects`, { ids: asked }), [role, outer, inner], set)
        const all = await value(`${path}/getMemberObjects`, { securityEnabledOnly: false })
        assert.deepEqual(all.toSorted(), [inner, outer, role].sort())
        assert.deepEqual(
          (await value(`${path}/getMemberGroups`, { securityEnabledOnly: false })).toSorted(),
          all.toSorted(),
        )
        assert.equal((await post(`${path}/getMemberObjects`, {})).status, 400)
      }
      const [, user = ''] = objects[0] ?? []
      const token = await service.tokenFor({ permissions: ['Directory.Read.All'], principal: user })
      const mine = await post('/me/checkMemberGroups', { groupIds: [inner, other] }, token)
      assert.deepEqual(mine.body.value, [inner])
    },
  )

  test('at most 20 identifiers are checked in one request, and each must be one', async () => {
    const path = `/users/${await directory.user()}`
    const twenty = Array.from({ length: 20 }, () => randomUUID())
    assert.deepEqual(await value(`${path}/checkMemberGroups`, { groupIds: twenty }), [])
    assert.deepEqual(await value(`${path}/checkMemberGroups`, { groupIds: [] }), [])
    const wrong: unknown[] = [
      { groupIds: [...twenty, randomUUID()] },
      { groupIds: 'x' },
      { groupIds: ['x'] },
      { groupIds: [7] },
      { groupIds: null },
      {},
      { ids: twenty },
    ]
    for (const body of wrong)
      assert.equal(
        (await post(`${path}/checkMemberGroups`, body)).status,
        400,
        JSON.stringify(body).slice(0, 50),
      )
    const weak = await service.tokenFor({ permissions: ['User.Read.All'] })
    for (const id of [randomUUID(), await directory.user()]) {
      assert.equal((await post(`/users/${id}/checkMemberGroups`, { groupIds: twenty }, weak)).status, 403)
      assert.equal((await post(`/users/${id}/checkMemberObjects`, { ids: twenty }, weak)).status, 403)
      assert.equal(
        (await post(`/users/${id}/getMemberObjects`, { securityEnabledOnly: true }, weak)).status,
        403,
      )
    }
  })

  clause(
    'DIR-145',
    '`explainMembership` returns the shortest chain of groups that makes an object a member of a group.',
    async () => {
      const user = await directory.user()
      const [a, b, c, target] = [
        await directory.group(),
        await directory.group(),
        await directory.group({ displayName: 'The short way' }),
        await directory.group({ displayName: 'The target' }),
      ]
      await directory.join(user, a, c)
      await directory.join(a, b)
      await directory.join(b, target)
      await directory.join(c, target)
      await directory.join(target, a)
      const { status, body } = await explain(user, target)
      assert.equal(status, 200)
      assert.deepEqual(
        body.value.map((one: Record<string, string>) => [one['@odata.type'], one.id, one.displayName]),
        [
          ['#vendor.graph.group', c, 'The short way'],
          ['#vendor.graph.group', target, 'The target'],
        ],
      )
      await directory.softDelete(c)
      const longer = await explain(user, target)
      assert.deepEqual(
        longer.body.value.map(({ id }: { id: string }) => id),
        [a, b, target],
      )
      const direct = await explain(user, a)
      assert.deepEqual(
        direct.body.value.map(({ id }: { id: string }) => id),
        [a],
      )
      const role = await directory.role()
      await directory.join(target, role)
      const held = await explain(user, role)
      assert.deepEqual(
        held.body.value.map(({ id }: { id: string }) => id),
        [a, b, target, role],
      )
    },
  )

  test('who is no member, is not explained', async () => {
    const [user, group] = [await directory.user(), await directory.group()]
    const cases: [string, string, number][] = [
      [user, group, 404],
      [group, group, 404],
      [user, randomUUID(), 404],
      [randomUUID(), group, 404],
      [user, user, 404],
      [user, 'nonsense', 400],
      ['nonsense', group, 400],
    ]
    for (const [id, groupId, status] of cases) {
      const answer = await explain(id, groupId)
      assert.equal(answer.status, status, `${id} in ${groupId}`)
      assert.ok(answer.body.error.code)
    }
    for (const groupId of [null, 7, [group]]) assert.equal((await explain(user, groupId)).status, 400)
    const weak = await service.tokenFor({ permissions: ['User.Read.All'] })
    for (const id of [user, randomUUID()]) assert.equal((await explain(id, group, weak)).status, 403)
  })
})
