import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { standAloneProperties } from '../../../src/directory/objects/kinds/group.ts'
import { caller } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { addEveryKind, type Patchable, readWhole, still } from '../../support/every-kind.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { globalAdministrator } from '../../support/tokens.ts'

type Body = Record<string, unknown>

describe('bodies that clients read, change and send back', () => {
  let service: TestService
  let directory: TestDirectory
  let token: string
  let user: string
  let every: Patchable[]

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    user = await directory.user()
    const permissions = Object.keys(knownPermissions)
    token = service.tokenFor({ permissions, principal: user, directoryRoles: globalAdministrator })
    every = await addEveryKind(call, service.tenantId)
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = caller(
    () => service,
    () => token,
  )
  const find = (kind: string) => every.find(({ described }) => described.kind === kind) as Patchable

  async function storedOf({ path }: Patchable): Promise<Body> {
    const id = path.split('/').at(-1) ?? ''
    const [row] = await service.database.sql<{ properties: Body }[]>`
      select properties from directory_object where id = ${id}
      union all select properties from item where id = ${id}`
    return row?.properties ?? {}
  }

  clause(
    'DIR-443',
    'A PATCH ignores a read-only property with its present value, and refuses another value with 400. …',
    async () => {
      for (const one of every) {
        const { path, change, answer } = one
        const stored = await storedOf(one)
        for (const read of [async () => (await call('GET', path, 200)).body, () => readWhole(call, one)]) {
          const before = await readWhole(call, one)
          await call('PATCH', path, answer, await read())
          assert.deepEqual(still(await readWhole(call, one)), still(before), path)
        }
        const sent = {
          ...(await readWhole(call, one)),
          '@odata.id': `${service.origin}/v1.0${path}`,
          ...change,
        }
        const before = await readWhole(call, one)
        await call('PATCH', path, answer, sent)
        assert.deepEqual(still(await readWhole(call, one)), still({ ...before, ...change }), path)
        const kept = Object.keys(stored).filter((name) => !Object.hasOwn(change, name))
        const after = await storedOf(one)
        for (const name of kept) assert.deepEqual(after[name], stored[name], `${path} ${name}`)
      }
    },
  )

  test('DIR-443: a read-only property of any kind with another value is 400, and nothing is changed', async () => {
    let tried = 0
    for (const one of every) {
      const before = await readWhole(call, one)
      for (const [name, { write, type }] of Object.entries(one.described.properties)) {
        if (write !== 'never' && write !== 'creation') continue
        const other = type === 'boolean' ? before[name] !== true : type === 'integer' ? 77 : randomUUID()
        await call('PATCH', one.path, 400, { ...one.change, [name]: other })
        if (before[name] !== null) await call('PATCH', one.path, 400, { ...one.change, [name]: null })
        tried++
      }
      assert.deepEqual(await readWhole(call, one), before)
    }
    assert.ok(tried > 100, `${tried}`)
  })

  test('DIR-443: times and lists count by what they say, not by their spelling', async () => {
    const { path } = find('application')
    await call('POST', `${path}/addPassword`, 200, { passwordCredential: { displayName: 'one' } })
    const { createdDateTime, id, passwordCredentials } = (await call('GET', path, 200)).body
    const [secret] = passwordCredentials
    const spelled = {
      createdDateTime: createdDateTime.replace('Z', '+00:00'),
      id: id.toUpperCase(),
      passwordCredentials: [{ customKey: undefined, ...secret, keyId: secret.keyId.toUpperCase() }],
      deletedDateTime: null,
    }
    await call('PATCH', path, 204, spelled)
    for (const other of [[], [{ ...secret, displayName: 'two' }], [secret, secret]])
      await call('PATCH', path, 400, { passwordCredentials: other })
  })

  const patchAs = async (token: string, { path }: Patchable, body: object) =>
    (await service.request('PATCH', `/v1.0${path}`, { token, body })).status

  test('DIR-443: certificates go back with a caller who may not set them', async () => {
    const one = find('application')
    const weak = service.tokenFor({ kind: 'application', permissions: ['Directory.ReadWrite.All'] })
    const body = await readWhole(call, one)
    assert.equal(await patchAs(weak, one, { ...body, notes: 'Sent back' }), 204)
    for (const keyCredentials of [[], null, [{ displayName: 'other' }]])
      assert.equal(await patchAs(weak, one, { ...body, keyCredentials }), 403)
  })

  clause(
    'DIR-447',
    'Null for the `preferredDataLocation` of a group that has none takes no directory role (DIR-20).',
    async () => {
      const one = find('group')
      const weak = service.tokenFor({ kind: 'application', permissions: ['Group.ReadWrite.All'] })
      const body = await readWhole(call, one)
      assert.equal(await patchAs(weak, one, { ...body, description: 'Sent back' }), 204)
      assert.equal(await patchAs(weak, one, { preferredDataLocation: 'EUR' }), 403)
      const path = one.path.split('/').at(-1) ?? ''
      await service.database.sql`
        update directory_object set properties = properties || '{"preferredDataLocation":"EUR"}' where id = ${path}`
      for (const preferredDataLocation of [null, 'EUR'])
        assert.equal(await patchAs(weak, one, { preferredDataLocation }), 403, 'DIR-20 holds')
      await service.database.sql`
        update directory_object set properties = properties - 'preferredDataLocation' where id = ${path}`
    },
  )

  test('DIR-443: definitions, extensions, consents and subscriptions are sent back too', async () => {
    const owner = { '@odata.type': '#microsoft.graph.schemaExtension', id: 'course', targetTypes: ['User'] }
    const properties = [{ name: 'title', type: 'String' }]
    const { id } = (await call('POST', '/schemaExtensions', 201, { ...owner, properties })).body
    const type = { '@odata.type': 'microsoft.graph.openTypeExtension', extensionName: 'com.example.badge' }
    await call('POST', `/users/${user}/extensions`, 201, { ...type, colour: 'red' })
    const principal = await directory.servicePrincipal()
    const grant = { clientId: principal, consentType: 'AllPrincipals', resourceId: await directory.findApi() }
    const consent = await call('POST', '/oauth2PermissionGrants', 201, { ...grant, scope: 'User.Read' })
    const changes: [string, number, Body, Body][] = [
      [`/schemaExtensions/${id}`, 204, { description: 'New' }, { owner: randomUUID() }],
      [`/users/${user}/extensions/com.example.badge`, 204, { colour: 'blue' }, { extensionName: 'other' }],
      [`/oauth2PermissionGrants/${consent.body.id}`, 204, { scope: 'Mail.Read' }, { clientId: user }],
    ]
    for (const [path, status, change, refused] of changes) {
      const before = (await call('GET', path, 200)).body
      await call('PATCH', path, status, { ...before, ...change })
      assert.deepEqual((await call('GET', path, 200)).body, { ...before, ...change })
      await call('PATCH', path, 400, { ...before, ...refused })
    }
  })

  clause(
    'DIR-444',
    'Beside a property of DIR-57 every other property is 400, also one with its present value.',
    async () => {
      const one = find('group')
      const shown = (await call('GET', one.path, 200)).body
      const before = await readWhole(call, one)
      for (const name of Object.keys(standAloneProperties)) {
        const { [name]: value } = (await call('GET', `${one.path}?$select=${name}`, 200)).body
        await call('PATCH', one.path, 400, { [name]: value, id: before.id })
        await call('PATCH', one.path, 400, { ...shown, [name]: value })
        const alone = await call('GET', `${one.path}?$select=${name}`, 200)
        await call('PATCH', one.path, 200, alone.body)
      }
      assert.deepEqual(still(await readWhole(call, one)), still(before))
    },
  )

  clause(
    'DIR-445',
    'A creation ignores a read-only property that is null or has its default, and refuses any other value…',
    async () => {
      const device = () => ({
        accountEnabled: true,
        displayName: 'Laptop',
        deviceId: randomUUID(),
        operatingSystem: 'Linux',
        operatingSystemVersion: '6',
      })
      const collections: [string, string, () => Body][] = [
        ['application', '/applications', () => ({ displayName: 'Tides' })],
        ['orgContact', '/contacts', () => ({ displayName: 'Bo' })],
        ['device', '/devices', device],
        ['message', '/me/messages', () => ({ subject: 'Budget' })],
        ['calendar', '/me/calendars', () => ({ name: 'Work' })],
      ]
      for (const [kind, collection, make] of collections) {
        const { properties } = find(kind).described
        const readOnly = Object.entries(properties).filter(([, { write }]) => write === 'never')
        const preset = readOnly.map(([name, property]) => [name, property.default ?? null])
        const { body } = await call('POST', collection, 201, { ...make(), ...Object.fromEntries(preset) })
        assert.notEqual(body.id, null)
        for (const [name] of readOnly) await call('POST', collection, 400, { ...make(), [name]: body.id })
      }
    },
  )
})
