import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('add several members', () => {
  let service: TestService
  let directory: TestDirectory
  let admin: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    admin = await service.tokenFor({
      permissions: ['GroupMember.ReadWrite.All', 'User.ReadWrite.All', 'Group.ReadWrite.All'],
    })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const urlOf = (id: string, set = 'directoryObjects') => `${service.origin}/v1.0/${set}/${id}`
  const patch = (groupId: string, body: unknown, headers: Record<string, string> = {}) =>
    service.request('PATCH', `/v1.0/groups/${groupId}`, { token: admin, body, headers })
  const bind = (groupId: string, urls: unknown) => patch(groupId, { 'members@odata.bind': urls })
  const makeUsers = (count: number) => Promise.all(Array.from({ length: count }, () => directory.user()))

  async function propertiesOf(groupId: string): Promise<Record<string, unknown>> {
    const [row] = await service.database.sql<{ properties: Record<string, unknown> }[]>`
      select properties from directory_object where id = ${groupId}`
    assert.ok(row)
    return row.properties
  }

  clause('DIR-06', 'Members are added to a group one at a time, or up to 20 in one request.', async () => {
    const group = await directory.group()
    const [first = '', ...others] = await makeUsers(21)
    const one = await service.request('POST', `/v1.0/groups/${group}/members/$ref`, {
      token: admin,
      body: { '@odata.id': urlOf(first) },
    })
    assert.equal(one.status, 204)
    assert.equal(
      (
        await bind(
          group,
          others.map((id) => urlOf(id)),
        )
      ).status,
      204,
    )
    assert.deepEqual(await directory.directMembers(group), [first, ...others].sort())
  })

  clause(
    'DIR-49',
    'Several members are added by PATCH `/groups/{group-id}` with the body `{ "members@odata.bind": [<directory object URL>, ...] }`.',
    async () => {
      const group = await directory.group()
      const [a = '', b = ''] = await makeUsers(2)
      const nested = await directory.group()
      const answer = await bind(group, [urlOf(a), urlOf(b, 'users'), urlOf(nested, 'groups')])
      assert.equal(answer.status, 204)
      assert.deepEqual(await directory.directMembers(group), [a, b, nested].sort())
      // An annotation is no property: it takes no permission to update the group.
      const adder = service.tokenFor({ permissions: ['GroupMember.ReadWrite.All', 'User.ReadWrite.All'] })
      const annotated = await service.request('PATCH', `/v1.0/groups/${group}`, {
        token: adder,
        body: { '@odata.type': '#vendor.graph.group', 'members@odata.bind': [urlOf(await directory.user())] },
      })
      assert.equal(annotated.status, 204)
    },
  )

  clause('DIR-50', '`members@odata.bind` has at most 20 entries.', async () => {
    const group = await directory.group()
    const urls = (await makeUsers(21)).map((id) => urlOf(id))
    assert.equal((await bind(group, urls)).status, 400)
    assert.deepEqual(await directory.directMembers(group), [])
    assert.equal((await bind(group, urls.slice(0, 20))).status, 204)
    assert.equal((await directory.directMembers(group)).length, 20)
  })

  clause('DIR-51', 'POST is not supported for `members@odata.bind`.', async () => {
    const [group, user] = [await directory.group(), await directory.user()]
    const body = { 'members@odata.bind': [urlOf(user)] }
    const answer = await service.request('POST', `/v1.0/groups/${group}`, { token: admin, body })
    assert.equal(answer.status, 405)
    const reference = await service.request('POST', `/v1.0/groups/${group}/members/$ref`, {
      token: admin,
      body,
    })
    assert.equal(reference.status, 400)
    assert.deepEqual(await directory.directMembers(group), [])
  })

  clause('DIR-52', 'Adding several members succeeds with 204.', async () => {
    const answer = await bind(await directory.group(), [urlOf(await directory.user())])
    assert.equal(answer.status, 204)
    assert.equal(answer.text, '')
  })

  /** Bodies with one thing wrong among good members, and the status of each. */
  async function makeWrong(group: string): Promise<[string, unknown, number][]> {
    const [good = '', present = '', ...more] = await makeUsers(23)
    await directory.join(present, group)
    const deleted = await directory.user()
    await directory.softDelete(deleted)
    const nineteen = more.slice(0, 19).map((id) => urlOf(id))
    return [
      ['no list', urlOf(good), 400],
      ['null', null, 400],
      ['an object', { 0: urlOf(good) }, 400],
      ['a number in it', [urlOf(good), 7], 400],
      ['null in it', [urlOf(good), null], 400],
      ['a reference object in it', [urlOf(good), { '@odata.id': urlOf(good) }], 400],
      ['a malformed URL', [urlOf(good), 'nonsense'], 400],
      ['a malformed id', [urlOf(good), urlOf('nonsense')], 400],
      ['21 entries', more.map((id) => urlOf(id)), 400],
      ['one twice', [urlOf(good), urlOf(good)], 400],
      ['one twice, spelt differently', [urlOf(good), urlOf(good.toUpperCase(), 'users')], 400],
      ['the group itself', [urlOf(good), urlOf(group)], 400],
      ['a directory role', [urlOf(good), urlOf(await directory.role())], 400],
      ['a member', [urlOf(good), urlOf(present)], 400],
      ['an unknown 20th', [...nineteen, urlOf(randomUUID())], 404],
      ['a deleted 20th', [...nineteen, urlOf(deleted)], 404],
      ['a user by the URL of a group', [...nineteen, urlOf(good, 'groups')], 404],
      ['a 20th that the caller may not add', [...nineteen, urlOf(await directory.device())], 403],
    ]
  }

  clause(
    'DIR-53',
    'Any error in the body of adding several members returns the error code and adds none of them.',
    async () => {
      const group = await directory.group()
      for (const [what, urls, status] of await makeWrong(group)) {
        const before = await directory.directMembers(group)
        const answer = await bind(group, urls)
        assert.equal(answer.status, status, what)
        assert.equal(typeof answer.body.error.code, 'string', what)
        assert.deepEqual(await directory.directMembers(group), before, what)
      }
    },
  )

  clause(
    'DIR-73',
    'Adding several members with any error in the body answers an error status, and afterwards the group has the members that it had before.',
    async () => {
      const group = await directory.group()
      const wrong = await makeWrong(group)
      const before = await directory.directMembers(group)
      assert.equal(before.length, 1)
      // All at once: what one of them leaves behind would disturb another.
      const answers = await Promise.all(wrong.map(([, urls]) => bind(group, urls)))
      assert.ok(answers.every(({ status }) => status >= 400 && status < 500))
      assert.deepEqual(await directory.directMembers(group), before)
    },
  )

  clause(
    'DIR-74',
    'A PATCH of `/groups/{group-id}` with `members@odata.bind` is limited to 20 members per request, and a `mailNickname` to 64 characters: 20 and 64 pass, 21 and 65 do not.',
    async () => {
      const group = await directory.group()
      const urls = (await makeUsers(21)).map((id) => urlOf(id))
      const nickname = (length: number) => `n${randomUUID().slice(0, 8)}`.padEnd(length, 'x')
      assert.equal((await patch(group, { 'members@odata.bind': urls })).status, 400)
      assert.equal((await patch(group, { mailNickname: nickname(65) })).status, 400)
      assert.equal((await patch(group, { 'members@odata.bind': urls.slice(1) })).status, 204)
      assert.equal((await patch(group, { mailNickname: nickname(64) })).status, 204)
    },
  )

  clause(
    'DIR-119',
    'More than 20 entries, one object named twice, or a malformed URL in `members@odata.bind` is 400, and nothing is added.',
    async () => {
      const group = await directory.group()
      const users = await makeUsers(21)
      const [first = ''] = users
      for (const urls of [
        users.map((id) => urlOf(id)),
        [urlOf(first), urlOf(first)],
        [urlOf(first), urlOf(first, 'users')],
        [urlOf(first), 'https://host/v1.0/nowhere'],
      ]) {
        const { status, body } = await bind(group, urls)
        assert.equal(status, 400)
        assert.equal(body.error.code, 'Request_BadRequest')
      }
      assert.deepEqual(await directory.directMembers(group), [])
    },
  )

  clause(
    'DIR-120',
    'An object in `members@odata.bind` that does not exist is 404, and nothing is added.',
    async () => {
      const [group, user, nobody] = [await directory.group(), await directory.user(), randomUUID()]
      const { status, body } = await bind(group, [urlOf(user), urlOf(nobody)])
      assert.equal(status, 404)
      assert.match(body.error.message, new RegExp(nobody))
      assert.deepEqual(await directory.directMembers(group), [])
    },
  )

  clause(
    'DIR-121',
    '`members@odata.bind` may come with ordinary group properties in one PATCH: either all of it happens or none.',
    async () => {
      const group = await directory.group({ description: 'old' })
      const [a = '', b = ''] = await makeUsers(2)
      const together = (description: unknown, ...urls: string[]) =>
        patch(group, { description, 'members@odata.bind': urls })
      assert.equal((await together('new', urlOf(a), urlOf(randomUUID()))).status, 404)
      assert.equal((await together(7, urlOf(a))).status, 400)
      assert.equal((await patch(group, { nonsense: 1, 'members@odata.bind': [urlOf(a)] })).status, 400)
      const stale = await patch(
        group,
        { description: 'new', 'members@odata.bind': [urlOf(a)] },
        { 'if-match': 'W/"99"' },
      )
      assert.equal(stale.status, 412)
      assert.equal((await propertiesOf(group)).description, 'old')
      assert.deepEqual(await directory.directMembers(group), [])
      assert.equal((await together('new', urlOf(a), urlOf(b))).status, 204)
      assert.equal((await propertiesOf(group)).description, 'new')
      assert.deepEqual(await directory.directMembers(group), [a, b].sort())
      // Now a is there already, and the description must stay as well.
      assert.equal((await together('newer', urlOf(a))).status, 400)
      assert.equal((await propertiesOf(group)).description, 'new')

      const membersOnly = await service.tokenFor({
        permissions: ['GroupMember.ReadWrite.All', 'User.ReadWrite.All'],
      })
      const body = { description: 'x', 'members@odata.bind': [urlOf(await directory.user())] }
      const refused = await service.request('PATCH', `/v1.0/groups/${group}`, { token: membersOnly, body })
      assert.equal(refused.status, 403)
    },
  )
})
