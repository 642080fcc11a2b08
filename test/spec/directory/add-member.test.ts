import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { clause, permissionTable } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const everyKind = [
  'GroupMember.ReadWrite.All',
  'Device.ReadWrite.All',
  'Group.ReadWrite.All',
  'OrgContact.Read.All',
  'Application.ReadWrite.All',
  'User.ReadWrite.All',
]
const already =
  "One or more added object references already exist for the following modified properties: 'members'."
const missing = (id: string) =>
  `Resource '${id}' does not exist or one of its queried reference-property objects are not present.`

describe('add one member', () => {
  let service: TestService
  let directory: TestDirectory
  let admin: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    admin = await service.tokenFor({ permissions: everyKind })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const urlOf = (id: string, set = 'directoryObjects') => `${service.origin}/v1.0/${set}/${id}`
  const add = (groupId: string, url: unknown, token = admin, headers: Record<string, string> = {}) =>
    service.request('POST', `/v1.0/groups/${groupId}/members/$ref`, {
      token,
      body: { '@odata.id': url },
      headers,
    })

  clause(
    'DIR-08',
    'A member to add is given as a JSON object with the one field `@odata.id`, a string: the URL `{base_url}/directoryObjects/<object_id>` of the object.',
    async () => {
      const group = await directory.group()
      const user = await directory.user()
      const path = `/v1.0/groups/${group}/members/$ref`
      for (const body of [
        {},
        [],
        { '@odata.id': null },
        { '@odata.id': 7 },
        { '@odata.id': [urlOf(user)] },
        { '@odata.id': { id: user } },
        { '@odata.id': urlOf(user), more: true },
        { 'odata.id': urlOf(user) },
      ]) {
        const answer = await service.request('POST', path, { token: admin, body })
        assert.equal(answer.status, 400, JSON.stringify(body))
      }
      assert.deepEqual(await directory.directMembers(group), [])
      assert.equal((await add(group, urlOf(user))).status, 204)
      assert.deepEqual(await directory.directMembers(group), [user])
    },
  )

  clause('DIR-45', 'One member is added by POST `/groups/{group-id}/members/$ref`.', async () => {
    const [group, user] = [await directory.group(), await directory.user()]
    assert.equal((await add(group, urlOf(user))).status, 204)
    assert.deepEqual(await directory.directMembers(group), [user])
    const put = await service.request('PUT', `/v1.0/groups/${group}/members/$ref`, { token: admin })
    assert.equal(put.status, 405)
  })

  clause(
    'DIR-46',
    'Adding one member needs the headers `Authorization` with a Bearer token and `Content-type: application/json`.',
    async () => {
      const [group, user] = [await directory.group(), await directory.user()]
      const path = `/v1.0/groups/${group}/members/$ref`
      const body = { '@odata.id': urlOf(user) }
      assert.equal((await service.request('POST', path, { body })).status, 401)
      const headers = { 'content-type': 'application/xml' }
      const { status } = await service.request('POST', path, { token: admin, body, headers })
      assert.ok(status === 400 || status === 415)
      assert.deepEqual(await directory.directMembers(group), [])
    },
  )

  clause(
    'DIR-47',
    'The body of adding one member is `{ "@odata.id": <directory object URL> }` and names the directoryObject, user, group or organizational contact to add.',
    async () => {
      const group = await directory.group()
      const members = [
        await directory.user(),
        await directory.group(),
        await directory.contact(),
        await directory.device(),
        await directory.servicePrincipal(),
      ]
      for (const id of members) assert.equal((await add(group, urlOf(id))).status, 204)
      assert.deepEqual(await directory.directMembers(group), members.toSorted())
      // A kind that cannot be a member, and a group in itself.
      for (const id of [await directory.role(), service.tenantId, group])
        assert.equal((await add(group, urlOf(id))).status, 400)
    },
  )

  clause('DIR-48', 'Adding one member succeeds with 204 and an empty body.', async () => {
    const answer = await add(await directory.group(), urlOf(await directory.user()))
    assert.equal(answer.status, 204)
    assert.equal(answer.text, '')
  })

  clause('DIR-71', 'Adding one member that is in the group already is 400 Bad Request.', async () => {
    const [group, user] = [await directory.group(), await directory.user()]
    assert.equal((await add(group, urlOf(user))).status, 204)
    assert.equal((await add(group, urlOf(user))).status, 400)
    assert.deepEqual(await directory.directMembers(group), [user])
  })

  clause('DIR-72', 'Adding one member that does not exist is 404 Not Found.', async () => {
    const group = await directory.group()
    assert.equal((await add(group, urlOf(randomUUID()))).status, 404)
    const deleted = await directory.user()
    await directory.softDelete(deleted)
    assert.equal((await add(group, urlOf(deleted))).status, 404)
  })

  clause(
    'DIR-83',
    "Adding a member that is there already is 400 `Request_BadRequest` with the message `One or more added object references already exist for the following modified properties: 'members'.`",
    async () => {
      const [group, user] = [await directory.group(), await directory.user()]
      await directory.join(user, group)
      const { status, body } = await add(group, urlOf(user))
      assert.equal(status, 400)
      assert.equal(body.error.code, 'Request_BadRequest')
      assert.equal(body.error.message, already)
    },
  )

  clause(
    'DIR-84',
    "An object that does not exist, group or member, is 404 `Request_ResourceNotFound` with the message `Resource '{id}' does not exist or one of its queried reference-property objects are not present.`, where `{id}` is the missing one.",
    async () => {
      const [group, user, nobody] = [await directory.group(), await directory.user(), randomUUID()]
      const cases: [string, string][] = [
        [group, urlOf(nobody)],
        [nobody, urlOf(user)],
        [group, urlOf(nobody, 'users')],
      ]
      for (const [groupId, url] of cases) {
        const { status, body } = await add(groupId, url)
        assert.equal(status, 404)
        assert.equal(body.error.code, 'Request_ResourceNotFound')
        assert.equal(body.error.message, missing(nobody))
      }
      const { status, body } = await add(user, urlOf(user))
      assert.equal(status, 404, 'a user is no group')
      assert.equal(body.error.message, missing(user))
    },
  )

  const memberOfType: Record<string, () => Promise<string>> = {
    device: () => directory.device(),
    group: () => directory.group(),
    orgContact: () => directory.contact(),
    servicePrincipal: () => directory.servicePrincipal(),
    user: () => directory.user(),
  }
  const setOfType: Record<string, string> = {
    device: 'devices',
    group: 'groups',
    orgContact: 'contacts',
    servicePrincipal: 'servicePrincipals',
    user: 'users',
  }

  clause(
    'DIR-68',
    'Add members, one or several, is permitted by both permissions of the row, as the least privilege, and not to a personal account:',
    async () => {
      const rows = permissionTable('DIR-68')
      for (const { subject, ...row } of rows) {
        const make = memberOfType[subject]
        assert.ok(make, subject)
        for (const kind of ['delegated', 'application'] as const)
          for (const permissions of row[kind]) {
            const group: string = await directory.group()
            const member: string = await make()
            const token = await service.tokenFor({ kind, permissions })
            assert.equal((await add(group, urlOf(member), token)).status, 204, `${subject} ${kind}`)
            const several = await service.request('PATCH', `/v1.0/groups/${group}`, {
              token,
              body: { 'members@odata.bind': [urlOf(await make())] },
            })
            assert.equal(several.status, 204, `${subject} ${kind}`)

            const others = rows
              .filter((other) => other.subject !== subject)
              .map((other) => other[kind].flat())
            const weak = [[], ...permissions.map((one) => [one]), ...others]
            for (const held of weak.filter((held) => !permissions.every((one) => held.includes(one)))) {
              const target = await make()
              for (const set of ['directoryObjects', setOfType[subject]]) {
                const answer = await add(
                  group,
                  urlOf(target, set),
                  await service.tokenFor({ kind, permissions: held }),
                )
                assert.equal(answer.status, 403, `${subject} ${kind} by ${held}`)
                assert.equal(answer.body.error.code, 'Authorization_RequestDenied')
              }
            }
            const personal = await service.tokenFor({ permissions, personal: true })
            assert.equal((await add(group, urlOf(await make()), personal)).status, 403)
          }
      }
    },
  )

  test('a caller who may add none of a kind does not learn from its URL which of that kind exist', async () => {
    const group = await directory.group()
    const weak = await service.tokenFor({ permissions: ['GroupMember.ReadWrite.All'] })
    const users = await service.tokenFor({ permissions: ['GroupMember.ReadWrite.All', 'User.ReadWrite.All'] })
    for (const [subject, make] of Object.entries(memberOfType)) {
      for (const id of [await make(), randomUUID()]) {
        assert.equal((await add(group, urlOf(id), weak)).status, 403)
        assert.equal((await add(randomUUID(), urlOf(id), weak)).status, 403)
        if (subject !== 'user')
          assert.equal((await add(group, urlOf(id, setOfType[subject]), users)).status, 403)
      }
    }
  })

  clause(
    'DIR-69',
    'Adding members to a role-assignable group needs RoleManagement.ReadWrite.Directory of the calling user as well.',
    async () => {
      const group = await directory.group({ isAssignableToRole: true })
      const user = await directory.user()
      assert.equal((await add(group, urlOf(user))).status, 403)
      const several = await service.request('PATCH', `/v1.0/groups/${group}`, {
        token: admin,
        body: { 'members@odata.bind': [urlOf(user)] },
      })
      assert.equal(several.status, 403)
      assert.deepEqual(await directory.directMembers(group), [])
      const token = await service.tokenFor({
        permissions: [...everyKind, 'RoleManagement.ReadWrite.Directory'],
      })
      assert.equal((await add(group, urlOf(user), token)).status, 204)
      // A caller who could fill a nested group would hold its roles.
      assert.equal((await add(group, urlOf(await directory.group()), token)).status, 400)
    },
  )

  clause('DIR-117', 'The URL of an object to add is accepted with any host.', async () => {
    const group = await directory.group()
    for (const host of [
      'https://graph.example.com',
      'http://localhost:1',
      'https://[::1]:8443',
      'https://a/b/c',
    ])
      assert.equal((await add(group, `${host}/v1.0/directoryObjects/${await directory.user()}`)).status, 204)
  })

  clause(
    'DIR-118',
    'The URL of an object to add may go by `/directoryObjects/{id}`, `/users/{id}`, `/groups/{id}`, `/devices/{id}`, `/servicePrincipals/{id}` or `/contacts/{id}`.',
    async () => {
      const group = await directory.group()
      for (const [subject, set] of Object.entries(setOfType)) {
        const make = memberOfType[subject]
        assert.ok(make)
        for (const path of [set, 'directoryObjects', set.toUpperCase()])
          assert.equal((await add(group, urlOf(await make(), path))).status, 204, path)
        const id = await make()
        assert.equal((await add(group, `${service.origin}/v1.0/${set}('${id}')`)).status, 204)
        assert.equal((await add(group, `${service.origin}/v1.0/${set}(${await make()})`)).status, 204)
        assert.equal((await add(group, `${service.origin}/v1.0/${set}(id='${await make()}')`)).status, 204)
        assert.equal((await add(group, `${service.origin}/v1.0/${set}(name='${await make()}')`)).status, 400)
        assert.equal((await add(group, urlOf((await make()).toUpperCase(), set))).status, 204)
        // The URL of another kind names nothing.
        const other = set === 'users' ? 'groups' : 'users'
        assert.equal((await add(group, urlOf(await make(), other))).status, 404, `${subject} as ${other}`)
      }
      const named = await directory.user('ada')
      assert.equal((await add(group, urlOf('ADA@example.com', 'users'))).status, 204)
      assert.ok((await directory.directMembers(group)).includes(named))
    },
  )

  clause(
    'DIR-122',
    'With `Prefer: handling=lenient`, members that are there already are skipped and the answer is 204; without it they are an error.',
    async () => {
      const [group, old, young] = [await directory.group(), await directory.user(), await directory.user()]
      await directory.join(old, group)
      const lenient = { prefer: 'handling=lenient' }
      const skipped = await add(group, urlOf(old), admin, lenient)
      assert.equal(skipped.status, 204)
      assert.equal(skipped.headers.get('preference-applied'), 'handling=lenient')
      assert.equal((await add(group, urlOf(old), admin, { prefer: 'handling=strict' })).status, 400)
      const body = { 'members@odata.bind': [urlOf(old), urlOf(young)] }
      const path = `/v1.0/groups/${group}`
      assert.equal((await service.request('PATCH', path, { token: admin, body })).status, 400)
      assert.deepEqual(await directory.directMembers(group), [old])
      const patched = await service.request('PATCH', path, { token: admin, body, headers: lenient })
      assert.equal(patched.status, 204)
      assert.deepEqual(await directory.directMembers(group), [old, young].sort())
      assert.equal((await add(group, urlOf(randomUUID()), admin, lenient)).status, 404)
    },
  )
})
