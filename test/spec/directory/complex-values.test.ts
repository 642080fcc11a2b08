import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import type { Properties, Property } from '../../../src/directory/entities/property.ts'
import { importDirectory } from '../../../src/directory/transfer/import-directory.ts'
import { caller } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { addEveryKind, fieldsOf } from '../../support/every-kind.ts'
import { addApplication } from '../../support/issuer.ts'
import { runs } from '../../support/runs.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { globalAdministrator } from '../../support/tokens.ts'

type Json = Record<string, unknown>

/** Values of texts that a rule of their own checks, by the name of the field. */
const ruled: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  dateTime: fc.constantFrom('2026-11-15T12:00:00', '2027-01-31T23:59:00.5'),
}

/** Collections whose items depend on each other. Certificates have rules of their own (DIR-330). */
const ruledCollections: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  appRoles: fc.array(fc.record({ id: fc.uuid(), allowedMemberTypes: fc.constant(['User']) }), {
    maxLength: 2,
  }),
  assignedLabels: fc.array(fc.record({ labelId: fc.uuid() }), { maxLength: 2 }),
}
const notRandom: readonly string[] = ['keyCredentials']

function valuesOf(name: string, property: Property): fc.Arbitrary<unknown> {
  const { type, accepts } = property
  const own = ruled[name] ?? ruledCollections[name]
  if (own) return own
  if (accepts?.words) return fc.constantFrom(...accepts.words)
  const fields = fieldsOf(property)
  if (fields)
    return 'object' in (type as object) ? partsOf(fields) : fc.array(partsOf(fields), { maxLength: 2 })
  if (type === 'boolean') return fc.boolean()
  if (type === 'integer') return fc.integer({ min: -5, max: 5 })
  if (type === 'guid') return fc.uuid()
  if (type === 'dateTime') return fc.constantFrom('2026-11-15T12:00:00Z', '2027-01-31T23:59:00Z')
  if (type === 'guids') return fc.array(fc.uuid(), { maxLength: 2 })
  if (type === 'strings') return fc.array(fc.string({ maxLength: 5 }), { maxLength: 2 })
  return type === 'json' ? fc.constantFrom({ response: 'none' }, [1]) : fc.string({ maxLength: 5 })
}

/** Some of the members, each with a value or null. */
function partsOf(fields: Properties): fc.Arbitrary<Json> {
  const members = Object.entries(fields).map(([name, field]) => [
    name,
    fc.option(valuesOf(name, field), { freq: 4 }),
  ])
  return fc.record(Object.fromEntries(members), { requiredKeys: [] })
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What a property is after a PATCH: members merge, everything else is replaced. */
function merge(property: Property, before: unknown, sent: unknown): unknown {
  const fields = fieldsOf(property)
  if (!fields || !isObject(sent)) return sent
  const merged: Json = isObject(before) ? { ...before } : {}
  for (const [name, value] of Object.entries(sent))
    merged[name] = merge(fields[name] as Property, merged[name], value)
  return merged
}

/** A member without a value is shown as null or not at all. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const members = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(members.map(([name, inner]) => [name, withoutNulls(inner)]))
}

describe('complex values', () => {
  let service: TestService
  let directory: TestDirectory
  let token: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    token = service.tokenFor({
      permissions: Object.keys(knownPermissions),
      principal: await directory.user(),
      directoryRoles: globalAdministrator,
    })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = caller(
    () => service,
    () => token,
  )

  const tides = {
    displayName: 'Tides',
    api: { oauth2PermissionScopes: [{ id: randomUUID(), value: 'read', type: 'User', isEnabled: true }] },
    web: {
      redirectUris: ['https://tides.example/in'],
      homePageUrl: 'https://tides.example',
      implicitGrantSettings: { enableAccessTokenIssuance: true, enableIdTokenIssuance: true },
    },
  }

  clause(
    'DIR-440',
    'A complex value in a PATCH changes the members that it names, at any depth. Null clears a member, …',
    async () => {
      const { id } = (await call('POST', '/applications', 201, tides)).body
      const path = `/applications/${id}`
      const logoutUrl = 'https://tides.example/out'
      await call('PATCH', path, 204, { api: { requestedAccessTokenVersion: 2 }, web: { logoutUrl } })
      const first = (await call('GET', path, 200)).body
      assert.deepEqual(first.api, { ...tides.api, requestedAccessTokenVersion: 2 })
      assert.deepEqual(first.web, { ...tides.web, logoutUrl })
      const web = { homePageUrl: null, implicitGrantSettings: { enableIdTokenIssuance: false } }
      await call('PATCH', path, 204, { web, api: { oauth2PermissionScopes: [] } })
      const second = (await call('GET', path, 200)).body
      assert.deepEqual(second.web, {
        redirectUris: tides.web.redirectUris,
        implicitGrantSettings: { enableAccessTokenIssuance: true, enableIdTokenIssuance: false },
        logoutUrl,
      })
      assert.deepEqual(second.api, { oauth2PermissionScopes: [], requestedAccessTokenVersion: 2 })
      await call('PATCH', path, 400, { web: { logoutUrl: 7 } })
      await call('PATCH', path, 204, { web: null })
      assert.equal((await call('GET', path, 200)).body.web, null)
    },
  )

  test('DIR-440: random parts of every complex property of every kind merge as in the model', async () => {
    let tried = 0
    for (const { path, described } of await addEveryKind(call, service.tenantId)) {
      const complex = Object.entries(described.properties).filter(
        ([name, property]) =>
          fieldsOf(property) && !property.write && !property.secret && !notRandom.includes(name),
      )
      if (complex.length === 0) continue
      const names = complex.map(([name]) => name)
      const read = async (): Promise<Json> =>
        (await call('GET', `${path}?$select=${names.join(',')}`, 200)).body
      let model = await read()
      const bodies = fc.record(
        Object.fromEntries(
          complex.map(([name, property]) => [name, fc.option(valuesOf(name, property), { freq: 8 })]),
        ),
        { requiredKeys: [] },
      )
      await fc.assert(
        fc.asyncProperty(bodies, async (body) => {
          const sent = await service.request('PATCH', `/v1.0${path}`, { token, body })
          assert.ok(sent.status < 300, `${path}: ${sent.text}`)
          for (const [name, value] of Object.entries(body)) {
            const property = described.properties[name] as Property
            model[name] = merge(property, model[name], value) ?? property.default ?? null
          }
          const shown = await read()
          for (const name of names)
            assert.deepEqual(withoutNulls(shown[name]), withoutNulls(model[name]), `${path} ${name}`)
          model = shown
        }),
        { numRuns: runs(15), endOnFailure: true },
      )
      tried += names.length
    }
    assert.ok(tried > 30, `${tried} complex properties`)
  })

  test('DIR-440: the value of a schema extension and the data of an open extension merge too', async () => {
    const schema = { id: 'course', targetTypes: ['User'], properties: [] as object[] }
    for (const name of ['title', 'room']) schema.properties.push({ name, type: 'String' })
    const { id: course } = (await call('POST', '/schemaExtensions', 201, schema)).body
    const user = await directory.user()
    await call('PATCH', `/users/${user}`, 204, { [course]: { title: 'Knots', room: 'A' } })
    await call('PATCH', `/users/${user}`, 204, { [course]: { room: 'B' } })
    const shown = (await call('GET', `/users/${user}?$select=${course}`, 200)).body
    assert.deepEqual(shown[course], { title: 'Knots', room: 'B' })

    const path = `/users/${user}/extensions`
    const badge = { colours: { front: 'red', back: 'blue' }, tags: [{ a: 1, b: 2 }], size: 1 }
    const type = { '@odata.type': '#microsoft.graph.openTypeExtension', extensionName: 'com.example.badge' }
    await call('POST', path, 201, { ...type, ...badge })
    const change = { colours: { back: null, side: { left: 'x' } }, tags: [{ b: 3 }] }
    await call('PATCH', `${path}/com.example.badge`, 204, change)
    await call('PATCH', `${path}/com.example.badge`, 204, { colours: { side: { right: 'y' } } })
    const { colours, tags, size } = (await call('GET', `${path}/com.example.badge`, 200)).body
    assert.deepEqual(colours, { front: 'red', side: { left: 'x', right: 'y' } })
    assert.deepEqual([tags, size], [[{ b: 3 }], 1])
  })

  clause(
    'DIR-441',
    'PATCHes that name different members of one complex value at the same time lose neither: …',
    async () => {
      const device = `/devices/${await directory.device()}`
      const contact = `/me/contacts/${(await call('POST', '/me/contacts', 201, { givenName: 'Cleo' })).body.id}`
      const badge = { '@odata.type': '#graph.openTypeExtension', extensionName: 'com.example.badge' }
      await call('POST', `${device}/extensions`, 201, badge)
      const attributes = Array.from({ length: 15 }, (_, at) => `extensionAttribute${at + 1}`)
      const places: [string, string, number, string[]][] = [
        [device, 'extensionAttributes', 204, attributes],
        [contact, 'homeAddress', 200, ['street', 'city', 'state', 'countryOrRegion', 'postalCode']],
        [`${device}/extensions/com.example.badge`, 'colours', 204, ['front', 'back', 'side']],
      ]
      for (const [path, property, status, members] of places) {
        const patches = members.map((name) => call('PATCH', path, status, { [property]: { [name]: name } }))
        await Promise.all(patches)
        const shown = (await call('GET', path, 200)).body[property]
        assert.deepEqual(shown, Object.fromEntries(members.map((name) => [name, name])))
      }
    },
  )

  clause(
    'DIR-442',
    'The audit and the checks of a PATCH go by the complex value as it is afterwards, with the members…',
    async () => {
      const { id } = (await call('POST', '/applications', 201, tides)).body
      const logoutUrl = 'https://tides.example/out'
      await call('PATCH', `/applications/${id}`, 204, { web: { logoutUrl } })
      const [entry] = await service.database.sql<{ before: Json; after: Json }[]>`
        select before, after from audit_event
        where target = ${`/applications/${id}`} and action = 'update application'`
      assert.deepEqual(entry?.before.web, tides.web)
      assert.deepEqual(entry?.after.web, { ...tides.web, logoutUrl })

      const strong = await addApplication(service, {
        properties: { web: tides.web },
        permissions: ['RoleManagement.ReadWrite.Directory'],
      })
      const weak = service.tokenFor({ kind: 'application', permissions: ['Application.ReadWrite.All'] })
      const path = `/v1.0/applications/${strong.applicationId}`
      const refused = await service.request('PATCH', path, { token: weak, body: { web: { logoutUrl } } })
      assert.equal(refused.status, 403, 'DIR-154 holds')

      const line = { type: 'application', id, web: { logoutUrl } }
      await service.database.transaction((tx) =>
        importDirectory(tx, {
          tenantId: service.tenantId,
          fileName: 'test',
          chunks: Readable.from([Buffer.from(JSON.stringify(line))]),
        }),
      )
      assert.deepEqual((await call('GET', `/applications/${id}`, 200)).body.web, { logoutUrl })
    },
  )
})
