import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { caller, everything } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('$expand and Prefer', () => {
  let service: TestService
  let directory: TestDirectory
  let token: string
  let users: string[]
  let group: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    token = service.tokenFor({ kind: 'application', permissions: everything })
    users = []
    for (let at = 0; at < 25; at++) users.push(await directory.user())
    users.sort()
    group = await directory.group({ displayName: 'Expanded' })
    for (const user of users) await directory.join(user, group)
    await service.database.sql`
      insert into owner_edge (tenant_id, object_id, owner_id)
      values (${service.tenantId}, ${group}, ${users[0] ?? ''})`
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = caller(
    () => service,
    () => token,
  )
  const get = async (path: string) => (await call('GET', path, 200)).body
  const idsOf = (items: { id: string }[]) => items.map(({ id }) => id)

  clause(
    'DIR-207',
    '`$expand` follows the direct relations of an object, on one object and in lists, with `$select` and `$top` (1 to 100, 20 if not given) inside: `members($select=id;$top=5)`. …',
    async () => {
      const one = await get(`/groups/${group}?$select=displayName&$expand=members($select=id;$top=2),owners`)
      assert.deepEqual(idsOf(one.members), users.slice(0, 2))
      assert.deepEqual(Object.keys(one.members[0]).toSorted(), ['@odata.etag', '@odata.type', 'id'])
      assert.deepEqual(idsOf(one.owners), users.slice(0, 1))
      assert.equal(one.owners[0]['@odata.type'], '#vendor.graph.user')
      assert.equal(one['owners@odata.nextLink'], undefined)
      const rest: string[] = []
      for (let next = one['members@odata.nextLink']; next; ) {
        const page = await get(next)
        rest.push(...idsOf(page.value))
        next = page['@odata.nextLink']
      }
      assert.deepEqual(rest, users.slice(2))

      const list = await get("/groups?$filter=displayName eq 'Expanded'&$expand=members")
      assert.deepEqual(idsOf(list.value[0].members), users.slice(0, 20))
      const people = await get('/users?$expand=memberOf($select=displayName),extensions&$top=3')
      for (const { id, memberOf, extensions } of people.value) {
        assert.deepEqual(
          memberOf.map(({ displayName }: { displayName: string }) => displayName),
          // The administrator of the first start, in a role, may be among the first three.
          users.includes(id)
            ? ['Expanded']
            : (await get(`/users/${id}/memberOf`)).value.map(
                (one: { displayName: string }) => one.displayName,
              ),
        )
        assert.deepEqual(extensions, [])
      }
      for (const wrong of [
        'nothing',
        'transitiveMembers',
        'members($filter=id eq null)',
        'members($top=0)',
        'members($top=101)',
        'members($select=nothing)',
        'members,members',
        'members(',
        '',
      ])
        await call('GET', `/groups/${group}?$expand=${wrong}`, 400)
    },
  )

  test('what the caller may not read is not expanded', async () => {
    const ask = (permissions: string[], path: string) =>
      service.request('GET', `/v1.0${path}`, {
        token: service.tokenFor({ kind: 'application', permissions }),
      })
    const denied = await ask(['User.Read.All'], `/users/${users[0]}?$expand=memberOf`)
    assert.equal(denied.status, 403)
    const ids = await ask(['GroupMember.Read.All'], `/groups/${group}?$expand=members($top=1)`)
    assert.deepEqual(Object.keys(ids.body.members[0]).toSorted(), ['@odata.etag', '@odata.type', 'id'])
  })

  clause(
    'DIR-208',
    '`Prefer: return=minimal` has a creation or an update answered 204, `return=representation` has it answered with the entity, …',
    async () => {
      const minimal = { prefer: 'return=minimal' }
      const whole = { prefer: 'return=representation' }
      const applied = (answer: { headers: Headers }) => answer.headers.get('preference-applied')
      const contact = { displayName: 'Preferred' }
      const made = await call('POST', '/contacts', 204, contact, minimal)
      assert.equal(applied(made), 'return=minimal')
      assert.equal(made.text, '')
      const location = made.headers.get('location') ?? ''
      assert.equal(made.headers.get('odata-entityid'), location)
      assert.equal((await get(location)).displayName, 'Preferred')
      const shown = await call('POST', '/contacts', 201, contact, whole)
      assert.equal(applied(shown), 'return=representation')
      assert.equal(applied(await call('PATCH', location, 204, { displayName: 'A' })), null)
      const updated = await call('PATCH', location, 200, { displayName: 'B' }, whole)
      assert.equal(applied(updated), 'return=representation')
      assert.equal(updated.body.displayName, 'B')
      const changed = await call('PATCH', `/groups/${group}`, 200, { description: 'new' }, whole)
      assert.deepEqual([applied(changed), changed.body.description], ['return=representation', 'new'])

      const paged = await call('GET', `/groups/${group}/members`, 200, undefined, {
        prefer: 'odata.maxpagesize=10',
      })
      assert.equal(applied(paged), 'odata.maxpagesize=10')
      assert.equal(paged.body.value.length, 10)
      assert.equal((await get(paged.body['@odata.nextLink'])).value.length, 10)
      const topped = await call('GET', '/users?$top=2', 200, undefined, { prefer: 'odata.maxpagesize=10' })
      assert.deepEqual([applied(topped), topped.body.value.length], [null, 2])
      const large = await call('GET', '/users', 200, undefined, { prefer: 'odata.maxpagesize=5000' })
      assert.equal(applied(large), 'odata.maxpagesize=999')
      const odd = await call('GET', '/users', 200, undefined, { prefer: 'odata.maxpagesize=x' })
      assert.equal(applied(odd), null)
    },
  )

  clause(
    'DIR-208',
    '`Prefer: return=minimal` has a creation or an update answered 204, `return=representation` has it answered with the entity, …',
    async () => {
      const device = (
        await call('POST', '/devices', 201, {
          accountEnabled: true,
          deviceId: randomUUID(),
          displayName: 'Unread',
          operatingSystem: 'Linux',
          operatingSystemVersion: '1',
        })
      ).body.id
      const adding = ['GroupMember.ReadWrite.All', 'OrgContact.Read.All']
      const writing = ['Directory.AccessAsUser.All']
      const none = { 'members@odata.bind': [] }
      const renamed = { displayName: 'Renamed' }
      for (const [path, body, kind, write, read] of [
        [`/groups/${group}`, none, 'application', adding, 'GroupMember.Read.All'],
        [`/groups/${group}`, none, 'delegated', adding, 'Group.Read.All'],
        [`/devices/${device}`, renamed, 'delegated', writing, 'Device.Read.All'],
      ] as const) {
        const ask = (method: string, permissions: readonly string[]) =>
          service.request(method, `/v1.0${path}`, {
            token: service.tokenFor({ kind, permissions: [...permissions] }),
            headers: { prefer: 'return=representation' },
            ...(method === 'PATCH' && { body }),
          })
        assert.equal((await ask('GET', write)).status, 403)
        const hidden = await ask('PATCH', write)
        assert.deepEqual([hidden.status, hidden.text], [204, ''])
        for (const name of ['preference-applied', 'etag']) assert.equal(hidden.headers.get(name), null)
        const shown = await ask('PATCH', [...write, read])
        assert.equal(shown.status, 200, shown.text)
        assert.equal(shown.headers.get('preference-applied'), 'return=representation')
      }
    },
  )
})
