import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('update group, custom properties', () => {
  let service: TestService
  let directory: TestDirectory
  let admin: string
  let application: { id: string; appId: string }

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    admin = await service.tokenFor({ permissions: ['Group.ReadWrite.All'] })
    const appId = randomUUID()
    application = { appId, id: await directory.add('application', { displayName: 'Owner', appId }) }
  })
  after(() => service?.[Symbol.asyncDispose]())

  const patch = (id: string, body: unknown) =>
    service.request('PATCH', `/v1.0/groups/${id}`, { token: admin, body })

  async function stored(id: string): Promise<Record<string, unknown>> {
    const [row] = await service.database.sql<{ properties: Record<string, unknown> }[]>`
      select properties from directory_object where id = ${id}`
    assert.ok(row)
    return row.properties
  }

  /** Defines a directory-extension property and returns its full name. */
  async function define(name: string, type = 'String', targets = ['Group'], isMultiValued = false) {
    const { sql } = service.database
    const fullName = `extension_${application.appId.replaceAll('-', '')}_${name}`
    await sql`
      insert into extension_property (tenant_id, id, application_id, name, data_type, target_objects, is_multi_valued)
      values (${service.tenantId}, ${randomUUID()}, ${application.id}, ${fullName}, ${type}, ${targets}, ${isMultiValued})`
    return fullName
  }

  async function defineSchema(id: string, targets = ['Group']): Promise<string> {
    const { sql } = service.database
    const properties = [
      { name: 'courseId', type: 'Integer' },
      { name: 'courseName', type: 'String' },
    ]
    await sql`
      insert into schema_extension (tenant_id, id, owner, status, target_types, properties)
      values (${service.tenantId}, ${id}, ${application.appId}, 'Available', ${targets}, ${sql.json(properties)})`
    return id
  }

  clause(
    'DIR-59',
    'An update can set directory-extension and schema-extension properties of a group.',
    async () => {
      const id = await directory.group()
      const [text, flag, many] = [
        await define('text'),
        await define('flag', 'Boolean'),
        await define('many', 'String', ['Group'], true),
      ]
      const schema = await defineSchema('example_courses')
      const sent = {
        [text]: 'a',
        [flag]: true,
        [many]: ['x', 'y'],
        [schema]: { courseId: 7, courseName: 'z' },
      }
      assert.equal((await patch(id, { ...sent, description: 'beside' })).status, 204)
      const after = await stored(id)
      for (const [name, value] of Object.entries(sent)) assert.deepEqual(after[name], value)
      assert.equal(after.description, 'beside')
      const reader = await service.tokenFor({ permissions: ['Group.Read.All'] })
      const path = `/v1.0/groups/${id}?$select=id,${text},${schema}`
      const { body } = await service.request('GET', path, { token: reader })
      assert.equal(body[text], 'a')
      assert.deepEqual(body[schema], sent[schema])

      const forUsers = await define('forUsers', 'String', ['User'])
      const schemaForUsers = await defineSchema('example_users', ['User'])
      const wrong: [string, unknown][] = [
        [text, 7],
        [text, ['a']],
        [flag, 'true'],
        [many, 'x'],
        [many, ['x', 7]],
        [schema, 'x'],
        [schema, [{ courseId: 1 }]],
        [schema, { courseId: 'seven' }],
        [schema, { unknown: 1 }],
        [forUsers, 'x'],
        [schemaForUsers, { courseId: 1 }],
      ]
      for (const [name, value] of wrong)
        assert.equal((await patch(id, { description: 'new', [name]: value })).status, 400, name)
      assert.deepEqual(await stored(id), after)
    },
  )

  clause(
    'DIR-60',
    'Setting a directory-extension or schema-extension property to null removes its stored data.',
    async () => {
      const id = await directory.group()
      const [one, other, schema] = [
        await define('one'),
        await define('other'),
        await defineSchema('example_gone'),
      ]
      const sent = { [one]: 'a', [other]: 'b', [schema]: { courseId: 7, courseName: 'z' } }
      assert.equal((await patch(id, sent)).status, 204)
      assert.equal((await patch(id, { [schema]: { courseName: null } })).status, 204)
      assert.deepEqual((await stored(id))[schema], { courseId: 7 })
      assert.equal((await patch(id, { [one]: null, [schema]: null })).status, 204)
      const after = await stored(id)
      assert.equal(one in after, false)
      assert.equal(schema in after, false)
      assert.equal(after[other], 'b')
      assert.equal((await patch(id, { [one]: null })).status, 204, 'what is not there can be removed again')
    },
  )

  clause(
    'DIR-61',
    'Data of an open extension is removed by deleting the extension, not by updating the group.',
    async () => {
      const { sql } = service.database
      const id = await directory.group()
      await sql`
        insert into open_extension (tenant_id, object_id, name, application_id, properties)
        values (${service.tenantId}, ${id}, 'com.example.notes', ${application.appId}, '{"note":"kept"}')`
      for (const body of [
        { 'com.example.notes': null },
        { extensions: null },
        { extensions: [] },
        { 'vendor.graph.openTypeExtension.com.example.notes': null },
      ])
        assert.equal((await patch(id, body)).status, 400)
      const rows = await sql`select properties from open_extension where object_id = ${id}`
      assert.deepEqual(rows, [{ properties: { note: 'kept' } }])
    },
  )

  clause(
    'DIR-127',
    'A directory-extension property is named `extension_<appId without dashes>_<name>`.',
    async () => {
      const id = await directory.group()
      await define('named')
      const plain = application.appId.replaceAll('-', '')
      assert.equal((await patch(id, { [`extension_${plain}_named`]: 'x' })).status, 204)
      for (const name of [
        `extension_${application.appId}_named`,
        `extension_${randomUUID().replaceAll('-', '')}_named`,
        `extension_${plain}_Named`,
        `extension_${plain}_`,
        'named',
      ])
        assert.equal((await patch(id, { [name]: 'x' })).status, 400, name)
    },
  )

  clause('DIR-128', 'A schema-extension property is named `<domain>_<name>`.', async () => {
    const id = await directory.group()
    await defineSchema('contoso_training')
    assert.equal((await patch(id, { contoso_training: { courseId: 1 } })).status, 204)
    for (const name of ['training', 'contoso_Training', 'fabrikam_training', 'contoso_training_courseId'])
      assert.equal((await patch(id, { [name]: { courseId: 1 } })).status, 400, name)
  })
})
