import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { Client, HTTPMessageHandler, PageIterator } from '@microsoft/microsoft-graph-client'
import { dropOldChanges } from '../../../src/db/retention.ts'
import { caller, everything } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { DeltaClient } from '../../support/delta-client.ts'
import { startTestService, type TestService } from '../../support/service.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Item = any

describe('delta queries', () => {
  let service: TestService
  let token: string

  before(async () => {
    service = await startTestService()
    token = service.tokenFor({ kind: 'application', permissions: everything })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = caller(
    () => service,
    () => token,
  )
  const get = async (url: string) => (await call('GET', url, 200)).body
  const follow = (start: string) => new DeltaClient(get, start)
  const create = async (path: string, body: object): Promise<Item> =>
    (await call('POST', path, 201, body)).body
  const newUser = (name: string = randomUUID()) =>
    create('/users', {
      accountEnabled: true,
      displayName: name,
      mailNickname: name,
      userPrincipalName: `${name}@example.com`,
      passwordProfile: { password: 'a long-winded Phrase 42' },
    })
  const newGroup = (more: object = {}) =>
    create('/groups', {
      displayName: 'G',
      mailNickname: randomUUID(),
      mailEnabled: false,
      securityEnabled: true,
      ...more,
    })
  const newDevice = () =>
    create('/devices', {
      accountEnabled: true,
      displayName: 'D',
      deviceId: randomUUID(),
      operatingSystem: 'x',
      operatingSystemVersion: '1',
      alternativeSecurityIds: [{ type: 2, key: 'QQ==' }],
    })
  const objectUrl = (id: string) => ({ '@odata.id': `https://x.example/v1.0/directoryObjects/${id}` })
  const join = (group: Item, member: Item) =>
    call('POST', `/groups/${group.id}/members/$ref`, 204, objectUrl(member.id))
  const leave = (group: Item, member: Item) =>
    call('DELETE', `/groups/${group.id}/members/${member.id}/$ref`, 204)
  /** The items of all pages of a round, and the link behind it. */
  async function round(start: string): Promise<{ items: Item[]; link: string; pages: Item[][] }> {
    const pages: Item[][] = []
    for (let next = start; ; ) {
      const page = await get(next)
      pages.push(page.value)
      if (page['@odata.deltaLink']) return { items: pages.flat(), link: page['@odata.deltaLink'], pages }
      next = page['@odata.nextLink']
    }
  }
  const latest = async (path: string) =>
    (await round(`${path}${path.includes('?') ? '&' : '?'}$deltatoken=latest`)).link

  clause('DIR-142', 'Delta queries return what changed since the last one.', async () => {
    const link = await latest('/users/delta')
    const user = await newUser()
    const first = await round(link)
    assert.deepEqual(
      first.items.map(({ id }) => id),
      [user.id],
    )
    assert.deepEqual((await round(first.link)).items, [])
  })

  clause(
    'DIR-256',
    '`GET /users/delta`, and the same of `groups`, `servicePrincipals`, `devices` and `applications`, with or without `()` …',
    async () => {
      const application = await create('/applications', { displayName: 'A' })
      const made: Record<string, Item> = {
        users: await newUser(),
        groups: await newGroup(),
        servicePrincipals: await create('/servicePrincipals', { appId: application.appId }),
        devices: await newDevice(),
        applications: application,
      }
      for (const [set, object] of Object.entries(made)) {
        const list = await get(`/${set}?$top=999`)
        for (const form of ['delta', 'delta()', 'microsoft.graph.delta()']) {
          const { items, link } = await round(`/${set}/${form}?$top=2`)
          assert.deepEqual(items, list.value, set)
          await call('PATCH', `/${set}/${object.id}`, 204, { displayName: form })
          const changed = await round(link)
          assert.deepEqual(
            changed.items.map(({ id, displayName }) => [id, displayName]),
            [[object.id, form]],
          )
          list.value = (await get(`/${set}?$top=999`)).value
        }
      }
      const none = service.tokenFor({ kind: 'application', permissions: ['Group.Read.All'] })
      for (const [set, status] of [
        ['users', 403],
        ['groups', 200],
        ['devices', 403],
      ] as const)
        assert.equal((await service.request('GET', `/v1.0/${set}/delta`, { token: none })).status, status)
      const basic = service.tokenFor({ permissions: ['User.ReadBasic.All'] })
      const { body } = await service.request('GET', '/v1.0/users/delta?$top=1', { token: basic })
      assert.equal(body.value[0].jobTitle, null)
      await call('GET', '/users/delta?$filter=id eq null', 400)
      await call('GET', '/users/delta?$top=1000', 400)
      await call('GET', '/contacts/delta', 400)
    },
  )

  clause(
    'DIR-257',
    'A change that is made while a client reads pages comes in that round or in the next one. …',
    async () => {
      const users = await Promise.all(Array.from({ length: 6 }, () => newUser()))
      const client = follow('/users/delta?$top=2')
      for (const user of users) {
        await client.step()
        await call('PATCH', `/users/${user.id}`, 204, { jobTitle: 'Changed' })
      }
      const [gone, back] = users as [Item, Item]
      await call('DELETE', `/users/${gone.id}`, 204)
      await call('DELETE', `/users/${back.id}`, 204)
      await client.step()
      await call('POST', `/directory/deletedItems/${back.id}/restore`, 200)
      while ((await client.round()) > 1);
      await client.round()
      const list = await get('/users?$top=999')
      assert.deepEqual(
        [...client.copies.values()]
          .map(({ shown }) => shown)
          .toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : 1)),
        list.value,
      )
    },
  )

  clause(
    'DIR-258',
    'A deleted object comes as its `id` and `@removed`, with the `reason` `changed` while it can be …',
    async () => {
      const [user, device] = [await newUser(), await newDevice()]
      const [users, devices] = [await latest('/users/delta'), await latest('/devices/delta')]
      await call('DELETE', `/users/${user.id}`, 204)
      await call('DELETE', `/devices/${device.id}`, 204)
      const deleted = await round(users)
      assert.deepEqual(deleted.items, [{ id: user.id, '@removed': { reason: 'changed' } }])
      assert.deepEqual((await round(devices)).items, [{ id: device.id, '@removed': { reason: 'deleted' } }])
      await call('POST', `/directory/deletedItems/${user.id}/restore`, 200)
      const restored = await round(deleted.link)
      assert.equal(restored.items[0].displayName, user.displayName)
      await call('DELETE', `/users/${user.id}`, 204)
      await call('DELETE', `/directory/deletedItems/${user.id}`, 204)
      assert.deepEqual((await round(restored.link)).items, [
        { id: user.id, '@removed': { reason: 'deleted' } },
      ])
    },
  )

  clause(
    'DIR-259',
    'With `members` in `$select` or `$expand`, groups have `members@delta`: the members, each with …',
    async () => {
      const [group, inner] = [await newGroup(), await newGroup()]
      const users = await Promise.all(Array.from({ length: 12 }, () => newUser()))
      const device = await newDevice()
      for (const member of [...users, inner, device]) await join(group, member)
      const ids = [...users, inner, device].map(({ id }) => id).toSorted()

      for (const options of ['$select=members', '$expand=members', '$select=displayName,Members']) {
        const walked = follow(`/groups/delta?${options}&$top=1`)
        await walked.round()
        assert.deepEqual(walked.membersOf(group.id), ids, options)
      }
      const { items, pages } = await round('/groups/delta?$select=members&$top=1')
      assert.ok(items.filter(({ id }) => id === group.id).length >= 3)
      assert.ok(pages.every((page) => page.flatMap((one) => one['members@delta'] ?? []).length <= 5))
      const shown = items.find(({ id }) => id === group.id)
      assert.deepEqual(Object.keys(shown).toSorted(), ['@odata.etag', 'id', 'members@delta'])
      assert.match(shown['members@delta'][0]['@odata.type'], /^#vendor\.graph\.(user|group|device)$/)
      assert.equal('members@delta' in ((await round('/groups/delta')).items[0] ?? {}), false)

      const [left, deleted, purged, ...stay] = users
      let link = await latest('/groups/delta?$select=members')
      await leave(group, left)
      await call('DELETE', `/users/${deleted.id}`, 204)
      await call('DELETE', `/users/${purged.id}`, 204)
      await call('DELETE', `/directory/deletedItems/${purged.id}`, 204)
      await call('DELETE', `/devices/${device.id}`, 204)
      const changes = await round(link)
      const removed = Object.fromEntries(
        changes.items
          .flatMap((one) => one['members@delta'])
          .map((one: Item) => [one.id, one['@removed']?.reason]),
      )
      assert.deepEqual(removed, {
        [left.id]: 'deleted',
        [deleted.id]: 'changed',
        [purged.id]: 'deleted',
        [device.id]: 'deleted',
      })
      assert.ok(changes.items.every(({ id }) => id === group.id))

      await call('POST', `/directory/deletedItems/${deleted.id}/restore`, 200)
      const returned = await round(changes.link)
      assert.deepEqual(returned.items[0]['members@delta'], [
        { '@odata.type': '#vendor.graph.user', id: deleted.id },
      ])

      link = returned.link
      await call('DELETE', `/groups/${group.id}`, 204)
      const gone = await round(link)
      assert.deepEqual(gone.items, [{ id: group.id, '@removed': { reason: 'changed' } }])
      await call('POST', `/directory/deletedItems/${group.id}/restore`, 200)
      const again = follow(gone.link)
      await again.round()
      assert.deepEqual(again.membersOf(group.id), [deleted, inner, ...stay].map(({ id }) => id).toSorted())
    },
  )

  clause(
    'DIR-260',
    '`$deltatoken=latest` returns no objects, and a link for the changes from then on. …',
    async () => {
      const user = await newUser()
      const start = await get('/users/delta?$select=displayName&$top=1&$deltaToken=LATEST')
      assert.deepEqual(start.value, [])
      const link = start['@odata.deltaLink']
      for (const one of [user, await newUser()])
        await call('PATCH', `/users/${one.id}`, 204, { jobTitle: 'New' })
      const { items, pages } = await round(link)
      assert.deepEqual(Object.keys(items[0]).toSorted(), ['@odata.etag', 'displayName', 'id'])
      assert.ok(pages.length >= 3)
      await call('GET', `${link}&$select=id`, 400)
      const wide = await get(`${link}&$top=50`)
      assert.deepEqual([wide.value.length, '@odata.deltaLink' in wide], [2, true])
      assert.ok((await get('/users/delta?$deltatoken=&$top=1')).value.length === 1)
    },
  )

  clause(
    'DIR-277',
    "`$filter` of a delta takes up to 50 ids, `id eq '…' or id eq '…'`, and has the client follow these objects alone; …",
    async () => {
      const [one, two, other] = [await newGroup(), await newGroup(), await newGroup()]
      const member = await newUser()
      const filter = `id eq '${one.id.toUpperCase()}' or id eq ${two.id}`
      const start = `/groups/delta?$select=displayName,members&$filter=${encodeURIComponent(filter)}`
      const first = await round(`${start}&$top=1`)
      assert.deepEqual(first.items.map(({ id }) => id).toSorted(), [one.id, two.id].toSorted())
      for (const group of [one, other]) {
        await call('PATCH', `/groups/${group.id}`, 204, { displayName: 'Renamed' })
        await join(group, member)
      }
      const second = await round(first.link)
      assert.deepEqual([...new Set(second.items.map(({ id }) => id))], [one.id])
      await call('DELETE', `/users/${member.id}`, 204)
      await call('DELETE', `/groups/${two.id}`, 204)
      await call('DELETE', `/groups/${other.id}`, 204)
      const third = await round(second.link)
      assert.deepEqual(
        third.items.map(({ id, '@removed': removed }) => [id, removed?.reason]).toSorted(),
        [
          [one.id, undefined],
          [two.id, 'changed'],
        ].toSorted(),
      )
      await call('GET', `${third.link}&$filter=${encodeURIComponent(filter)}`, 400)
      const many = Array.from({ length: 51 }, () => `id eq '${randomUUID()}'`).join(' or ')
      for (const wrong of [
        many,
        "displayName eq 'x'",
        `id ne '${one.id}'`,
        `id eq '${one.id}' and id eq '${two.id}'`,
      ])
        await call('GET', `/groups/delta?$filter=${encodeURIComponent(wrong)}`, 400)
      const prefer = { prefer: 'odata.maxpagesize=2' }
      const page = await call('GET', '/groups/delta', 200, undefined, prefer)
      assert.deepEqual(
        [page.body.value.length, page.headers.get('preference-applied')],
        [2, 'odata.maxpagesize=2'],
      )
      assert.equal((await get(page.body['@odata.nextLink'])).value.length, 2)
      const both = await call('GET', '/groups/delta?$top=1', 200, undefined, prefer)
      assert.deepEqual([both.body.value.length, both.headers.get('preference-applied')], [1, null])
    },
  )

  clause(
    'DIR-261',
    'A token of a delta is sealed: one that was changed, or that is of another kind of object, is 400.',
    async () => {
      const link = await latest('/users/delta')
      const [, sealed = ''] = link.split('$deltatoken=')
      for (const made of [
        `${sealed.slice(0, -2)}AA`,
        sealed.slice(4),
        `${sealed}A`.repeat(40),
        'x',
        Buffer.from('{"options":{},"since":{"revision":1,"mark":""}}').toString('base64url'),
        'a b',
      ])
        for (const option of ['$deltatoken', '$skiptoken'])
          await call('GET', `/users/delta?${option}=${encodeURIComponent(made)}`, 400)
      await call('GET', `/groups/delta?$deltatoken=${sealed}`, 400)
      await call('GET', `/users/delta?$deltatoken=${sealed}&$skiptoken=${sealed}`, 400)
      await call('GET', `/users/delta?$deltatoken=${sealed}`, 200)
    },
  )

  clause(
    'DIR-262',
    'Changes are kept for `MASQUERADE_CHANGE_LOG_DAYS`. A token from before that time, or from before …',
    async () => {
      const { sql } = service.database
      const select = '$select=displayName&$top=1'
      const expire = async (link: string) => {
        const { headers, body } = await call('GET', link, 410)
        assert.equal(body.error.code, 'syncStateNotFound')
        const location = headers.get('location') ?? ''
        assert.match(location, /\/v1\.0\/users\/delta\?\$select=displayName&\$top=1$/)
        return await get(location)
      }
      const [link, page] = [await latest(`/users/delta?${select}`), await get(`/users/delta?${select}`)]
      await sql`update change_log set at = at - interval '31 days'`
      await expire(link)
      const start = await expire(page['@odata.nextLink'])
      assert.equal(start.value.length, 1)

      await newUser()
      const fresh = await latest(`/users/delta?${select}`)
      await newUser()
      const later = new Date(Date.now() + 45 * 24 * 60 * 60 * 1000)
      assert.ok((await dropOldChanges(service.database, service.tenantId, 30, later)) > 0)
      assert.equal((await round(fresh)).items.length, 1)
      await expire(link)

      await sql`update directory_object set properties = properties || '{"jobTitle": "Past"}' where kind = 'user'`
      await expire(fresh)
      assert.equal((await round(await latest('/users/delta'))).items.length, 0)
    },
  )

  clause(
    'DIR-256',
    '`GET /users/delta`, and the same of `groups`, `servicePrincipals`, `devices` and `applications`, …',
    async () => {
      const http = new HTTPMessageHandler()
      const client = Client.initWithMiddleware({
        baseUrl: `${service.origin}/`,
        middleware: {
          execute: async (context) => {
            context.options = {
              ...context.options,
              headers: { ...context.options?.headers, authorization: `Bearer ${token}` },
            }
            await http.execute(context)
          },
        },
      })
      const iterate = async (page: Item) => {
        const seen: string[] = []
        const iterator = new PageIterator(client, page, (item: Item) => {
          seen.push(item.id)
          return true
        })
        await iterator.iterate()
        return { seen, link: iterator.getDeltaLink() ?? '' }
      }
      const first = await iterate(await client.api('/users/delta').top(2).get())
      const { value } = await get('/users?$top=999')
      assert.deepEqual(
        first.seen,
        value.map(({ id }: Item) => id),
      )
      const user = await newUser()
      const path = first.link.replace(`${service.origin}/v1.0`, '')
      assert.deepEqual((await iterate(await client.api(path).get())).seen, [user.id])
    },
  )
})
