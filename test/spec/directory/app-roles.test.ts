import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { readHeldAppRoles } from '../../../src/directory/app-roles/app-roles.ts'
import { permissionId } from '../../../src/directory/applications/api-principal.ts'
import { importDirectory } from '../../../src/directory/transfer/import-directory.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import {
  addApplication,
  addAssignment,
  addPerson,
  requireAssignments,
  trustService,
} from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, signIn, singlePage } from '../../support/sign-in.ts'
import { issuedNow } from '../../support/tokens.ts'

const noRole = '00000000-0000-0000-0000-000000000000'
const granting = ['AppRoleAssignment.ReadWrite.All']

describe('roles of applications', () => {
  let service: TestService
  let directory: TestDirectory

  before(async () => {
    service = await startTestService()
    trustService(service)
    directory = fillDirectory(service)
  })
  after(() => service?.[Symbol.asyncDispose]())

  const ask = (method: string, path: string, body?: unknown, permissions: readonly string[] = granting) =>
    service.request(method, `/v1.0${path}`, {
      token: service.tokenFor({ kind: 'application', permissions }),
      ...(body !== undefined && { body }),
    })
  const role = (value: string, allowedMemberTypes = ['User']) => ({
    id: randomUUID(),
    value,
    displayName: value,
    description: value,
    allowedMemberTypes,
    isEnabled: true,
  })

  /** An application with the roles, written as clients do. */
  async function addWithRoles(roles: readonly object[]) {
    const made = await addApplication(service, { properties: singlePage, consented: ['openid', 'User.Read'] })
    const path = `/applications/${made.applicationId}`
    const { status, text } = await ask('PATCH', path, { appRoles: roles }, ['Application.ReadWrite.All'])
    assert.equal(status, 204, text)
    return made
  }

  clause(
    'DIR-272',
    '`appRoleAssignments` of users and groups, and `appRoleAssignedTo` of a service principal, list, give and take the roles that an application defines in `appRoles`; …',
    async () => {
      const [reader, daemon] = [role('Reader'), role('Daemon', ['Application'])]
      const { servicePrincipalId: resourceId } = await addWithRoles([reader, daemon])
      const principals = { users: await directory.user(), groups: await directory.group() }
      for (const [set, principalId] of Object.entries(principals)) {
        const path = `/${set}/${principalId}/appRoleAssignments`
        const body = { principalId, resourceId, appRoleId: reader.id }
        assert.equal((await ask('POST', path, body, ['Directory.ReadWrite.All'])).status, 403)
        const made = await ask('POST', path, body)
        assert.equal(made.status, 201, made.text)
        assert.deepEqual(
          [made.body.appRoleId, made.body.principalId, made.body.resourceId, made.body.principalType],
          [reader.id, principalId, resourceId, set === 'users' ? 'User' : 'Group'],
        )
        assert.equal((await ask('POST', path, body)).status, 409)
        const listed = await ask('GET', `${path}?$filter=resourceId eq ${resourceId}`, undefined, [
          'Directory.Read.All',
        ])
        assert.deepEqual(listed.body.value, [without(made.body)])
        assert.equal((await ask('GET', path, undefined, ['User.Read.All', 'Group.Read.All'])).status, 403)
        const one = await ask('GET', `${path}/${made.body.id}`)
        assert.deepEqual(without(one.body), without(made.body))
        const wrong = [
          { ...body, appRoleId: daemon.id },
          { ...body, appRoleId: noRole },
          { ...body, appRoleId: randomUUID() },
          { ...body, principalId: resourceId },
          { ...body, resourceId: 'x' },
        ]
        for (const sent of wrong) {
          const { status, text } = await ask('POST', path, sent)
          assert.ok(status === 400 || status === 404, `${JSON.stringify(sent)}: ${text}`)
        }
      }
      const to = `/servicePrincipals/${resourceId}/appRoleAssignedTo`
      const readers = ['Application.Read.All']
      const all = await ask('GET', `${to}?$count=true&$top=1`, undefined, readers)
      assert.deepEqual([all.body['@odata.count'], all.body.value.length], [2, 1])
      const second = await ask(
        'GET',
        new URL(all.body['@odata.nextLink']).href.split('/v1.0')[1] ?? '',
        undefined,
        readers,
      )
      const ids = [...all.body.value, ...second.body.value].map(({ principalId }) => principalId)
      assert.deepEqual(ids.toSorted(), Object.values(principals).toSorted())
      const [{ id, principalId }] = all.body.value
      const at = `${to}/${id}`
      assert.equal((await ask('DELETE', at, undefined, [...granting, ...readers])).status, 204)
      assert.equal((await ask('DELETE', at, undefined, [...granting, ...readers])).status, 404)
      const set = principalId === principals.users ? 'users' : 'groups'
      const left = await ask('GET', `/${set}/${principalId}/appRoleAssignments`)
      assert.deepEqual(left.body.value, [])
    },
  )

  test('DIR-272: people assign roles of applications that they own, and roles of this API to no user', async () => {
    const reader = role('Reader')
    const { servicePrincipalId: resourceId, applicationId } = await addWithRoles([reader])
    const [owner, other, user] = [await directory.user(), await directory.user(), await directory.user()]
    await service.database.sql`
      insert into owner_edge (tenant_id, object_id, owner_id) values (${service.tenantId}, ${applicationId}, ${owner})`
    const path = `/v1.0/users/${user}/appRoleAssignments`
    const body = { principalId: user, resourceId, appRoleId: reader.id }
    const as = (principal: string) => ({
      token: service.tokenFor({ principal, permissions: granting }),
      body,
    })
    assert.equal((await service.request('POST', path, as(other))).status, 403)
    assert.equal((await service.request('POST', path, as(owner))).status, 201)
    const permission = {
      ...body,
      resourceId: await directory.findApi(),
      appRoleId: permissionId('User.Read.All'),
    }
    assert.equal((await ask('POST', `/users/${user}/appRoleAssignments`, permission)).status, 400)
    const audited = await service.database.sql<{ after: unknown }[]>`
      select after from masquerade.audit_event where action = 'grant app role' and target = ${`/users/${user}`}`
    assert.deepEqual(
      audited.map((entry) => entry.after),
      [{ resourceId, appRoleId: reader.id }],
    )
  })

  test('DIR-272: roles that an application drops end their assignments, and malformed roles are 400', async () => {
    const [kept, dropped] = [role('Kept'), role('Dropped')]
    const { servicePrincipalId: resourceId, applicationId } = await addWithRoles([kept, dropped])
    const principalId = await directory.user()
    for (const { id: appRoleId } of [kept, dropped])
      await ask('POST', `/users/${principalId}/appRoleAssignments`, { principalId, resourceId, appRoleId })
    const write = ['Application.ReadWrite.All']
    assert.equal(
      (await ask('PATCH', `/applications/${applicationId}`, { appRoles: [kept] }, write)).status,
      204,
    )
    const left = await ask('GET', `/users/${principalId}/appRoleAssignments`)
    assert.deepEqual(
      left.body.value.map(({ appRoleId }: { appRoleId: string }) => appRoleId),
      [kept.id],
    )
    const principal = await ask('GET', `/servicePrincipals/${resourceId}`, undefined, [
      'Application.Read.All',
    ])
    assert.deepEqual(
      principal.body.appRoles.map(({ value }: { value: string }) => value),
      ['Kept'],
    )
    const wrong = [
      [{ ...kept, id: noRole }],
      [{ ...kept, allowedMemberTypes: [] }],
      [{ ...kept, allowedMemberTypes: ['Everyone'] }],
      [kept, { ...dropped, value: 'Kept' }],
      [kept, { ...dropped, id: kept.id }],
      [{ ...kept, value: 'two words' }],
    ]
    for (const appRoles of wrong)
      assert.equal((await ask('PATCH', `/applications/${applicationId}`, { appRoles }, write)).status, 400)
  })

  const assignedRoles = async (principalId: string) => {
    const { body } = await ask('GET', `/users/${principalId}/appRoleAssignments`)
    return body.value.map(({ appRoleId }: { appRoleId: string }) => appRoleId)
  }
  const rolesOf = async (path: string) => {
    const { body } = await ask('GET', path, undefined, ['Application.Read.All'])
    return body.appRoles.map(({ value }: { value: string }) => value)
  }
  /** A user with all of the roles. */
  async function assignTo(resourceId: string, roles: readonly { id: string }[]): Promise<string> {
    const principalId = await directory.user()
    for (const { id: appRoleId } of roles) {
      const body = { principalId, resourceId, appRoleId }
      assert.equal((await ask('POST', `/users/${principalId}/appRoleAssignments`, body)).status, 201)
    }
    return principalId
  }
  const importLines = (...entries: readonly object[]) => {
    async function* chunks() {
      for (const entry of entries) yield Buffer.from(`${JSON.stringify(entry)}\n`)
    }
    const { database, tenantId } = service
    return database.transaction((tx) => importDirectory(tx, { tenantId, fileName: 'x', chunks: chunks() }))
  }

  clause(
    'DIR-417',
    'Where an import changes `appRoles` of an application, its service principals have the new roles, and assignments of roles that are gone end as by a PATCH, …',
    async () => {
      const [kept, dropped] = [role('Kept'), role('Dropped')]
      const { servicePrincipalId, applicationId, appId } = await addWithRoles([kept, dropped])
      const both = await assignTo(servicePrincipalId, [kept, dropped])
      const person = await assignTo(servicePrincipalId, [dropped])
      await requireAssignments(service, servicePrincipalId)
      const claims = service.tokens.claimsFor({
        principal: person,
        applicationId: appId,
        permissions: ['User.Read'],
      })
      const token = service.tokens.signToken({ ...claims, ...issuedNow() })
      const readSelf = async () => (await service.request('GET', '/v1.0/me', { token })).status
      assert.equal(await readSelf(), 200)
      const principal = `/servicePrincipals/${servicePrincipalId}`
      const since = await ask('GET', '/servicePrincipals/delta?$deltatoken=latest', undefined, [
        'Application.Read.All',
      ])
      const file = [
        { type: 'application', id: applicationId, appRoles: [kept] },
        // As an export has it that the operator edited in one place.
        { type: 'servicePrincipal', id: servicePrincipalId, appId, appRoles: [kept, dropped] },
      ]
      assert.deepEqual(pick(await importLines(...file)), { changed: 1, unchanged: 1 })
      assert.deepEqual(await assignedRoles(both), [kept.id])
      assert.deepEqual(await assignedRoles(person), [])
      assert.deepEqual(await rolesOf(principal), ['Kept'])
      assert.equal(await readSelf(), 401)
      const [, link] = since.body['@odata.deltaLink'].split('/v1.0')
      const changes = await ask('GET', link, undefined, ['Application.Read.All'])
      assert.deepEqual(
        changes.body.value.map(({ id }: { id: string }) => id),
        [servicePrincipalId],
      )
      assert.deepEqual(pick(await importLines(...file)), { changed: 0, unchanged: 2 })
      assert.deepEqual(await rolesOf(principal), ['Kept'])

      assert.deepEqual(pick(await importLines({ type: 'application', id: applicationId, appRoles: null })), {
        changed: 1,
        unchanged: 0,
      })
      assert.deepEqual(await assignedRoles(both), [])
      assert.deepEqual(await rolesOf(principal), [])
      const visitor = await directory.user()
      await addAssignment(service, visitor, servicePrincipalId)
      await importLines({ type: 'application', id: applicationId, notes: 'x' })
      assert.deepEqual(await assignedRoles(visitor), [noRole])
      await importLines({ type: 'application', id: applicationId, appRoles: [kept] })
      assert.deepEqual(await assignedRoles(visitor), [])
      assert.deepEqual(await rolesOf(principal), ['Kept'])
    },
  )

  test('DIR-417: lines of new objects, and of service principals without an application', async () => {
    const [kept, dropped] = [role('Kept'), role('Dropped')]
    const [id, appId] = [randomUUID(), randomUUID()]
    const alone = { type: 'servicePrincipal', id, appId, displayName: 'Alone' }
    await importLines({ ...alone, appRoles: [kept, dropped] })
    const person = await assignTo(id, [kept, dropped])
    await importLines({ ...alone, appRoles: [kept] })
    assert.deepEqual(await assignedRoles(person), [kept.id])
    await importLines({ type: 'application', appId, displayName: 'Alone', appRoles: [dropped] })
    assert.deepEqual(await assignedRoles(person), [])
    assert.deepEqual(await rolesOf(`/servicePrincipals/${id}`), ['Dropped'])

    const together = [
      { type: 'application', appId: randomUUID(), displayName: 'Both', appRoles: [kept] },
      { type: 'servicePrincipal', id: randomUUID(), displayName: 'Both' },
    ]
    const file = together.map((entry) => ({ ...entry, appId: together[0]?.appId }))
    await importLines(...file)
    assert.deepEqual(await rolesOf(`/servicePrincipals/${together[1]?.id}`), ['Kept'])
    assert.deepEqual(pick(await importLines(...file)), { changed: 0, unchanged: 2 })
  })

  clause(
    'DIR-418',
    'A role that an application drops while its service principal is deleted ends its assignments as well: …',
    async () => {
      const write = ['Application.ReadWrite.All']
      const drops = {
        PATCH: (id: string, appRoles: object[]) => ask('PATCH', `/applications/${id}`, { appRoles }, write),
        import: (id: string, appRoles: object[]) => importLines({ type: 'application', id, appRoles }),
      }
      for (const [way, drop] of Object.entries(drops)) {
        const [kept, dropped] = [role('Kept'), role('Dropped')]
        const { servicePrincipalId, applicationId } = await addWithRoles([kept, dropped])
        const person = await assignTo(servicePrincipalId, [kept, dropped])
        const path = `/servicePrincipals/${servicePrincipalId}`
        assert.equal((await ask('DELETE', path, undefined, write)).status, 204)
        await drop(applicationId, [kept])
        const restore = `/directory/deletedItems/${servicePrincipalId}/restore`
        assert.equal((await ask('POST', restore, undefined, write)).status, 200)
        assert.deepEqual(await assignedRoles(person), [kept.id], way)
        assert.deepEqual(await rolesOf(path), ['Kept'], way)
      }
    },
  )

  clause(
    'DIR-273',
    'The id token of a user has the claim `roles` with the values of the roles that the user holds of the client, through groups at any depth as well. …',
    async () => {
      const [reader, writer] = [role('Reader'), role('Writer')]
      const { servicePrincipalId: resourceId, appId } = await addWithRoles([reader, writer])
      const person = await addPerson(service)
      const claims = async () => {
        const { url, exchange } = await beginSignIn(service, appId, 'openid User.Read')
        const browser = new Browser('https://client.example')
        const page = await signIn(browser, await browser.open(url), person)
        return (await exchange(page)).claims()
      }
      assert.equal((await claims())?.roles, undefined)
      const [inner, outer] = [await directory.group(), await directory.group()]
      await directory.join(person.id, inner)
      await directory.join(inner, outer)
      for (const [set, principalId, appRoleId] of [
        ['users', person.id, reader.id],
        ['groups', outer, writer.id],
      ])
        await ask('POST', `/${set}/${principalId}/appRoleAssignments`, { principalId, resourceId, appRoleId })
      assert.deepEqual((await claims())?.roles, ['Reader', 'Writer'])
      const required = { appRoleAssignmentRequired: true }
      const change = await ask('PATCH', `/servicePrincipals/${resourceId}`, required, [
        'Application.ReadWrite.All',
        'DelegatedPermissionGrant.ReadWrite.All',
      ])
      assert.equal(change.status, 204, change.text)
      assert.deepEqual((await claims())?.roles, ['Reader', 'Writer'])
      const stranger = await addPerson(service)
      const { url } = await beginSignIn(service, appId, 'openid User.Read')
      const browser = new Browser('https://client.example')
      const refused = await signIn(browser, await browser.open(url), stranger)
      assert.equal(refused.url.searchParams.get('error'), 'access_denied')
      assert.equal(refused.url.searchParams.get('code'), null)
    },
  )

  clause(
    'TOK-187',
    'A token for a person costs the same however many assignments its client has: …',
    async () => {
      const { database, tenantId } = service
      const reader = role('Reader')
      const { servicePrincipalId: resourceId } = await addWithRoles([reader])
      await requireAssignments(service, resourceId)
      const [person, stranger] = [await directory.user(), await directory.user()]
      const [inner, outer] = [await directory.group(), await directory.group()]
      await directory.join(person, inner)
      await directory.join(inner, outer)
      await database.sql`
        with made as (
          insert into directory_object (tenant_id, id, kind, properties)
          select ${tenantId}, gen_random_uuid(), kind, jsonb_build_object('displayName', 'Other', 'userPrincipalName', 'other-' || n)
          from generate_series(1, 1000) as n, unnest(array['user', 'group']) as kind
          returning id
        )
        insert into app_role_assignment (tenant_id, principal_id, resource_id, app_role_id)
        select ${tenantId}, id, ${resourceId}, ${reader.id} from (select id from made union all select ${outer}) as given`
      const look = (user: string) =>
        database.transaction(async (tx) => {
          const held = await readHeldAppRoles(tx, tenantId, user, resourceId)
          const [read] = await tx<{ rows: number }[]>`
            select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname = 'app_role_assignment'`
          return { ...held, rows: read?.rows ?? 0 }
        })
      const { rows: few, ...held } = await look(person)
      assert.ok(few < 100, `${few} assignments were read`)
      assert.deepEqual(held, { isAdmitted: true, values: ['Reader'] })
      const { rows: none, ...lacking } = await look(stranger)
      assert.deepEqual(lacking, { isAdmitted: false, values: [] })
      assert.ok(none < 100, `${none} assignments were read`)

      const remove = (id: string) =>
        ask('DELETE', `/groups/${id}`, undefined, [
          'Group.ReadWrite.All',
          'RoleManagement.ReadWrite.Directory',
        ])
      const restore = (id: string) =>
        database.sql`update directory_object set deleted_at = null where tenant_id = ${tenantId} and id = ${id}`
      for (const group of [inner, outer]) {
        assert.equal((await remove(group)).status, 204)
        assert.equal((await look(person)).isAdmitted, false, 'a deleted group gives nothing')
        await restore(group)
      }
      assert.equal((await look(person)).isAdmitted, true)
      await database.sql`update directory_object set deleted_at = now() where tenant_id = ${tenantId} and id = ${person}`
      assert.equal((await look(person)).isAdmitted, false, 'nor is a deleted person admitted')
    },
  )
})

function pick({ changed, unchanged }: { changed: number; unchanged: number }) {
  return { changed, unchanged }
}

function without({ '@odata.context': _, ...rest }: Record<string, unknown>) {
  return rest
}
