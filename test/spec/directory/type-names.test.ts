import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import type { Property } from '../../../src/directory/entities/property.ts'
import { caller } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import {
  addEveryKind,
  fieldsOf,
  namesOf,
  type Patchable,
  readWhole,
  still,
} from '../../support/every-kind.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { globalAdministrator } from '../../support/tokens.ts'

type Body = Record<string, unknown>

describe('names of types in bodies', () => {
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

  clause(
    'DIR-446',
    '`@odata.type` in a body names the type of the resource or complex value, in either namespace, or the…',
    async () => {
      for (const one of every) {
        const { kind } = one.described
        const names = [kind === 'thread' ? 'conversationThread' : kind, kind]
        for (const name of names)
          for (const namespace of ['#vendor.graph', '#microsoft.graph', '#graph', 'microsoft.graph'])
            await call('PATCH', one.path, one.answer, { '@odata.type': `${namespace}.${name}` })
        for (const type of ['#microsoft.graph.domain', '#x.graph.user', kind, '', 7])
          await call('PATCH', one.path, 400, { '@odata.type': type, ...one.change })
      }
    },
  )

  test('DIR-446: every creation takes the name of its type, and no other', async () => {
    const { id: application, appId } = (await call('POST', '/applications', 201, { displayName: 'Tides' }))
      .body
    const principal = (await call('POST', '/servicePrincipals', 201, { appId })).body.id
    const group = await directory.unifiedGroup()
    const api = await directory.findApi()
    const permission = (await call('GET', `/servicePrincipals/${api}`, 200)).body.appRoles[0].id
    const readers = '88d8e3e3-8f55-4a1e-953a-9b9898b8876b'
    const creations: [string, string, Body][] = [
      ['application', '/applications', { displayName: 'More' }],
      ['orgContact', '/contacts', { displayName: 'Bo' }],
      ['directoryRole', '/directoryRoles', { roleTemplateId: readers }],
      ['message', '/me/messages', { subject: 'Budget' }],
      [
        'conversationThread',
        `/groups/${group}/threads`,
        { topic: 'Cake', posts: [{ '@odata.type': '#graph.post' }] },
      ],
      ['conversation', `/groups/${group}/conversations`, { topic: 'Cake', threads: [{ posts: [{}] }] }],
      ['openTypeExtension', `/users/${user}/extensions`, { extensionName: 'com.example.typed' }],
      [
        'extensionProperty',
        `/applications/${application}/extensionProperties`,
        { name: 'badge', dataType: 'String', targetObjects: ['User'] },
      ],
      [
        'schemaExtension',
        '/schemaExtensions',
        { id: 'typed', targetTypes: ['User'], properties: [{ name: 'a', type: 'String' }] },
      ],
      [
        'oAuth2PermissionGrant',
        '/oauth2PermissionGrants',
        { clientId: principal, consentType: 'AllPrincipals', resourceId: api, scope: 'User.Read' },
      ],
      [
        'appRoleAssignment',
        `/servicePrincipals/${principal}/appRoleAssignments`,
        { principalId: principal, resourceId: api, appRoleId: permission },
      ],
      [
        'unifiedRoleAssignment',
        '/roleManagement/directory/roleAssignments',
        { principalId: user, roleDefinitionId: readers, directoryScopeId: '/' },
      ],
    ]
    for (const [type, collection, body] of creations) {
      for (const wrong of ['#microsoft.graph.domain', `#x.graph.${type}`, type, 7])
        await call('POST', collection, 400, { ...body, '@odata.type': wrong })
      await call('POST', collection, 201, { ...body, '@odata.type': `#microsoft.graph.${type}` })
    }
    const passwordCredential = { '@odata.type': '#microsoft.graph.passwordCredential', displayName: 'one' }
    await call('POST', `/applications/${application}/addPassword`, 200, { passwordCredential })
    const wrong = { ...passwordCredential, '@odata.type': '#microsoft.graph.keyCredential' }
    await call('POST', `/applications/${application}/addPassword`, 400, { passwordCredential: wrong })
  })

  test('DIR-446: complex values take the name of the original and that of $metadata, at any depth', async () => {
    let tried = 0
    for (const one of every) {
      const shown = await readWhole(call, one)
      for (const name of namesOf(one)) {
        const property = one.described.properties[name]
        if (!property || property.secret) continue
        for (const [body, names] of typed(`${one.described.kind}_${name}`, property.type, shown[name])) {
          for (const type of names) await call('PATCH', one.path, one.answer, { [name]: body(type) })
          await call('PATCH', one.path, 400, { [name]: body('#microsoft.graph.domain') })
          tried++
        }
      }
      assert.deepEqual(still(await readWhole(call, one)), still(shown))
    }
    assert.ok(tried > 40, `${tried}`)
  })
})

type Typed = [body: (type: string) => unknown, names: string[]]

function nameOf(type: Property['type']): string {
  return (typeof type === 'object' && type.named) || 'missing'
}

/** Every object within a shown value, with a way to write the value with a type in that object. */
function typed(path: string, type: Property['type'], value: unknown): Typed[] {
  const fields = fieldsOf({ type })
  if (!fields || value === null || value === undefined) return []
  if (Array.isArray(value))
    return value
      .slice(0, 1)
      .flatMap((item) =>
        typed(path, { object: fields, named: nameOf(type) }, item).map(
          ([body, names]): Typed => [(name) => [body(name), ...value.slice(1)], names],
        ),
      )
  const shown = value as Body
  const names = [`#vendor.graph.${path}`, `#microsoft.graph.${nameOf(type)}`]
  const own: Typed = [(name) => ({ '@odata.type': name, ...shown }), names]
  const inner = Object.entries(fields).flatMap(([field, property]) =>
    typed(`${path}_${field}`, property.type, shown[field]).map(
      ([body, named]): Typed => [(name) => ({ ...shown, [field]: body(name) }), named],
    ),
  )
  return [own, ...inner]
}
