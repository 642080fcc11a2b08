import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type DirectoryRole, directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { noRoleId } from '../../../src/directory/app-roles/app-roles.ts'
import { findAssigned } from '../../../src/directory/app-roles/find-assigned.ts'
import { consentPermissions } from '../../../src/directory/applications/granted-permissions.ts'
import { importDirectory } from '../../../src/directory/transfer/import-directory.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { addApplication, addAssignment, requireAssignments } from '../../support/issuer.ts'
import { useMasking } from '../../support/masking.ts'

const { service } = useMasking()
const directory = () => fillDirectory(service())

const all = Object.keys(knownPermissions)
const ask = (token: string, method: string, path: string, body?: unknown) =>
  service().request(method, `/v1.0${path}`, { token, ...(body !== undefined && { body }) })
const refer = (id: string) => ({ '@odata.id': `https://x/v1.0/directoryObjects/${id}` })
const personWith = async (roles: readonly DirectoryRole[], principal?: string, permissions = all) =>
  service().tokenFor({
    principal: principal ?? (await directory().user()),
    permissions,
    directoryRoles: roles.map((role) => directoryRoleTemplates[role]),
  })
const own = (ownerId: string, objectId: string) =>
  service().database.sql`
    insert into owner_edge (tenant_id, object_id, owner_id) values (${service().tenantId}, ${objectId}, ${ownerId})`

/** A client that admits assigned people alone. */
const addStrict = async (...consented: string[]) => {
  const one = await addApplication(service(), { consented })
  await requireAssignments(service(), one.servicePrincipalId)
  return one
}
const consentFor = (userId: string, servicePrincipalId: string, ...permissions: string[]) =>
  service().database.transaction((tx) =>
    consentPermissions(tx, { tenantId: service().tenantId, servicePrincipalId, userId, permissions }),
  )
const rightsOf = async (path: string) => {
  const reader = service().tokenFor({ permissions: ['Directory.Read.All'] })
  return (await ask(reader, 'GET', `${path}/carriedRights`)).body.value
}

clause(
  'DIR-391',
  'A group carries rights, for DIR-157 and DIR-355, also when it or a group around it is assigned to a client that requires assignments …',
  async () => {
    const { servicePrincipalId, applicationId } = await addStrict('openid', 'User.Read', 'Directory.Read.All')
    const [inner, outer, user] = [
      await directory().group(),
      await directory().group(),
      await directory().user(),
    ]
    await directory().join(user, inner)
    await directory().join(inner, outer)
    await addAssignment(service(), outer, servicePrincipalId)
    const [application] = await service().database.sql<{ name: string }[]>`
      select display_name as name from directory_object where id = ${applicationId}`
    const access = {
      type: 'applicationAccess',
      name: application?.name,
      scope: `/servicePrincipals/${servicePrincipalId}`,
    }
    assert.deepEqual(await rightsOf(`/groups/${outer}`), [{ ...access, through: null }])
    assert.deepEqual(await rightsOf(`/groups/${inner}`), [{ ...access, through: outer }])
    assert.deepEqual(await rightsOf(`/users/${user}`), [{ ...access, through: outer }])
    const [owner, direct] = [await directory().user(), await directory().user()]
    await own(owner, inner)
    const ownership = { type: 'groupOwnership', name: null, scope: null, through: inner }
    assert.deepEqual(await rightsOf(`/users/${owner}`), [ownership])
    await addAssignment(service(), direct, servicePrincipalId)
    assert.deepEqual(await rightsOf(`/users/${direct}`), [{ ...access, through: null }])

    const attacker = refer(await directory().user())
    const weak = [
      service().tokenFor({
        kind: 'application',
        permissions: ['GroupMember.ReadWrite.All', 'Group.ReadWrite.All', 'User.ReadWrite.All'],
      }),
      await personWith(['Groups Administrator']),
      await personWith(['Directory Writers']),
      await personWith(['User Administrator']),
    ]
    for (const token of weak)
      for (const group of [inner, outer]) {
        const { status, body } = await ask(token, 'POST', `/groups/${group}/members/$ref`, attacker)
        assert.equal(status, 403)
        assert.match(body.error.message, /Members of the group have access to an application/)
      }
    const added = await ask(await personWith([], owner), 'POST', `/groups/${inner}/members/$ref`, attacker)
    assert.equal(added.status, 204, added.text)
  },
)

test('DIR-391: other assignments, and clients that reach own data alone, give no rights', async () => {
  const strict = await addStrict('openid', 'profile', 'User.Read', 'Tasks.Read', 'Mail.ReadWrite')
  const open = await addApplication(service(), { consented: ['Directory.Read.All'] })
  const group = await directory().group()
  const principal = await directory().servicePrincipal()
  for (const { servicePrincipalId } of [strict, open])
    await addAssignment(service(), group, servicePrincipalId)
  assert.deepEqual(await rightsOf(`/groups/${group}`), [])
  const administrator = await personWith(['Groups Administrator'])
  const user = refer(await directory().user())
  assert.equal((await ask(administrator, 'POST', `/groups/${group}/members/$ref`, user)).status, 204)
  const reading = await addStrict('Directory.Read.All')
  await addAssignment(service(), group, reading.servicePrincipalId)
  await directory().join(principal, group)
  assert.deepEqual(
    await rightsOf(`/servicePrincipals/${principal}`),
    [],
    'people are admitted, not applications',
  )
})

test('DIR-391: names of other people are no own data', async () => {
  const { servicePrincipalId } = await addStrict('User.ReadBasic.All')
  const group = await directory().group()
  await addAssignment(service(), group, servicePrincipalId)
  assert.equal((await rightsOf(`/groups/${group}`)).length, 1)
})

clause(
  'DIR-395',
  'A group that carries nothing but access by DIR-391 is changed also by callers who could consent to what its clients give: …',
  async () => {
    const { database, tenantId } = service()
    const reading = await addStrict('User.Read', 'Directory.Read.All')
    const writing = await addStrict('Directory.ReadWrite.All')
    const addGroup = async (clients: readonly (typeof reading)[], properties = {}) => {
      const group = await directory().group(properties)
      for (const { servicePrincipalId } of clients) await addAssignment(service(), group, servicePrincipalId)
      return group
    }
    const inner = await directory().group()
    const reads = await addGroup([reading])
    await directory().join(inner, reads)
    const writes = await addGroup([writing])
    const both = await addGroup([reading, writing])
    const assignable = await addGroup([reading], { isAssignableToRole: true })
    const holding = await addGroup([reading])
    await directory().join(holding, await directory().role())
    const groups = { inner, reads, writes, both, assignable, holding }

    const sync = ['GroupMember.ReadWrite.All', 'Group.ReadWrite.All', 'User.ReadWrite.All']
    const application = (...more: string[]) =>
      service().tokenFor({ kind: 'application', permissions: [...sync, ...more] })
    const applicationAndGroups: readonly DirectoryRole[] = [
      'Application Administrator',
      'Groups Administrator',
    ]
    const callers: readonly [name: string, token: string, may: readonly (keyof typeof groups)[]][] = [
      ['sync', application(), []],
      ['sync that reads', application('Directory.Read.All'), ['inner', 'reads']],
      // With the sign-in of an administrator the delegated permission reaches further.
      ['sync that writes', application('Directory.ReadWrite.All'), ['inner', 'reads']],
      // It implies the reads.
      [
        'a writer alone',
        service().tokenFor({ kind: 'application', permissions: ['Directory.ReadWrite.All'] }),
        ['inner', 'reads'],
      ],
      [
        'sync that consents',
        application('DelegatedPermissionGrant.ReadWrite.All'),
        ['inner', 'reads', 'writes', 'both'],
      ],
      ['Groups Administrator', await personWith(['Groups Administrator']), []],
      ['both roles', await personWith(applicationAndGroups), ['inner', 'reads']],
      ['both roles, narrow token', await personWith(applicationAndGroups, undefined, sync), []],
    ]
    for (const [name, token, may] of callers)
      for (const [group, id] of Object.entries(groups)) {
        const user = await directory().user()
        const { status, text } = await ask(token, 'POST', `/groups/${id}/members/$ref`, refer(user))
        const expected = may.includes(group as keyof typeof groups) ? 204 : 403
        assert.equal(status, expected, `${name}: ${group}: ${text}`)
        if (expected === 403 && group !== 'assignable') assert.match(text, /Members of the group have/)
      }
    const [entry] = await database.sql<{ rights: { type: string }[] }[]>`
      select after -> 'carriedRights' as rights from audit_event
      where tenant_id = ${tenantId} and action = 'give carried rights' and target = ${`/groups/${both}`}`
    assert.deepEqual(
      entry?.rights.map(({ type }) => type),
      ['applicationAccess', 'applicationAccess'],
    )

    const path = `/groups/${reads}`
    assert.equal((await ask(application(), 'DELETE', path)).status, 403)
    assert.equal((await ask(application('Directory.Read.All'), 'DELETE', path)).status, 204)
    const restore = `/directory/deletedItems/${reads}/restore`
    assert.equal((await ask(application(), 'POST', restore)).status, 403)
    assert.equal((await ask(application('Directory.Read.All'), 'POST', restore)).status, 200)
  },
)

clause(
  'DIR-392',
  'A role of a client that requires assignments is given only by a caller who could consent to each permission that the client has for everyone: …',
  async () => {
    const owner = await directory().user()
    const add = async (strict: boolean, ...consented: string[]) => {
      const one = await addApplication(service(), { consented })
      if (strict) await requireAssignments(service(), one.servicePrincipalId)
      for (const id of [one.applicationId, one.servicePrincipalId]) await own(owner, id)
      return one.servicePrincipalId
    }
    const reading = await add(true, 'User.Read', 'Directory.Read.All')
    const writing = await add(true, 'Directory.ReadWrite.All')
    const mail = await add(true, 'Mail.Read', 'User.ReadWrite')
    const names = await add(true, 'User.ReadBasic.All')
    const signingIn = await add(true, 'openid', 'User.Read')
    const open = await add(false, 'Directory.ReadWrite.All')
    const granting = ['AppRoleAssignment.ReadWrite.All']
    const callers = {
      owner: await personWith([], owner, granting),
      users: await personWith(['User Administrator'], undefined, granting),
      applications: await personWith(['Application Administrator'], undefined, granting),
      global: await personWith(['Global Administrator'], undefined, granting),
      application: service().tokenFor({ kind: 'application', permissions: granting }),
    }
    const expected: Readonly<Record<keyof typeof callers, readonly string[]>> = {
      owner: [signingIn, open],
      users: [signingIn, open],
      applications: [signingIn, open, mail, names, reading],
      global: [signingIn, open, mail, names, reading, writing],
      application: [signingIn, open, mail, names, reading, writing],
    }
    for (const [name, token] of Object.entries(callers))
      for (const resourceId of [reading, writing, mail, names, signingIn, open])
        for (const set of ['users', 'groups'] as const) {
          const principalId = set === 'users' ? await directory().user() : await directory().group()
          const body = { principalId, resourceId, appRoleId: noRoleId }
          const path = `/${set}/${principalId}/appRoleAssignments`
          const answer = await ask(token, 'POST', path, body)
          const may = expected[name as keyof typeof callers].includes(resourceId)
          assert.equal(answer.status, may ? 201 : 403, `${name} ${set} ${resourceId}: ${answer.text}`)
          if (!may) assert.match(answer.body.error.message, /The application has the delegated permission/)
        }
    const principalId = await directory().user()
    const path = `/users/${principalId}/appRoleAssignments`
    const body = { principalId, resourceId: writing, appRoleId: noRoleId }
    const { id } = (await ask(callers.global, 'POST', path, body)).body
    assert.equal((await ask(callers.owner, 'DELETE', `${path}/${id}`)).status, 204, 'an owner takes roles')
  },
)

clause(
  'DIR-396',
  'For DIR-391 to DIR-393 and DIR-395, a consent for one person to a permission that people cannot consent to themselves (TOK-24) counts too: …',
  async () => {
    const { database, tenantId } = service()
    const client = await addStrict('openid', 'User.Read')
    const [person, other, owner] = [
      await directory().user(),
      await directory().user(),
      await directory().user(),
    ]
    for (const id of [client.applicationId, client.servicePrincipalId]) await own(owner, id)
    await consentFor(person, client.servicePrincipalId, 'User.Read', 'Directory.Read.All')
    // By themselves: neither makes an owner unable to assign people, nor takes a group from its administrators.
    const lenient = await addStrict('openid', 'User.Read')
    for (const id of [lenient.applicationId, lenient.servicePrincipalId]) await own(owner, id)
    await consentFor(person, lenient.servicePrincipalId, 'User.ReadBasic.All', 'Mail.Read')

    const granting = ['AppRoleAssignment.ReadWrite.All']
    const assign = async (token: string, set: string, principalId: string, one: typeof client) => {
      const body = { principalId, resourceId: one.servicePrincipalId, appRoleId: noRoleId }
      return await ask(token, 'POST', `/${set}/${principalId}/appRoleAssignments`, body)
    }
    const owning = await personWith([], owner, granting)
    const [group, unassigned] = [await directory().group(), await directory().group()]
    for (const [set, id] of [
      ['users', person],
      ['groups', group],
    ] as const) {
      const refused = await assign(owning, set, id, client)
      assert.equal(refused.status, 403, `${set}: ${refused.text}`)
      assert.match(refused.body.error.message, /the delegated permission Directory\.Read\.All/)
      assert.equal((await assign(owning, set, id, lenient)).status, 201, set)
    }
    assert.equal(
      (await assign(owning, 'users', other, client)).status,
      201,
      'their consent gives them nothing',
    )
    const application = service().tokenFor({ kind: 'application', permissions: granting })
    assert.equal((await assign(application, 'groups', unassigned, client)).status, 201)
    const administrator = await personWith(['Application Administrator'], undefined, granting)
    const assigned = await assign(administrator, 'groups', group, client)
    assert.equal(assigned.status, 201, assigned.text)

    const inner = await directory().group()
    await directory().join(inner, group)
    const rights = async (path: string) =>
      (await rightsOf(path)).map(({ scope, through }: Record<string, unknown>) => [scope, through])
    const scope = `/servicePrincipals/${client.servicePrincipalId}`
    assert.deepEqual(await rights(`/groups/${group}`), [[scope, null]])
    assert.deepEqual(await rights(`/groups/${inner}`), [[scope, group]])
    assert.deepEqual(await rights(`/users/${person}`), [], 'the assignment is missing')

    const sync = ['GroupMember.ReadWrite.All', 'Group.ReadWrite.All', 'User.ReadWrite.All']
    const weak = [
      await personWith(['Groups Administrator']),
      service().tokenFor({ kind: 'application', permissions: sync }),
    ]
    const add = (token: string, id: string) => ask(token, 'POST', `/groups/${id}/members/$ref`, refer(person))
    for (const token of weak)
      for (const id of [group, inner]) {
        const { status, text } = await add(token, id)
        assert.equal(status, 403, text)
        assert.match(text, /Members of the group have access to an application/)
      }
    const reading = service().tokenFor({ kind: 'application', permissions: [...sync, 'Directory.Read.All'] })
    assert.equal((await add(reading, inner)).status, 204)
    assert.deepEqual(await rights(`/users/${person}`), [[scope, group]])
    await directory().join(other, inner)
    assert.deepEqual(await rights(`/users/${other}`), [], 'assigned, and without a consent')
    const groupOwner = await directory().user()
    await own(groupOwner, inner)
    assert.deepEqual(await rights(`/users/${groupOwner}`), [[null, inner]])

    const line = `${JSON.stringify({ type: 'member', group: inner, member: groupOwner })}\n`
    async function* chunks() {
      yield Buffer.from(line)
    }
    await database.transaction((tx) => importDirectory(tx, { tenantId, fileName: 'x', chunks: chunks() }))
    const [entry] = await database.sql<{ given: { bearer: string }[] }[]>`
      select after -> 'givenRights' as given from audit_event where action = 'import directory' order by id desc limit 1`
    assert.deepEqual(
      entry?.given.map(({ bearer }) => bearer),
      [group],
    )
  },
)

clause(
  'DIR-405',
  'DIR-392 is about users and groups: a role for applications admits no person, and an owner gives it to service principals, …',
  async () => {
    const { database } = service()
    const owner = await directory().user()
    const { servicePrincipalId, applicationId } = await addStrict('Directory.ReadWrite.All', 'Mail.ReadWrite')
    await own(owner, servicePrincipalId)
    const role = {
      id: randomUUID(),
      displayName: 'Run',
      value: 'Run',
      description: 'Runs jobs',
      allowedMemberTypes: ['Application', 'User'],
      isEnabled: true,
    }
    await database.sql`
      update directory_object set properties = properties || ${database.sql.json({ appRoles: [role] })}::jsonb
      where id = any(${[servicePrincipalId, applicationId]}::uuid[])`
    const token = await personWith([], owner, ['AppRoleAssignment.ReadWrite.All', 'Application.Read.All'])
    const give = async (principalId: string) => {
      const body = { principalId, resourceId: servicePrincipalId, appRoleId: role.id }
      return await ask(token, 'POST', `/servicePrincipals/${servicePrincipalId}/appRoleAssignedTo`, body)
    }
    const group = await directory().group()
    const [member, daemon] = [await directory().user(), await directory().servicePrincipal()]
    await directory().join(member, group)
    await directory().join(daemon, group)
    const given = await give(daemon)
    assert.equal(given.status, 201, given.text)
    for (const id of [member, group]) assert.equal((await give(id)).status, 403)
    const visits = [member, daemon].map((userId) => ({ userId, clientId: servicePrincipalId }))
    const [isMember] = await findAssigned(database.sql, service().tenantId, visits)
    assert.equal(isMember, false, 'the role of an application admits no person')
  },
)

test('DIR-154: the owner of a client does not end its requirement of assignments', async () => {
  const owner = await directory().user()
  const { servicePrincipalId } = await addStrict('Directory.Read.All')
  await own(owner, servicePrincipalId)
  const path = `/servicePrincipals/${servicePrincipalId}`
  const off = { appRoleAssignmentRequired: false }
  assert.equal((await ask(await personWith([], owner), 'PATCH', path, off)).status, 403)
  assert.equal((await ask(await personWith(['Global Administrator']), 'PATCH', path, off)).status, 204)
})

clause(
  'DIR-393',
  'The audit entry of an import names access by DIR-391 that it gave, and DIR-351 goes for it.',
  async () => {
    const { database, tenantId } = service()
    const { servicePrincipalId } = await addStrict('Directory.Read.All')
    const [inner, outer, user] = [
      await directory().group(),
      await directory().group(),
      await directory().user(),
    ]
    await directory().join(inner, outer)
    await addAssignment(service(), outer, servicePrincipalId)
    const load = (format: 'csv' | 'json', text: string) => {
      async function* chunks() {
        yield Buffer.from(text)
      }
      return database.transaction((tx) =>
        importDirectory(tx, { tenantId, fileName: 'x', format, chunks: chunks() }),
      )
    }
    await load('json', `${JSON.stringify({ type: 'member', group: inner, member: user })}\n`)
    const [entry] = await database.sql<{ given: Record<string, unknown>[] }[]>`
      select after -> 'givenRights' as given from audit_event where action = 'import directory' order by id desc limit 1`
    assert.equal(entry?.given.length, 1)
    const [given] = entry?.given ?? []
    assert.deepEqual([given?.bearer, given?.as, given?.ids], [outer, 'member', [user]])
    assert.match(String(given?.rights), /^applicationAccess .* \/servicePrincipals\//)
    const name = `Namesake ${user}`
    await directory().group({ displayName: name })
    await assert.rejects(load('csv', `group,member\n${outer},${name}\n`))
  },
)
