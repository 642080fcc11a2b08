import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const standAlone: Record<string, [unknown, unknown]> = {
  allowExternalSenders: [true, 'yes'],
  autoSubscribeNewMembers: [true, 1],
  hideFromAddressLists: [true, null],
  hideFromOutlookClients: [true, 'true'],
  isSubscribedByMail: [false, {}],
  unseenCount: [7, '7'],
}

describe('update group, its rules', () => {
  let service: TestService
  let directory: TestDirectory
  let admin: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    admin = await service.tokenFor({ permissions: ['Group.ReadWrite.All'] })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const patch = (id: string, body: unknown, token = admin, headers: Record<string, string> = {}) =>
    service.request('PATCH', `/v1.0/groups/${id}`, { token, body, headers })

  async function read(id: string): Promise<{ properties: Record<string, unknown>; version: number }> {
    const [row] = await service.database.sql<{ properties: Record<string, unknown>; version: number }[]>`
      select properties, version from directory_object where id = ${id}`
    assert.ok(row)
    return row
  }
  const stored = async (id: string) => (await read(id)).properties

  clause(
    'DIR-09',
    '`allowExternalSenders` is a Boolean, false by default: whether people outside the organization may send messages to the group.',
    async () => {
      const id = await directory.unifiedGroup()
      const shown = async () => {
        const token = await service.tokenFor({ permissions: ['Group.Read.All'] })
        const path = `/v1.0/groups/${id}?$select=allowExternalSenders`
        return (await service.request('GET', path, { token })).body.allowExternalSenders
      }
      assert.equal(await shown(), false)
      const answer = await patch(id, { allowExternalSenders: true })
      assert.equal(answer.status, 200)
      assert.equal(answer.body.allowExternalSenders, true)
      assert.equal(await shown(), true)
      assert.equal((await patch(id, { allowExternalSenders: 'true' })).status, 400)
    },
  )

  clause(
    'DIR-11',
    '`autoSubscribeNewMembers` is a Boolean, false by default: whether new members are subscribed to e-mail notifications by themselves.',
    async () => {
      const id = await directory.unifiedGroup({ subscriptionEnabled: true })
      const token = await service.tokenFor({ permissions: ['Group.Read.All'] })
      const path = `/v1.0/groups/${id}?$select=autoSubscribeNewMembers`
      const { body } = await service.request('GET', path, { token })
      assert.equal(body.autoSubscribeNewMembers, false)
      const answer = await patch(id, { autoSubscribeNewMembers: true })
      assert.equal(answer.status, 200)
      assert.equal(answer.body.autoSubscribeNewMembers, true)
      assert.equal((await patch(id, { autoSubscribeNewMembers: 'no' })).status, 400)
    },
  )

  clause(
    'DIR-12',
    '`autoSubscribeNewMembers` cannot be true on a group whose `subscriptionEnabled` is false.',
    async () => {
      const id = await directory.unifiedGroup({ subscriptionEnabled: false })
      assert.equal((await patch(id, { autoSubscribeNewMembers: true })).status, 400)
      assert.equal((await patch(id, { autoSubscribeNewMembers: false })).status, 200)
      assert.equal((await patch(id, { subscriptionEnabled: true })).status, 204)
      assert.equal((await patch(id, { autoSubscribeNewMembers: true })).status, 200)
      assert.equal((await patch(id, { subscriptionEnabled: false })).status, 204)
      assert.notEqual((await stored(id)).autoSubscribeNewMembers, true)
    },
  )

  clause(
    'DIR-25',
    '`hideFromAddressLists`, `hideFromOutlookClients`, `isSubscribedByMail` and `unseenCount` are properties of a group too, each with the special update rule of DIR-57.',
    async () => {
      const id = await directory.unifiedGroup()
      for (const name of [
        'hideFromAddressLists',
        'hideFromOutlookClients',
        'isSubscribedByMail',
        'unseenCount',
      ]) {
        const [good, bad] = standAlone[name] ?? []
        assert.equal((await patch(id, { [name]: bad })).status, 400, name)
        assert.equal((await patch(id, { [name]: good })).status, 200, name)
        assert.equal((await patch(id, { [name]: good, description: 'x' })).status, 400, name)
        assert.deepEqual((await stored(id))[name], good)
      }
      assert.equal((await patch(id, { unseenCount: -1 })).status, 400)
    },
  )

  clause('DIR-26', '`subscriptionEnabled` is a property of a group, on which DIR-12 depends.', async () => {
    const id = await directory.unifiedGroup()
    for (const value of [false, true]) {
      assert.equal((await patch(id, { subscriptionEnabled: value })).status, 204)
      assert.equal((await stored(id)).subscriptionEnabled, value)
      assert.equal((await patch(id, { autoSubscribeNewMembers: true })).status, value ? 200 : 400)
    }
    assert.equal((await patch(id, { subscriptionEnabled: 'yes' })).status, 400)
  })

  clause(
    'DIR-55',
    'The body of an update is a JSON object with the properties to change and no others.',
    async () => {
      const id = await directory.group()
      for (const body of ['[]', 'null', '"x"', '7', 'true', '[{"description":"x"}]', '{"description":"x"']) {
        assert.equal((await patch(id, body)).status, 400, body)
      }
      assert.equal((await patch(id, { '@odata.type': '#vendor.graph.group', description: 'x' })).status, 204)
      for (const name of [
        'id',
        'createdDateTime',
        'deletedDateTime',
        'isAssignableToRole',
        'mail',
        'members',
      ])
        assert.equal((await patch(id, { [name]: 'x', description: 'y' })).status, 400, name)
      assert.equal((await stored(id)).description, 'x')
    },
  )

  clause(
    'DIR-56',
    'A property that is not in the body keeps its value, unless it is calculated from one that changed.',
    async () => {
      const id = await directory.unifiedGroup({ description: 'kept', visibility: 'Private', unseenCount: 3 })
      const before = await stored(id)
      assert.equal((await patch(id, { displayName: 'Other' })).status, 204)
      assert.deepEqual(await stored(id), { ...before, displayName: 'Other' })
    },
  )

  clause(
    'DIR-57',
    '`allowExternalSenders`, `autoSubscribeNewMembers`, `hideFromAddressLists`, `hideFromOutlookClients`, `isSubscribedByMail` and `unseenCount` must each come in a PATCH of its own, with none of the other properties.',
    async () => {
      const id = await directory.unifiedGroup()
      const user = `${service.origin}/v1.0/users/${await directory.user()}`
      const before = await read(id)
      const names = Object.keys(standAlone)
      const company: Record<string, unknown> = {
        description: 'x',
        displayName: 'x',
        mailNickname: 'x',
        securityEnabled: true,
        subscriptionEnabled: true,
        'members@odata.bind': [user],
        nonsense: 1,
      }
      for (const name of names) {
        const own = { [name]: standAlone[name]?.[0] }
        for (const [other, value] of Object.entries(company))
          assert.equal((await patch(id, { ...own, [other]: value })).status, 400, `${name} with ${other}`)
        for (const other of names.filter((one) => one !== name)) {
          const answer = await patch(id, { ...own, [other]: standAlone[other]?.[0] })
          assert.equal(answer.status, 400, `${name} with ${other}`)
        }
      }
      assert.deepEqual(await read(id), before)
      assert.deepEqual(await directory.directMembers(id), [])
      for (const name of names)
        assert.equal((await patch(id, { [name]: standAlone[name]?.[0] })).status, 200, name)
    },
  )

  clause(
    'DIR-58',
    'An update succeeds with 204, or with 200 when it is of one of the six properties of DIR-57.',
    async () => {
      const id = await directory.unifiedGroup()
      const plain = await patch(id, { description: 'x' })
      assert.equal(plain.status, 204)
      assert.equal(plain.text, '')
      for (const [name, [value]] of Object.entries(standAlone))
        assert.equal((await patch(id, { [name]: value })).status, 200, name)
    },
  )

  clause(
    'DIR-62',
    'Core administration and management of groups supports delegated and application permissions; everything else about a group, updating `autoSubscribeNewMembers` among it, supports delegated permissions only.',
    async () => {
      const id = await directory.unifiedGroup()
      const token = await service.tokenFor({ kind: 'application', permissions: ['Group.ReadWrite.All'] })
      assert.equal((await patch(id, { description: 'x' }, token)).status, 204)
      assert.equal((await patch(id, { autoSubscribeNewMembers: true }, token)).status, 403)
      assert.equal((await patch(id, { autoSubscribeNewMembers: true })).status, 200)
    },
  )

  clause(
    'DIR-123',
    'The six properties of DIR-57 need a delegated token; an application token is answered 403.',
    async () => {
      const id = await directory.unifiedGroup()
      const before = await read(id)
      const permissions = ['Group.ReadWrite.All', 'Directory.ReadWrite.All']
      const token = await service.tokenFor({ kind: 'application', permissions })
      for (const [name, [value]] of Object.entries(standAlone))
        assert.equal((await patch(id, { [name]: value }, token)).status, 403, name)
      assert.deepEqual(await read(id), before)
    },
  )

  clause(
    'DIR-124',
    'The 200 that answers one of the six properties of DIR-57 has the group as its JSON body.',
    async () => {
      const id = await directory.unifiedGroup({ displayName: 'Shown' })
      for (const [name, [value]] of Object.entries(standAlone)) {
        const { body, headers } = await patch(id, { [name]: value })
        assert.match(headers.get('content-type') ?? '', /^application\/json;odata\.metadata=minimal/)
        assert.equal(body['@odata.context'], `${service.origin}/v1.0/$metadata#groups/$entity`)
        assert.equal(body.id, id)
        assert.equal(body.displayName, 'Shown')
        assert.deepEqual(body.groupTypes, ['Unified'])
        assert.deepEqual(body[name], value)
      }
    },
  )

  clause('DIR-125', 'An update with an unknown property is 400, and nothing is changed.', async () => {
    const id = await directory.group({ description: 'old' })
    const names = [
      'nonsense',
      'DisplayName',
      'members',
      'owners@odata.bind',
      'constructor',
      'toString',
      'hasOwnProperty',
      'extension_0123456789abcdef0123456789abcdef_unknown',
      'example_unknown',
      '',
      ' ',
      'x'.repeat(5000),
      "'; drop table directory_object; --",
    ]
    for (const name of names) {
      const { status, body } = await patch(id, { description: 'new', [name]: 'x' })
      assert.equal(status, 400, name.slice(0, 50))
      assert.equal(body.error.code, 'Request_BadRequest')
      assert.ok(body.error.message.length < 400)
    }
    assert.equal((await patch(id, '{"description":"new","__proto__":{"x":1}}')).status, 400)
    assert.equal((await patch(id, '{"description":"new","description":"twice"}')).status, 400)
    assert.equal((await stored(id)).description, 'old')
  })

  test('an update under If-Match happens only to the state that it names', async () => {
    const id = await directory.group()
    const tag = (version: number) => ({ 'if-match': `W/"${version}"` })
    assert.equal((await patch(id, { description: 'a' }, admin, tag(2))).status, 412)
    assert.equal((await patch(id, { description: 'a' }, admin, tag(1))).status, 204)
    assert.equal((await patch(id, { description: 'b' }, admin, tag(1))).status, 412)
    assert.equal((await patch(id, { description: 'c' }, admin, { 'if-match': '*' })).status, 204)
    assert.equal((await stored(id)).description, 'c')
  })

  test('an update is audited and logged with what it changed', async () => {
    const id = await directory.group({ description: 'old' })
    const user = await directory.user()
    const token = await service.tokenFor({
      permissions: ['Group.ReadWrite.All', 'GroupMember.ReadWrite.All', 'User.ReadWrite.All'],
    })
    const url = `${service.origin}/v1.0/users/${user}`
    const answer = await patch(id, { description: 'new', 'members@odata.bind': [url] }, token)
    assert.equal(answer.status, 204)
    const { sql } = service.database
    const audited = await sql`
      select action, before, after, request_id from audit_event where target = ${`/groups/${id}`}`
    assert.deepEqual(audited, [
      {
        action: 'update group',
        before: { description: 'old' },
        after: { description: 'new', members: [user] },
        request_id: answer.headers.get('request-id'),
      },
    ])
    const logged =
      await sql`select entity, kind, data from change_log where entity_id = ${id} order by revision`
    assert.deepEqual(logged, [
      { entity: 'group', kind: 'updated', data: { version: 2 } },
      { entity: 'group', kind: 'memberAdded', data: { id: user } },
    ])
  })

  test('what is refused leaves no trace in audit and change log', async () => {
    const id = await directory.group()
    const revision = () => service.database.sql`select value from revision_counter`
    const before = await revision()
    assert.equal((await patch(id, { description: 'x', nonsense: 1 })).status, 400)
    assert.equal((await patch(randomUUID(), { description: 'x' })).status, 404)
    assert.deepEqual(await revision(), before)
    const { length } = await service.database.sql`select from audit_event where target = ${`/groups/${id}`}`
    assert.equal(length, 0)
  })
})
