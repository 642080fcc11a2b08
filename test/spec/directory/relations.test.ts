import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('relations', () => {
  let service: TestService
  let directory: TestDirectory
  let reader: string
  let admin: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    reader = await service.tokenFor({ permissions: ['Directory.Read.All'] })
    admin = await service.tokenFor({
      permissions: [
        'Directory.ReadWrite.All',
        'Application.ReadWrite.All',
        'RoleManagement.ReadWrite.Directory',
      ],
    })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const get = (path: string, token = reader) => service.request('GET', `/v1.0${path}`, { token })
  const urlOf = (id: string) => `${service.origin}/v1.0/directoryObjects/${id}`
  const add = (path: string, id: string, token = admin) =>
    service.request('POST', `/v1.0${path}/$ref`, { token, body: { '@odata.id': urlOf(id) } })
  const remove = (path: string, id: string, token = admin) =>
    service.request('DELETE', `/v1.0${path}/${id}/$ref`, { token })

  async function ids(path: string, token = reader): Promise<string[]> {
    const { status, body } = await get(path, token)
    assert.equal(status, 200, path)
    return body.value.map(({ id }: { id: string }) => id).toSorted()
  }

  clause(
    'DIR-136',
    'A group has `members` and `owners`, and every object `memberOf`, `transitiveMemberOf` and, when it is a group, `transitiveMembers`.',
    async () => {
      const [outer, inner, role] = [await directory.group(), await directory.group(), await directory.role()]
      const objects: Record<string, string> = {
        users: await directory.user(),
        devices: await directory.device(),
        contacts: await directory.contact(),
        servicePrincipals: await directory.servicePrincipal(),
      }
      await directory.join(inner, outer)
      await directory.join(outer, role)
      for (const id of Object.values(objects)) await directory.join(id, inner)
      const all = Object.values(objects)
      assert.deepEqual(await ids(`/groups/${outer}/members`), [inner])
      assert.deepEqual(await ids(`/groups/${inner}/members`), all.toSorted())
      assert.deepEqual(await ids(`/groups/${outer}/transitiveMembers`), [inner, ...all].sort())
      for (const [set, id] of Object.entries(objects)) {
        assert.deepEqual(await ids(`/${set}/${id}/memberOf`), [inner], set)
        assert.deepEqual(await ids(`/${set}/${id}/transitiveMemberOf`), [inner, outer, role].sort(), set)
      }
      assert.deepEqual(await ids(`/groups/${inner}/memberOf`), [outer])
      assert.deepEqual(await ids(`/groups/${inner}/transitiveMemberOf`), [outer, role].sort())
      assert.deepEqual(await ids(`/directoryRoles/${role}/members`), [outer])
      const me = await service.tokenFor({
        permissions: ['Directory.Read.All'],
        principal: objects.users ?? '',
      })
      assert.deepEqual(await ids('/me/memberOf', me), [inner])
      assert.deepEqual(await ids('/me/transitiveMemberOf', me), [inner, outer, role].sort())

      const owner = await directory.user()
      assert.equal((await add(`/groups/${outer}/owners`, owner)).status, 204)
      assert.deepEqual(await ids(`/groups/${outer}/owners`), [owner])
      assert.deepEqual(await ids(`/users/${owner}/ownedObjects`), [outer])
      for (const path of ['members', 'owners', 'transitiveMembers', 'memberOf', 'transitiveMemberOf'])
        assert.equal((await get(`/groups/${randomUUID()}/${path}`)).status, 404, path)
      assert.equal((await get(`/groups/${owner}/members`)).status, 404)
    },
  )

  test('a cast leaves the objects of one type, and $count counts them', async () => {
    const group = await directory.group()
    const [user, nested, device] = [await directory.user(), await directory.group(), await directory.device()]
    for (const id of [user, nested, device]) await directory.join(id, group)
    const path = `/groups/${group}/members`
    for (const namespace of ['microsoft.graph', 'vendor.graph', 'Microsoft.Graph']) {
      assert.deepEqual(await ids(`${path}/${namespace}.user`), [user])
      assert.deepEqual(await ids(`${path}/${namespace}.group`), [nested])
      assert.deepEqual(await ids(`${path}/${namespace}.orgContact`), [])
      assert.deepEqual(await ids(`/groups/${group}/transitiveMembers/${namespace}.device`), [device])
    }
    const typed = await get(path)
    const types = typed.body.value.map((one: Record<string, string>) => one['@odata.type'])
    assert.deepEqual(types.toSorted(), ['#vendor.graph.device', '#vendor.graph.group', '#vendor.graph.user'])
    assert.equal(typed.body['@odata.context'], `${service.origin}/v1.0/$metadata#directoryObjects`)
    const cast = await get(`${path}/microsoft.graph.user?$select=id,displayName`)
    assert.equal(cast.body['@odata.context'], `${service.origin}/v1.0/$metadata#users(id,displayName)`)

    const counts: [string, string][] = [
      [`${path}/$count`, '3'],
      [`${path}/microsoft.graph.user/$count`, '1'],
      [`/groups/${group}/transitiveMembers/$count`, '3'],
      [`/users/${user}/memberOf/$count`, '1'],
      [`/users/${user}/transitiveMemberOf/microsoft.graph.directoryRole/$count`, '0'],
    ]
    for (const [where, count] of counts) {
      const answer = await get(where)
      assert.equal(answer.status, 200, where)
      assert.equal(answer.text, count, where)
      assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/)
    }
    const refusals: [segment: string, message: RegExp][] = [
      ['microsoft.graph.unicorn', /^Resource not found for the segment/],
      ['microsoft.graph.toString', /^Resource not found for the segment/],
      ['user', /^Invalid object identifier 'user'/],
      ['__proto__', /^Invalid object identifier '__proto__'/],
    ]
    for (const [segment, message] of refusals) {
      const answer = await get(`${path}/${segment}`)
      assert.equal(answer.status, 400, segment)
      assert.match(answer.body.error.message, message)
    }
  })

  clause(
    'DIR-331',
    'A key behind a relation returns one of the related objects: `GET /groups/{id}/members/{id}`. The name of a type behind it, behind `manager`, `directoryObjects/{id}` and `directory/deletedItems/{id}` asks for an object of that type: `/members/{id}/vendor.graph.user` is 404 for a group. …',
    async () => {
      const [group, inner, role] = [await directory.group(), await directory.group(), await directory.role()]
      const [user, boss, device] = [await directory.user(), await directory.user(), await directory.device()]
      await directory.join(inner, group)
      await directory.join(group, role)
      await directory.join(device, group)
      await directory.join(user, inner)
      assert.equal((await add(`/groups/${inner}/owners`, boss)).status, 204)
      const manager = { token: admin, body: { '@odata.id': urlOf(boss) } }
      assert.equal((await service.request('PUT', `/v1.0/users/${user}/manager/$ref`, manager)).status, 204)
      const me = service.tokenFor({ permissions: ['Directory.Read.All'], principal: user })
      const mine = service.tokenFor({ permissions: ['Directory.Read.All'], principal: boss })

      const found: [path: string, id: string, kind: string, token?: string][] = [
        [`/groups/${inner}/members/${user}`, user, 'user'],
        [`/groups/${group}/members/${inner}`, inner, 'group'],
        [`/groups/${group}/members/${device}`, device, 'device'],
        [`/groups/${group}/transitiveMembers/${user}`, user, 'user'],
        [`/groups/${inner}/owners/${boss}`, boss, 'user'],
        [`/groups/${inner}/memberOf/${group}`, group, 'group'],
        [`/groups/${inner}/transitiveMemberOf/${role}`, role, 'directoryRole'],
        [`/users/${user}/memberOf/${inner}`, inner, 'group'],
        [`/users/${user}/transitiveMemberOf/${group}`, group, 'group'],
        [`/users/${boss}/directReports/${user}`, user, 'user'],
        [`/users/${boss}/ownedObjects/${inner}`, inner, 'group'],
        [`/directoryRoles/${role}/members/${group}`, group, 'group'],
        ['/me/memberOf/'.concat(inner), inner, 'group', me],
        ['/me/transitiveMemberOf/'.concat(role), role, 'directoryRole', me],
        ['/me/directReports/'.concat(user), user, 'user', mine],
        ['/me/ownedObjects/'.concat(inner), inner, 'group', mine],
        ['/me/manager', boss, 'user', me],
        [`/users/${user}/manager`, boss, 'user'],
        [`/directoryObjects/${device}`, device, 'device'],
      ]
      const sets: Record<string, string> = { user: 'users', group: 'groups', device: 'devices' }
      for (const [path, id, kind, token] of found) {
        const plain = await get(path, token)
        assert.deepEqual([plain.status, plain.body.id], [200, id], `${path}: ${plain.text}`)
        assert.equal(plain.body['@odata.type'], `#vendor.graph.${kind}`, path)
        const context = `${service.origin}/v1.0/$metadata#`
        assert.equal(plain.body['@odata.context'], `${context}directoryObjects/$entity`, path)
        for (const namespace of ['vendor.graph', 'microsoft.graph', 'graph', 'Microsoft.Graph']) {
          const cast = await get(`${path}/${namespace}.${kind}`, token)
          assert.deepEqual([cast.status, cast.body.id], [200, id], `${path}: ${cast.text}`)
          assert.equal(cast.body['@odata.context'], `${context}${sets[kind] ?? 'directoryRoles'}/$entity`)
          const { '@odata.context': _, '@odata.type': type, ...properties } = plain.body
          const { '@odata.context': __, ...asTyped } = cast.body
          assert.deepEqual([asTyped, type], [properties, `#vendor.graph.${kind}`])
          const wrong = await get(`${path}/${namespace}.servicePrincipal`, token)
          assert.equal(wrong.status, 404, wrong.text)
          assert.equal(wrong.body.error.code, 'Request_ResourceNotFound')
        }
        assert.equal((await get(`${path}/graph.unicorn`, token)).status, 400)
        const missing = path.replace(/[\da-f-]{36}$/, randomUUID())
        if (missing !== path)
          for (const end of ['', `/graph.${kind}`])
            assert.equal((await get(`${missing}${end}`, token)).status, 404, `${missing}${end}`)
      }

      const path = `/groups/${inner}/members/${user}`
      const selected = await get(`${path}/graph.user?$select=id,displayName`)
      assert.deepEqual(
        Object.keys(selected.body).filter((name) => !name.startsWith('@')),
        ['id', 'displayName'],
      )
      const expanded = await get(`${path}/graph.user?$expand=manager($select=id),memberOf($select=id)`)
      assert.deepEqual([expanded.body.manager.id, expanded.body.memberOf[0].id], [boss, inner], expanded.text)
      const listed = await get(`/groups/${inner}/members/graph.user?$expand=manager($select=id)&$select=id`)
      assert.equal(listed.body.value[0].manager.id, boss, listed.text)
      for (const unfit of [`${path}?$expand=manager`, `/groups/${inner}/members?$expand=manager`]) {
        const answer = await get(unfit)
        assert.equal(answer.status, 400, unfit)
        assert.match(answer.body.error.message, /needs the name of a type at the end of the path/)
      }
      assert.equal((await get(`${path}/graph.user?$expand=members`)).status, 400)
      assert.equal((await get(`${path}/graph.user?$select=nothing`)).status, 400)

      for (const end of ['$count', 'graph.user/$count', 'graph.user/$ref', 'graph.user/memberOf', 'user'])
        assert.equal((await get(`${path}/${end}`)).status, 400, end)
      assert.equal((await get(`${path}/$ref`)).status, 405)
      const alter = (method: string, end: string) =>
        service.request(method, `/v1.0${path}${end}`, { token: admin })
      assert.equal((await alter('DELETE', '/graph.user')).status, 405)
      assert.equal((await alter('DELETE', '')).status, 405)
      assert.equal((await alter('DELETE', '/%24ref')).status, 204)
      assert.equal((await get(`${path}/graph.user`)).status, 404)
    },
  )

  test('a cast needs the permissions of the path without it, and shows the id alone of kinds that are hidden', async () => {
    const [group, user] = [await directory.group(), await directory.user()]
    await directory.join(user, group)
    const paths = ['', '/graph.user', '/microsoft.graph.group', '/graph.user?$expand=memberOf']
    const none = service.tokenFor({ kind: 'application', permissions: ['Mail.ReadWrite'] })
    for (const end of paths)
      for (const id of [user, randomUUID()])
        assert.equal((await get(`/groups/${group}/members/${id}${end}`, none)).status, 403, end)
    const members = service.tokenFor({ kind: 'application', permissions: ['GroupMember.Read.All'] })
    const hidden = await get(`/groups/${group}/members/${user}/graph.user?$select=id,displayName`, members)
    assert.equal(hidden.body.id, user, hidden.text)
    assert.equal(hidden.body.displayName, undefined)
    for (const path of [`members/${user}/graph.user`, 'members/graph.user'])
      assert.equal((await get(`/groups/${group}/${path}?$expand=memberOf`, members)).status, 403, path)

    assert.equal((await service.request('DELETE', `/v1.0/users/${user}`, { token: admin })).status, 204)
    assert.equal((await get(`/groups/${group}/members/${user}/graph.user`)).status, 404)
    const deleted = `/directory/deletedItems/${user}`
    assert.equal((await get(`${deleted}/vendor.graph.user`)).body.id, user)
    for (const kind of ['group', 'device', 'organization'])
      assert.equal((await get(`${deleted}/graph.${kind}`)).status, 404, kind)
    assert.equal((await get(`${deleted}/graph.unicorn`)).status, 400)
    const groups = service.tokenFor({ kind: 'application', permissions: ['Group.Read.All'] })
    for (const end of ['', '/graph.user', '/graph.group', '/graph.device'])
      assert.equal((await get(`${deleted}${end}`, groups)).status, 404, end)
  })

  test('relations page, select, count and sort as other lists do', async () => {
    const group = await directory.group()
    const [nested, ...members] = [await directory.group(), ...(await makeUsers(12))]
    await directory.join(nested, group)
    for (const id of members) await directory.join(id, nested)
    for (const path of [
      `/groups/${nested}/members`,
      `/groups/${group}/transitiveMembers/microsoft.graph.user`,
    ]) {
      const seen: string[] = []
      let next: string | undefined = `${service.origin}/v1.0${path}?$top=5&$select=id&$count=true`
      for (let page = 0; next; page++) {
        const { status, body } = await service.request('GET', next, { token: reader })
        assert.equal(status, 200)
        assert.equal(body['@odata.count'], page === 0 ? 12 : undefined)
        assert.ok(body.value.every((one: object) => !('displayName' in one)))
        seen.push(...body.value.map(({ id }: { id: string }) => id))
        next = body['@odata.nextLink']
      }
      assert.deepEqual(seen.toSorted(), members.toSorted())
    }
    const path = `/groups/${nested}/members/microsoft.graph.user`
    const sorted = await get(`${path}?$orderby=displayName desc&$select=displayName`)
    const names = sorted.body.value.map(({ displayName }: { displayName: string }) => displayName)
    assert.deepEqual(names, names.toSorted().reverse())
    const filtered = await get(`${path}?$filter=displayName eq '${names[3]}'`)
    assert.equal(filtered.body.value.length, 1)
    assert.equal((await get(`${path}?$expand=members`)).status, 400)
  })

  function makeUsers(count: number): Promise<string[]> {
    return Promise.all(Array.from({ length: count }, () => directory.user()))
  }

  test('deleted objects are in no relation', async () => {
    const [group, gone, user, ghost] = [
      await directory.group(),
      await directory.group(),
      await directory.user(),
      await directory.user(),
    ]
    await directory.join(user, group, gone)
    await directory.join(ghost, group, gone)
    await directory.join(gone, group)
    await directory.softDelete(gone)
    await directory.softDelete(ghost)
    for (const path of ['members', 'transitiveMembers'])
      assert.deepEqual(await ids(`/groups/${group}/${path}`), [user])
    for (const path of ['memberOf', 'transitiveMemberOf'])
      assert.deepEqual(await ids(`/users/${user}/${path}`), [group])
    assert.equal((await get(`/groups/${gone}/members`)).status, 404)
    assert.equal((await remove(`/groups/${gone}/members`, user)).status, 404)
  })

  test('who may not read a kind of object sees of a member that it is there, and no more', async () => {
    const [group, nested] = [await directory.group(), await directory.group({ displayName: 'Nested' })]
    const user = await directory.user('hidden')
    for (const id of [user, nested]) await directory.join(id, group)
    const token = await service.tokenFor({ permissions: ['GroupMember.Read.All'] })
    for (const path of [`/groups/${group}/members`, `/groups/${group}/members?$select=id,displayName`]) {
      const { text, body } = await get(path, token)
      assert.doesNotMatch(text, /hidden/)
      assert.match(text, /Nested/)
      assert.deepEqual(body.value.map(({ id }: { id: string }) => id).toSorted(), [user, nested].sort())
    }
    for (const query of ["$filter=startswith(displayName,'h')", '$orderby=displayName'])
      assert.equal((await get(`/groups/${group}/members/microsoft.graph.user?${query}`, token)).status, 403)
    const count = `/groups/${group}/members/microsoft.graph.user/$count?$filter=startswith(displayName,'h')`
    assert.equal((await get(count, token)).status, 403)
    for (const permissions of [[], ['User.Read.All'], ['Device.Read.All']])
      for (const id of [group, randomUUID()]) {
        const refused = await get(`/groups/${id}/members`, await service.tokenFor({ permissions }))
        assert.equal(refused.status, 403)
      }
  })

  clause('DIR-137', 'DELETE on a `$ref` removes a member or an owner from a group.', async () => {
    const [group, user, other] = [await directory.group(), await directory.user(), await directory.user()]
    await directory.join(user, group)
    await directory.join(other, group)
    const token = await service.tokenFor({ permissions: ['GroupMember.ReadWrite.All'] })
    const answer = await remove(`/groups/${group}/members`, user, token)
    assert.equal(answer.status, 204)
    assert.equal(answer.text, '')
    assert.deepEqual(await directory.directMembers(group), [other])
    assert.equal((await remove(`/groups/${group}/members`, user, token)).status, 404)
    assert.equal((await remove(`/groups/${randomUUID()}/members`, other, token)).status, 404)
    assert.equal((await remove(`/groups/${group}/members`, 'nonsense', token)).status, 400)
    const weak = await service.tokenFor({ permissions: ['GroupMember.Read.All'] })
    assert.equal((await remove(`/groups/${group}/members`, other, weak)).status, 403)

    assert.equal((await add(`/groups/${group}/owners`, user)).status, 204)
    assert.equal((await add(`/groups/${group}/owners`, user)).status, 400)
    assert.equal((await remove(`/groups/${group}/owners`, user)).status, 204)
    assert.equal((await remove(`/groups/${group}/owners`, user)).status, 404)
    assert.equal((await add(`/groups/${group}/owners`, await directory.device())).status, 400)
    const logged = await service.database.sql`
      select kind from change_log where entity_id = ${group} order by revision`
    assert.deepEqual(
      logged.map(({ kind }) => kind),
      ['memberRemoved', 'ownerAdded', 'ownerRemoved'],
    )
  })

  test('a directory role takes people, applications and the groups made for it, and gives them up', async () => {
    const role = await directory.role()
    const path = `/directoryRoles/${role}/members`
    const accepted = [
      await directory.user(),
      await directory.servicePrincipal(),
      await directory.group({ isAssignableToRole: true }),
    ]
    for (const id of accepted) assert.equal((await add(path, id)).status, 204)
    for (const id of [await directory.group(), await directory.device(), await directory.contact()])
      assert.equal((await add(path, id)).status, 400)
    assert.deepEqual(await ids(path), accepted.toSorted())
    const weak = await service.tokenFor({
      permissions: ['Directory.ReadWrite.All', 'GroupMember.ReadWrite.All'],
    })
    assert.equal((await add(path, await directory.user(), weak)).status, 403)
    assert.equal((await remove(path, accepted[0] ?? '', weak)).status, 403)
    for (const id of accepted) assert.equal((await remove(path, id)).status, 204)
    assert.deepEqual(await ids(path), [])
  })

  test('members and owners of a role-assignable group are for those who manage roles', async () => {
    const group = await directory.group({ isAssignableToRole: true })
    const user = await directory.user()
    await directory.join(user, group)
    const weak = await service.tokenFor({ permissions: ['Directory.ReadWrite.All', 'Group.ReadWrite.All'] })
    assert.equal((await remove(`/groups/${group}/members`, user, weak)).status, 403)
    assert.equal((await add(`/groups/${group}/owners`, user, weak)).status, 403)
    assert.deepEqual(await directory.directMembers(group), [user])
    assert.equal((await add(`/groups/${group}/owners`, user)).status, 204)
    assert.equal((await remove(`/groups/${group}/owners`, user, weak)).status, 403)
  })
})
