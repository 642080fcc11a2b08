import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { clause, tableRows } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { addExtensibleResources, type ExtensibleResources, fillPath } from '../../support/extensible.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { globalAdministrator } from '../../support/tokens.ts'

const everything = [
  'Calendars.ReadWrite',
  'Contacts.ReadWrite',
  'Device.ReadWrite.All',
  'Directory.AccessAsUser.All',
  'Directory.Read.All',
  'Group.ReadWrite.All',
  'Mail.ReadWrite',
  'Organization.ReadWrite.All',
  'Tasks.ReadWrite',
  'User.ReadWrite.All',
]
const type = 'vendor.graph.openTypeExtension'

describe('open extensions', () => {
  let service: TestService
  let directory: TestDirectory
  let ids: ExtensibleResources
  let owner: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    ids = await addExtensibleResources(service, directory)
    owner = service.tokenFor({
      permissions: everything,
      principal: ids.user,
      directoryRoles: globalAdministrator,
    })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = (method: string, path: string, body?: unknown, token = owner) =>
    service.request(method, `/v1.0${path}`, { token, ...(body !== undefined && { body }) })
  const hang = (path: string, extensionName: string, data: object = {}, token = owner) =>
    call('POST', `${path}/extensions`, { '@odata.type': type, extensionName, ...data }, token)
  const newName = () => `com.example.n${randomUUID().slice(0, 8)}`

  /** One path for each kind of resource. */
  const resources = () =>
    new Map(
      tableRows('DIR-39').map(({ Path = '', Resource = '' }) => [
        Resource,
        fillPath(Path.replaceAll('`', '').replace('/extensions/{extensionId}', ''), Resource, ids),
      ]),
    )
  const isObject = (resource: string) => ['device', 'group', 'organization', 'user'].includes(resource)

  clause(
    'DIR-130',
    'On every supported resource, open extensions can be created (POST), read (GET), listed (GET), changed (PATCH) and deleted (DELETE).',
    async () => {
      assert.equal(resources().size, 11)
      for (const [resource, path] of resources()) {
        const name = newName()
        const data = { text: 'a', number: 1.5, yes: true, list: ['x', 2], gone: 'soon' }
        const made = await hang(path, name, data)
        assert.equal(made.status, 201, `${resource}: ${made.text}`)
        assert.partialDeepStrictEqual(made.body, { '@odata.type': `#${type}`, extensionName: name, ...data })
        const one = await call('GET', `${path}/extensions/${name}`)
        assert.partialDeepStrictEqual(one.body, { extensionName: name, ...data })
        const location = new URL(made.headers.get('location') ?? '').pathname
        assert.equal((await service.request('GET', location, { token: owner })).status, 200, location)
        const changed = await call('PATCH', `${path}/extensions/${name}`, { text: 'b', gone: null, more: 1 })
        assert.equal(changed.status, isObject(resource) ? 204 : 200, `${resource}: ${changed.text}`)
        const { body } = await call('GET', `${path}/extensions`)
        const listed = body.value.find(
          (extension: { extensionName: string }) => extension.extensionName === name,
        )
        assert.partialDeepStrictEqual(listed, { text: 'b', number: 1.5, yes: true, list: ['x', 2], more: 1 })
        assert.ok(!('gone' in listed))
        assert.equal((await call('DELETE', `${path}/extensions/${name}`)).status, 204)
        const left = await call('GET', `${path}/extensions?$filter=id eq '${name}'`)
        assert.deepEqual(left.body.value, [])
      }
    },
  )

  clause('DIR-31', 'Creating an extension returns its fully qualified name in `id`.', async () => {
    for (const [resource, path] of resources()) {
      const name = newName()
      assert.equal((await hang(path, name)).body.id, `${type}.${name}`, resource)
      await call('DELETE', `${path}/extensions/${name}`)
    }
  })

  clause(
    'DIR-131',
    'When an extension is read, its `id` is the name on directory objects and `vendor.graph.openTypeExtension.<name>` on the kinds that live in a mailbox; the answer to its creation has the fully qualified name everywhere (DIR-31).',
    async () => {
      for (const [resource, path] of resources()) {
        const name = newName()
        await hang(path, name)
        const id = isObject(resource) ? name : `${type}.${name}`
        assert.equal((await call('GET', `${path}/extensions/${name}`)).body.id, id, resource)
        const expanded = await call('GET', `${path}?$expand=extensions($filter=id eq '${id}')`)
        assert.equal(expanded.body.extensions[0].id, id, `${resource}: ${expanded.text}`)
        await call('DELETE', `${path}/extensions/${name}`)
      }
    },
  )

  clause(
    'DIR-132',
    'On every kind of resource, both the name and the fully qualified name address the extension.',
    async () => {
      for (const [resource, path] of resources()) {
        const name = newName()
        await hang(path, name, { at: resource })
        for (const key of [
          name,
          `${type}.${name}`,
          `Microsoft.Graph.OpenTypeExtension.${name}`,
          name.toUpperCase(),
        ])
          assert.equal((await call('GET', `${path}/extensions/${key}`)).body.at, resource, key)
        await call('PATCH', `${path}/extensions/${type}.${name}`, { at: 'changed' })
        assert.equal((await call('GET', `${path}/extensions('${name}')`)).body.at, 'changed')
        assert.equal((await call('DELETE', `${path}/extensions/${type}.${name}`)).status, 204)
      }
    },
  )

  clause(
    'DIR-30',
    '`{extensionId}` is either the name of the extension, a unique text identifier, or its fully qualified name, the extension type followed by that identifier.',
    async () => {
      const path = `/users/${ids.user}`
      const name = newName()
      await hang(path, name)
      for (const same of [name, name.toUpperCase()]) {
        const again = await hang(path, same)
        assert.equal(again.status, 400)
        assert.equal(again.body.error.message, 'An extension already exists with given id.')
      }
      assert.equal((await hang(path, `${type}.${newName()}`)).status, 400, 'a name that looks qualified')
      for (const odd of ['x', `${name}x`, `other.graph.openTypeExtension.${name}`])
        assert.equal((await call('GET', `${path}/extensions/${odd}`)).status, 404, odd)
      await call('DELETE', `${path}/extensions/${name}`)
    },
  )

  clause(
    'DIR-29',
    'An open extension belongs to one resource instance and is addressed there by `{extensionId}`.',
    async () => {
      const name = newName()
      const paths = [...resources().values()]
      for (const [at, path] of paths.entries()) await hang(path, name, { at })
      for (const [at, path] of paths.entries())
        assert.equal((await call('GET', `${path}/extensions/${name}`)).body.at, at)
      for (const [at, path] of paths.entries()) {
        await call('DELETE', `${path}/extensions/${name}`)
        const next = paths[at + 1]
        if (next) assert.equal((await call('GET', `${next}/extensions/${name}`)).status, 200, next)
      }
    },
  )

  clause(
    'DIR-05',
    'One operation takes an open extension (an openTypeExtension) off an instance of a resource that supports them.',
    async () => {
      const [first, second] = [newName(), newName()]
      const path = `/me/messages/${ids.message}`
      await hang(path, first, { data: 1 })
      await hang(path, second, { data: 2 })
      await call('DELETE', `${path}/extensions/${first}`)
      assert.equal((await call('GET', `${path}/extensions/${second}`)).body.data, 2)
      assert.equal((await call('GET', path)).status, 200)
      const { sql } = service.database
      const entries = await sql<{ action: string; before: object }[]>`
        select action, before from audit_event
        where target = ${`/users/${ids.user}/messages/${ids.message}/extensions/${first}`} order by id`
      assert.deepEqual(
        entries.map(({ action }) => action),
        ['create openExtension', 'delete openExtension'],
      )
      assert.deepEqual(entries[1]?.before, ['data'])
      const changes = await sql<{ kind: string; data: { name: string } }[]>`
        select kind, data from change_log where entity_id = ${ids.message} order by revision desc limit 1`
      assert.deepEqual(changes, [{ kind: 'extensionDeleted', data: { name: first } }])
    },
  )

  clause(
    'DIR-41',
    '`id` is a required string in the path and identifies an instance within its collection.',
    async () => {
      for (const [resource, path] of resources()) {
        const missing = path.replace(/[^/]+$/, randomUUID())
        if (path === '/me') continue
        assert.equal((await call('DELETE', `${missing}/extensions/x`)).status, 404, resource)
        const malformed = path.replace(/[^/]+$/, 'no-id')
        const answer = await call('DELETE', `${malformed}/extensions/x`)
        assert.equal(answer.status, 400, resource)
        assert.equal(answer.body.error.message, "Invalid object identifier 'no-id'.", resource)
      }
      // An instance of another collection does not count.
      assert.equal((await call('DELETE', `/groups/${ids.device}/extensions/x`)).status, 404)
      assert.equal((await call('DELETE', `/me/events/${ids.message}/extensions/x`)).status, 404)
      assert.equal(
        (await call('DELETE', `/groups/${ids.group}/events/${ids.event}/extensions/x`)).status,
        404,
      )
    },
  )

  clause(
    'DIR-43',
    'Deleting an extension needs the header `Authorization` with a Bearer token and is sent without a body.',
    async () => {
      const path = `/me/messages/${ids.message}`
      const name = newName()
      await hang(path, name)
      assert.equal((await service.request('DELETE', `/v1.0${path}/extensions/${name}`)).status, 401)
      const basic = await service.request('DELETE', `/v1.0${path}/extensions/${name}`, {
        headers: { authorization: `Basic ${owner}` },
      })
      assert.equal(basic.status, 401)
      assert.equal((await call('DELETE', `${path}/extensions/${name}`, { extensionName: name })).status, 400)
      assert.equal((await call('GET', `${path}/extensions/${name}`)).status, 200)
      assert.equal((await call('DELETE', `${path}/extensions/${name}`)).status, 204)
    },
  )

  clause(
    'DIR-44',
    'Deleting an extension succeeds with 204 and an empty body, and the extension is gone.',
    async () => {
      const path = `/devices/${ids.device}`
      const name = newName()
      await hang(path, name)
      const answer = await call('DELETE', `${path}/extensions/${name}`)
      assert.equal(answer.status, 204)
      assert.equal(answer.text, '')
      assert.equal(answer.headers.get('content-type'), null)
      assert.equal((await call('GET', `${path}/extensions/${name}`)).status, 404)
      assert.equal((await call('PATCH', `${path}/extensions/${name}`, { x: 1 })).status, 404)
    },
  )

  clause(
    'DIR-99',
    'An extension that does not exist is 404 `ResourceNotFound` with the message `Extension with given id not found.`',
    async () => {
      const check = async (method: string, path: string, key: string) => {
        const sent = method === 'PATCH' ? {} : undefined
        const { status, body } = await call(method, `${path}/extensions/${key}`, sent)
        assert.equal(status, 404, `${method} ${path} ${key}`)
        assert.equal(body.error.code, 'ResourceNotFound')
        assert.equal(body.error.message, 'Extension with given id not found.')
      }
      for (const path of resources().values())
        for (const method of ['GET', 'DELETE', 'PATCH']) await check(method, path, newName())
      for (const key of [`${type}.`, 'x%00y', encodeURIComponent('a/b c'), '%F0%9F%98%80', '..%2f', "a'b"])
        await check('DELETE', '/me', key)
    },
  )

  clause(
    'DIR-133',
    'A directory object holds at most 2 open extensions per creating app, and at most 2 KB in each.',
    async () => {
      const group = await directory.group()
      const answers = await Promise.all(Array.from({ length: 6 }, () => hang(`/groups/${group}`, newName())))
      assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 400, 400, 400, 400])
      const other = service.tokenFor({ permissions: everything, applicationId: randomUUID() })
      assert.equal((await hang(`/groups/${group}`, newName(), {}, other)).status, 201)
      const room = { data: 'x'.repeat(2048 - JSON.stringify({ data: '' }).length) }
      const name = newName()
      assert.equal((await hang(`/groups/${group}`, name, room, other)).status, 201)
      const path = `/groups/${group}/extensions/${name}`
      assert.equal((await call('PATCH', path, { more: 1 }, other)).status, 400)
      assert.equal((await call('PATCH', path, { data: `${room.data}x` }, other)).status, 400)
      assert.equal((await call('PATCH', path, { data: 'é'.repeat(1024) }, other)).status, 400, 'bytes count')
      assert.equal((await call('PATCH', path, { data: null, more: 1 }, other)).status, 204)
      const message = `/me/messages/${ids.message}`
      for (let at = 0; at < 3; at++) assert.equal((await hang(message, newName())).status, 201)
      assert.equal((await hang(message, newName(), { data: 'x'.repeat(4000) })).status, 201)
    },
  )

  test('two who change an extension at once both have their change in it', async () => {
    const path = `/me/messages/${ids.message}`
    const name = newName()
    await hang(path, name)
    await Promise.all(
      Array.from({ length: 8 }, (_, at) => call('PATCH', `${path}/extensions/${name}`, { [`p${at}`]: at })),
    )
    const { body } = await call('GET', `${path}/extensions/${name}`)
    for (let at = 0; at < 8; at++) assert.equal(body[`p${at}`], at)
  })
})
