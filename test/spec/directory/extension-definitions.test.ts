import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { globalAdministrator } from '../../support/tokens.ts'

const permissions = [
  'Application.ReadWrite.All',
  'Directory.ReadWrite.All',
  'Group.ReadWrite.All',
  'Mail.ReadWrite',
  'User.ReadWrite.All',
]

describe('definitions of extensions', () => {
  let service: TestService
  let directory: TestDirectory
  let user: string
  let token: string
  let appId: string
  let application: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    user = await directory.user()
    token = service.tokenFor({ permissions, principal: user, directoryRoles: globalAdministrator })
    appId = randomUUID()
    application = await directory.add('application', { displayName: 'Payroll', appId })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = (method: string, path: string, body?: unknown, as = token) =>
    service.request(method, `/v1.0${path}`, { token: as, ...(body !== undefined && { body }) })

  async function define(body: Record<string, unknown>): Promise<{ id: string; name: string }> {
    const name = `p${randomUUID().slice(0, 8)}`
    const made = await call('POST', `/applications/${application}/extensionProperties`, {
      name,
      dataType: 'String',
      targetObjects: ['User', 'Group'],
      ...body,
    })
    assert.equal(made.status, 201, made.text)
    return made.body
  }
  async function defineSchema(body: Record<string, unknown> = {}): Promise<{ id: string }> {
    const made = await call('POST', '/schemaExtensions', {
      id: 'course',
      description: 'Training',
      targetTypes: ['Group', 'User', 'message'],
      properties: [
        { name: 'courseId', type: 'Integer' },
        { name: 'title', type: 'String' },
      ],
      ...body,
    })
    assert.equal(made.status, 201, made.text)
    return made.body
  }

  clause(
    'DIR-127',
    'A directory-extension property is named `extension_<appId without dashes>_<name>`.',
    async () => {
      const path = `/applications/${application}/extensionProperties`
      const body = { name: 'jobGroup', dataType: 'String', targetObjects: ['User'] }
      const made = await call('POST', path, body)
      assert.equal(made.status, 201)
      const name = `extension_${appId.replaceAll('-', '')}_jobGroup`
      assert.partialDeepStrictEqual(made.body, {
        ...body,
        name,
        appDisplayName: 'Payroll',
        isMultiValued: false,
      })
      const { '@odata.context': _context, ...definition } = made.body
      assert.partialDeepStrictEqual((await call('GET', `${path}/${made.body.id}`)).body, definition)
      assert.deepEqual((await call('GET', path)).body.value, [definition])
      assert.equal(
        (await call('GET', `/applications(appId='${appId}')/extensionProperties`)).body.value.length,
        1,
      )
      const available = await call('POST', '/directoryObjects/getAvailableExtensionProperties', {})
      assert.deepEqual(available.body.value, [definition])
      assert.equal((await call('POST', path, body)).status, 400)
      await call('PATCH', `/users/${user}`, { [name]: 'clerk' })
      assert.equal((await call('GET', `/users/${user}?$select=${name}`)).body[name], 'clerk')
      assert.equal((await call('DELETE', `${path}/${made.body.id}`)).status, 204)
      assert.equal((await call('GET', `${path}/${made.body.id}`)).status, 404)
      assert.equal((await call('GET', `/users/${user}?$select=${name}`)).body[name], undefined)
      assert.equal((await call('PATCH', `/users/${user}`, { [name]: 'clerk' })).status, 400)
    },
  )

  clause(
    'DIR-433',
    'An application that is deleted for good takes its extension properties along, with their values of all objects. A restored…',
    async () => {
      const { id, appId: own } = (await call('POST', '/applications', { displayName: 'Short-lived' })).body
      const body = { name: 'badge', dataType: 'String', targetObjects: ['User'] }
      assert.equal((await call('POST', `/applications/${id}/extensionProperties`, body)).status, 201)
      const name = `extension_${own.replaceAll('-', '')}_badge`
      await call('PATCH', `/users/${user}`, { [name]: 'blue' })
      const readValue = async () => (await call('GET', `/users/${user}?$select=${name}`)).body[name]
      const stored = async () => {
        const [row] = await service.database.sql<{ count: number }[]>`
          select count(*)::int as count from directory_object where properties ? ${name}`
        return row?.count
      }

      assert.equal((await call('DELETE', `/applications/${id}`)).status, 204)
      assert.equal((await call('POST', `/directory/deletedItems/${id}/restore`)).status, 200)
      assert.equal(await readValue(), 'blue')

      assert.equal((await call('DELETE', `/applications/${id}`)).status, 204)
      assert.equal(await stored(), 1)
      assert.equal((await call('DELETE', `/directory/deletedItems/${id}`)).status, 204)
      assert.equal(await stored(), 0)
      assert.equal(await readValue(), undefined)
      const [logged] = await service.database.sql<{ kind: string }[]>`
        select kind from change_log where entity_id = ${user} order by revision desc limit 1`
      assert.equal(logged?.kind, 'updated')
    },
  )

  clause('DIR-128', 'A schema-extension property is named `<domain>_<name>`.', async () => {
    const { id } = await defineSchema({ id: 'contoso_courses' })
    assert.equal(id, 'contoso_courses')
    assert.match((await defineSchema()).id, /^ext[a-z0-9]{8}_course$/)
    const read = (await call('GET', `/schemaExtensions/${id}`)).body
    assert.equal(read.status, 'InDevelopment')
    assert.deepEqual(read.targetTypes, ['Group', 'User', 'Message'])
    const group = await directory.group()
    await call('PATCH', `/groups/${group}`, { [id]: { courseId: 7, title: 'SQL' } })
    assert.deepEqual((await call('GET', `/groups/${group}?$select=${id}`)).body[id], {
      courseId: 7,
      title: 'SQL',
    })
    assert.equal((await call('DELETE', `/schemaExtensions/${id}`)).status, 204)
    assert.equal((await call('GET', `/groups/${group}?$select=${id}`)).body[id], undefined)
  })

  clause(
    'DIR-59',
    'An update can set directory-extension and schema-extension properties of a group.',
    async () => {
      const group = await directory.group()
      const { id } = await defineSchema()
      const values: [string, unknown[], unknown[]][] = [
        ['String', ['', 'x'.repeat(256)], ['x'.repeat(257), 1, true, {}, [], 'a\u0000b']],
        ['Boolean', [true, false], ['true', 0, {}]],
        ['Integer', [0, -2147483648, 2147483647], [2147483648, 1.5, '1', true]],
        ['LargeInteger', [9007199254740991], [2 ** 53 + 2, '5']],
        ['DateTime', ['2026-11-15T10:00:00Z'], ['yesterday', 5, '2026-02-30T00:00:00Z']],
        ['Binary', ['', 'AAEC'], ['***', 'AAE', 3]],
      ]
      for (const [dataType, good, bad] of values) {
        const { name } = await define({ dataType })
        for (const value of good) {
          const answer = await call('PATCH', `/groups/${group}`, { [name]: value })
          assert.equal(answer.status, 204, `${dataType} ${JSON.stringify(value)}: ${answer.text}`)
          assert.deepEqual((await call('GET', `/groups/${group}?$select=${name}`)).body[name], value)
        }
        for (const value of bad)
          assert.equal(
            (await call('PATCH', `/groups/${group}`, { [name]: value })).status,
            400,
            `${dataType} ${JSON.stringify(value)}`,
          )
      }
      const { name } = await define({ isMultiValued: true })
      assert.equal((await call('PATCH', `/groups/${group}`, { [name]: ['a', 'b'] })).status, 204)
      assert.equal((await call('PATCH', `/groups/${group}`, { [name]: 'a' })).status, 400)
      assert.equal((await call('PATCH', `/groups/${group}`, { [id]: { courseId: 'x' } })).status, 400)
      assert.equal((await call('PATCH', `/groups/${group}`, { [id]: { other: 1 } })).status, 400)
      assert.equal((await call('PATCH', `/groups/${group}`, { [id]: 5 })).status, 400)
      const forDevices = await define({ targetObjects: ['Device'] })
      assert.equal((await call('PATCH', `/groups/${group}`, { [forDevices.name]: 'x' })).status, 400)
    },
  )

  clause(
    'DIR-60',
    'Setting a directory-extension or schema-extension property to null removes its stored data.',
    async () => {
      const group = await directory.group()
      const { name } = await define({})
      const { id } = await defineSchema()
      const stored = async () => {
        const [row] = await service.database.sql<{ properties: Record<string, unknown> }[]>`
          select properties from directory_object where id = ${group}`
        return row?.properties ?? {}
      }
      await call('PATCH', `/groups/${group}`, { [name]: 'x', [id]: { courseId: 1, title: 'y' } })
      assert.deepEqual((await stored())[id], { courseId: 1, title: 'y' })
      await call('PATCH', `/groups/${group}`, { [id]: { title: null } })
      assert.deepEqual((await stored())[id], { courseId: 1 })
      const answer = await call('PATCH', `/groups/${group}`, { [name]: null, [id]: null })
      assert.equal(answer.status, 204)
      assert.ok(!Object.hasOwn(await stored(), name))
      assert.ok(!Object.hasOwn(await stored(), id))
    },
  )

  test('a schema extension goes from development to available to deprecated, by its owner', async () => {
    const { id } = await defineSchema()
    const path = `/schemaExtensions/${id}`
    const change = (body: object, as = token) => call('PATCH', path, body, as)
    const stranger = service.tokenFor({ permissions, applicationId: randomUUID() })
    assert.equal((await change({ description: 'mine now' }, stranger)).status, 403)
    assert.equal((await call('DELETE', path, undefined, stranger)).status, 403)
    assert.equal((await change({ status: 'Deprecated' })).status, 400)
    assert.equal((await change({ status: 'Available' })).status, 204)
    assert.equal((await change({ status: 'InDevelopment' })).status, 400)
    assert.equal((await call('DELETE', path)).status, 400)
    assert.equal((await change({ properties: [{ name: 'place', type: 'String' }] })).status, 204)
    assert.equal((await change({ properties: [{ name: 'place', type: 'Integer' }] })).status, 400)
    assert.equal((await call('GET', path)).body.properties.length, 3)
    const group = await directory.group()
    assert.equal((await call('PATCH', `/groups/${group}`, { [id]: { place: 'here' } })).status, 204)
    assert.equal((await change({ status: 'Deprecated' })).status, 204)
    assert.equal((await call('PATCH', `/groups/${group}`, { [id]: { place: 'there' } })).status, 400)
    assert.equal((await call('PATCH', `/groups/${group}`, { [id]: null })).status, 204)
    const listed = await call('GET', `/schemaExtensions?$filter=id eq '${id}' and status eq 'Deprecated'`)
    assert.equal(listed.body.value.length, 1, listed.text)
  })

  test('a person who owns another application may define for it, others may not', async () => {
    const body = { id: 'x', targetTypes: ['User'], properties: [{ name: 'a', type: 'String' }], owner: appId }
    assert.equal((await call('POST', '/schemaExtensions', body)).status, 403)
    await service.database.sql`
      insert into owner_edge (tenant_id, object_id, owner_id) values (${service.tenantId}, ${application}, ${user})`
    const made = await call('POST', '/schemaExtensions', body)
    assert.equal(made.status, 201)
    assert.equal(made.body.owner, appId)
  })

  test('lists of definitions have pages', async () => {
    for (let at = 0; at < 5; at++) await defineSchema()
    const seen = new Set<string>()
    let next: string | undefined =
      `${service.origin}/v1.0/schemaExtensions?$top=2&$filter=startswith(id,'ext')`
    while (next) {
      const { body } = await service.request('GET', next, { token })
      for (const { id } of body.value) seen.add(id)
      next = body['@odata.nextLink']
    }
    const all = (await call('GET', "/schemaExtensions?$filter=startswith(id,'ext')")).body.value
    assert.equal(seen.size, all.length)
    assert.ok(seen.size >= 5)
  })

  test('items take the schema extensions that are for their kind', async () => {
    const { id } = await defineSchema()
    const made = await call('POST', '/me/messages', { subject: 'x', [id]: { courseId: 3 } })
    assert.equal(made.status, 201, made.text)
    const path = `/me/messages/${made.body.id}`
    assert.deepEqual((await call('GET', `${path}?$select=${id}`)).body[id], { courseId: 3 })
    assert.equal((await call('PATCH', path, { [id]: null })).status, 200)
    assert.equal((await call('GET', `${path}?$select=${id}`)).body[id], undefined)
  })
})
