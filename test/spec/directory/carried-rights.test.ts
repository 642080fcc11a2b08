import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type DirectoryRole, directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { loginRoleName } from '../../../src/directory/principals/login-role.ts'
import { importDirectory } from '../../../src/directory/transfer/import-directory.ts'
import { ImportFailed } from '../../../src/directory/transfer/import-result.ts'
import { listGivenRights } from '../../../src/masking/given-rights.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { addApplication, addAssignment, requireAssignments } from '../../support/issuer.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { apiVersion, freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'

const { service, send, putPolicy, bindReached, reachedDatabase } = useMasking()
const directory = () => fillDirectory(service())

const all = Object.keys(knownPermissions)
const withoutRoles = all.filter((name) => name !== 'RoleManagement.ReadWrite.Directory')
/** Of an application that could not consent to what the client of `admit` reads: DIR-395 admits others. */
const groupWriting = ['Group.ReadWrite.All', 'GroupMember.ReadWrite.All', 'User.ReadWrite.All']
const ask = (token: string, method: string, path: string, body?: unknown) =>
  service().request(method, `/v1.0${path}`, { token, ...(body !== undefined && { body }) })
const refer = (id: string) => ({ '@odata.id': `https://x/v1.0/directoryObjects/${id}` })
const own = (ownerId: string, objectId: string) =>
  service().database.sql`
    insert into owner_edge (tenant_id, object_id, owner_id) values (${service().tenantId}, ${objectId}, ${ownerId})`
const tokenOf = async (...roles: DirectoryRole[]) =>
  service().tokenFor({
    principal: await directory().user(),
    permissions: all,
    directoryRoles: roles.map((role) => directoryRoleTemplates[role]),
  })

const assign = async (principalId: string, roleName = 'Reader', scope = '/subscriptions/sub-1') => {
  if (scope === '/subscriptions/sub-1') await reachedDatabase()
  const url = `${scope === '/' ? '' : scope}/providers/Vendor.Authorization/roleAssignments/${randomUUID()}`
  assert.equal((await send('PUT', url, { properties: { principalId, roleName } })).status, 201)
}
const map = async (principalId: string) => {
  const db = freshDatabase()
  const url = `${db}/roleMappings/${randomUUID().slice(0, 8)}`
  assert.equal((await send('PUT', url, { properties: { principalId, databaseRole: 'payroll' } })).status, 201)
  await bindReached(db)
}
const exempt = async (entry: string) => {
  const db = freshDatabase()
  const put = await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: `x;${entry}` })
  assert.equal(put.status, 200)
  await bindReached(db)
}

/** Assigns the group to a client that requires assignments and may read the directory. */
const admit = async (principalId: string) => {
  const { servicePrincipalId } = await addApplication(service(), { consented: ['Directory.Read.All'] })
  await requireAssignments(service(), servicePrincipalId)
  await addAssignment(service(), principalId, servicePrincipalId)
}

/** Every way in which a group comes to carry rights, and the type that it shows. */
const ways: Readonly<Record<string, { type: string; make(): Promise<string> }>> = {
  'an exempt list names it': {
    type: 'exemption',
    make: async () => {
      const group = await directory().group()
      await exempt(group.toUpperCase())
      return group
    },
  },
  'a mapping names it': {
    type: 'databaseRole',
    make: async () => {
      const group = await directory().group()
      await map(group)
      return group
    },
  },
  'a role assignment names it': {
    type: 'maskingRole',
    make: async () => {
      const group = await directory().group()
      await assign(group)
      return group
    },
  },
  'a directory role names it': {
    type: 'directoryRole',
    make: async () => {
      const group = await directory().group({ isAssignableToRole: true })
      await directory().join(group, await directory().role())
      return group
    },
  },
  'it is within a deleted group that is exempt once it is restored': {
    type: 'exemption',
    make: async () => {
      const [inner, middle, outer] = [
        await directory().group(),
        await directory().group(),
        await directory().group(),
      ]
      await directory().join(inner, middle)
      await directory().join(middle, outer)
      await directory().softDelete(middle)
      await exempt(outer)
      return inner
    },
  },
  'it is assigned to a client that requires assignments': {
    type: 'applicationAccess',
    make: async () => {
      const group = await directory().group()
      await admit(group)
      return group
    },
  },
  'it is within a deleted group that is assigned to such a client': {
    type: 'applicationAccess',
    make: async () => {
      const [inner, outer] = [await directory().group(), await directory().group()]
      await directory().join(inner, outer)
      await directory().softDelete(outer)
      await admit(outer)
      return inner
    },
  },
  'it is within a group that is exempt, at two levels': {
    type: 'exemption',
    make: async () => {
      const [inner, middle, outer] = [
        await directory().group(),
        await directory().group(),
        await directory().group(),
      ]
      await directory().join(inner, middle)
      await directory().join(middle, outer)
      await exempt(outer)
      return inner
    },
  },
}

clause(
  'DIR-157',
  'A group carries rights when a masking policy exempts it, a role mapping, a masking role assignment or a directory role names it, …',
  async () => {
    for (const [way, { type, make }] of Object.entries(ways)) {
      const group = await make()
      const member = await directory().user()
      await directory().join(member, group)
      const attacker = await directory().user()
      const attempts: [string, string, unknown?][] = [
        ['POST', `/groups/${group}/members/$ref`, refer(attacker)],
        ['PATCH', `/groups/${group}`, { 'members@odata.bind': [refer(attacker)['@odata.id']] }],
        ['DELETE', `/groups/${group}/members/${member}/$ref`],
        ['POST', `/groups/${group}/owners/$ref`, refer(attacker)],
        ['PATCH', `/groups/${group}`, { membershipRule: 'user.city -eq "Ghent"' }],
        ['PATCH', `/groups/${group}`, { groupTypes: ['DynamicMembership'] }],
        ['DELETE', `/groups/${group}`],
        ['DELETE', `/directoryObjects/${group}`],
        ...(type === 'directoryRole'
          ? []
          : ([
              ['PATCH', `/groups/${group}`, { securityEnabled: false }],
              ['POST', `/groups/${group}/members/$ref`, refer(await directory().group())],
            ] as [string, string, unknown][])),
      ]
      const weak = [
        service().tokenFor({
          kind: 'application',
          permissions: type === 'applicationAccess' ? groupWriting : withoutRoles,
        }),
        await tokenOf(
          'Groups Administrator',
          'User Administrator',
          'Directory Writers',
          'Helpdesk Administrator',
        ),
        await tokenOf(),
      ]
      for (const token of weak)
        for (const [method, path, body] of attempts) {
          const answer = await ask(token, method, path, body)
          assert.equal(answer.status, 403, `${way}: ${method} ${path}: ${answer.text}`)
          assert.match(answer.body.error.message, /^Insufficient privileges to complete the operation\./)
        }
      const [, groupsAdministrator = ''] = weak
      const said = await ask(groupsAdministrator, 'POST', `/groups/${group}/members/$ref`, refer(attacker))
      assert.match(
        said.body.error.message,
        /Members of the group have .*must own the group or be Privileged Role/,
      )
      assert.deepEqual(await directory().directMembers(group), [member], way)
      assert.equal(
        (await ask(groupsAdministrator, 'PATCH', `/groups/${group}`, { description: 'x' })).status,
        204,
      )

      const owner = await directory().user()
      await own(owner, group)
      const strong = [
        service().tokenFor({ kind: 'application', permissions: all }),
        await tokenOf('Privileged Role Administrator'),
        await tokenOf('Global Administrator'),
        service().tokenFor({ principal: owner, permissions: all }),
      ]
      for (const token of strong) {
        const joining = await directory().user()
        const added = await ask(token, 'POST', `/groups/${group}/members/$ref`, refer(joining))
        assert.equal(added.status, 204, `${way}: ${added.text}`)
        const [audit] = await service().database.sql<
          { after: { members: string[]; carriedRights: { type: string }[] } }[]
        >`
          select after from audit_event where action = 'give carried rights' order by id desc limit 1`
        assert.deepEqual(audit?.after.members, [joining])
        assert.ok(
          audit?.after.carriedRights.some((right) => right.type === type),
          way,
        )
        assert.equal((await ask(token, 'DELETE', `/groups/${group}/members/${joining}/$ref`)).status, 204)
        const [taken] = await service().database.sql<{ before: { members: string[] } }[]>`
          select before from audit_event where action = 'take carried rights' order by id desc limit 1`
        assert.deepEqual(taken?.before.members, [joining])
      }
      assert.equal((await ask(strong[2] ?? '', 'DELETE', `/groups/${group}`)).status, 204)
      for (const token of weak) {
        assert.equal((await ask(token, 'POST', `/directory/deletedItems/${group}/restore`)).status, 403, way)
        assert.equal((await ask(token, 'DELETE', `/directory/deletedItems/${group}`)).status, 403, way)
      }
      const restored = await ask(strong[3] ?? '', 'POST', `/directory/deletedItems/${group}/restore`)
      assert.equal(restored.status, 403, way)
      assert.match(restored.body.error.message, /must be Privileged Role Administrator or Global/)
      assert.equal(
        (await ask(strong[2] ?? '', 'POST', `/directory/deletedItems/${group}/restore`)).status,
        200,
      )
    }
  },
)

test('DIR-157: a group that slept inside another when that got rights is not woken by its owner', async () => {
  const attacker = await directory().user()
  const [inner, outer] = [await directory().group(), await directory().group()]
  for (const group of [inner, outer]) await own(attacker, group)
  await directory().join(attacker, inner)
  await directory().join(inner, outer)
  const token = service().tokenFor({ principal: attacker, permissions: all })
  assert.equal((await ask(token, 'DELETE', `/groups/${inner}`)).status, 204)
  await exempt(outer)
  assert.equal((await ask(token, 'POST', `/directory/deletedItems/${inner}/restore`)).status, 403)
})

test('DIR-157: groups that carry nothing are changed as before', async () => {
  const [group, inner, user] = [
    await directory().group(),
    await directory().group(),
    await directory().user(),
  ]
  const around = await directory().group()
  // Rights of a group within do not reach the group around it.
  await exempt(inner)
  await directory().join(inner, around)
  for (const token of [
    service().tokenFor({ kind: 'application', permissions: withoutRoles }),
    await tokenOf('Groups Administrator'),
  ])
    for (const id of [group, around]) {
      assert.equal((await ask(token, 'POST', `/groups/${id}/members/$ref`, refer(user))).status, 204)
      assert.equal((await ask(token, 'DELETE', `/groups/${id}/members/${user}/$ref`)).status, 204)
    }
})

clause(
  'DIR-158',
  '`GET /groups/{id}/carriedRights`, and the same of a user and a service principal, lists the rights that the object has: …',
  async () => {
    const [inner, outer, user] = [
      await directory().group(),
      await directory().group(),
      await directory().user(),
    ]
    await directory().join(inner, outer)
    await directory().join(user, inner)
    const name = `named-${randomUUID()}`
    const named = await directory().user(name)
    const db = freshDatabase()
    await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: `${outer};${name}@EXAMPLE.com` })
    await bindReached(db)
    await assign(inner, 'SQL Security Manager', '/subscriptions/sub-1')
    const reader = service().tokenFor({ permissions: ['RoleManagement.Read.Directory'] })
    const read = async (path: string) => {
      const answer = await ask(reader, 'GET', `${path}/carriedRights`)
      assert.equal(answer.status, 200, answer.text)
      assert.ok(answer.body['@odata.context'].endsWith('$metadata#Collection(vendor.graph.carriedRight)'))
      return answer.body.value
    }
    const role = { type: 'maskingRole', name: 'SQL Security Manager', scope: '/subscriptions/sub-1' }
    const exemption = { type: 'exemption', name: null, scope: db }
    assert.deepEqual(await read(`/groups/${outer}`), [{ ...exemption, through: null }])
    const owner = await directory().user()
    await own(owner, inner)
    await own(owner, await directory().group())
    const ownership = { type: 'groupOwnership', name: null, scope: null, through: inner }
    assert.deepEqual(await read(`/users/${owner}`), [ownership])
    assert.deepEqual(await read(`/groups/${inner}`), [
      { ...role, through: null },
      { ...exemption, through: outer },
    ])
    assert.deepEqual(await read(`/users/${user}`), [
      { ...role, through: inner },
      { ...exemption, through: outer },
    ])
    assert.deepEqual(await read(`/users/${name}@example.com`), [{ ...exemption, through: null }])
    assert.deepEqual(await read(`/users/${named}`), [{ ...exemption, through: null }])
    assert.deepEqual(await read(`/servicePrincipals/${await directory().servicePrincipal()}`), [])
    assert.equal((await ask(reader, 'GET', `/groups/${randomUUID()}/carriedRights`)).status, 404)
    const few = service().tokenFor({ permissions: ['Group.ReadWrite.All', 'GroupMember.ReadWrite.All'] })
    assert.equal((await ask(few, 'GET', `/groups/${outer}/carriedRights`)).status, 403)
    const shown = await ask(
      service().tokenFor({ permissions: ['Group.Read.All'] }),
      'GET',
      `/groups/${outer}`,
    )
    assert.equal(Object.hasOwn(shown.body, 'carriedRights'), false, 'never in the shape of the resource')
  },
)

clause(
  'DIR-159',
  'A caller who could not grant the rights that a user has from masking, or by owning a group that carries rights, neither sets the password, …',
  async () => {
    const group = await directory().group()
    await exempt(group)
    const passwordProfile = { password: 'a long-winded Phrase 42' }
    const taken = `auditor-${randomUUID()}@example.com`
    await exempt(taken)
    const owner = await directory().user()
    await own(owner, group)
    const holders = [
      owner,
      await directory().user(),
      await directory().user(),
      await directory().user(),
      await directory().user(),
    ]
    const [, member = '', mapped = '', assigned = '', byName = ''] = holders
    await directory().join(member, group)
    await map(mapped)
    await assign(assigned)
    await exempt(byName)
    const weak = [
      service().tokenFor({ kind: 'application', permissions: withoutRoles }),
      await tokenOf('User Administrator', 'Helpdesk Administrator', 'Authentication Administrator'),
    ]
    const strong = [
      service().tokenFor({ kind: 'application', permissions: all }),
      await tokenOf('Global Administrator'),
      await tokenOf('Privileged Authentication Administrator'),
    ]
    const newUser = (userPrincipalName: string) => ({
      accountEnabled: true,
      displayName: 'New',
      mailNickname: 'new',
      userPrincipalName,
      passwordProfile,
    })
    // PostgreSQL folds İ to i, JavaScript does not: such a name is none.
    for (const token of [...weak.slice(0, 1), ...strong.slice(0, 2)]) {
      const folded = await ask(token, 'POST', '/users', newUser(taken.replace('i', 'İ')))
      assert.equal(folded.status, 400, folded.text)
    }
    for (const id of holders) {
      for (const token of weak) {
        for (const body of [
          { passwordProfile },
          { userPrincipalName: `other-${id}@example.com` },
          { onPremisesImmutableId: 'x' },
          { otherMails: ['x@example.com'] },
          { identities: [{ signInType: 'federated', issuer: 'x', issuerAssignedId: 'x' }] },
          { accountEnabled: true },
        ])
          assert.equal((await ask(token, 'PATCH', `/users/${id}`, body)).status, 403, JSON.stringify(body))
        assert.equal((await ask(token, 'PATCH', `/users/${id}`, { mobilePhone: '1' })).status, 204)
        assert.equal((await ask(token, 'PATCH', `/users/${id}`, { accountEnabled: false })).status, 204)
        assert.equal((await ask(token, 'DELETE', `/users/${id}`)).status, 204)
        const restored = await ask(token, 'POST', `/directory/deletedItems/${id}/restore`)
        assert.equal(restored.status, 403, restored.text)
        const put = await ask(strong[0] ?? '', 'POST', `/directory/deletedItems/${id}/restore`)
        assert.equal(put.status, 200)
      }
      for (const token of strong) {
        const answer = await ask(token, 'PATCH', `/users/${id}`, { passwordProfile, accountEnabled: true })
        assert.equal(answer.status, 204, answer.text)
      }
    }
    // Renaming an account, or making one, into a name that is exempt.
    const plain = await directory().user()
    for (const token of [...weak, strong[2] ?? '']) {
      const renamed = await ask(token, 'PATCH', `/users/${plain}`, { userPrincipalName: taken.toUpperCase() })
      assert.equal(renamed.status, 403, renamed.text)
      const made = await ask(token, 'POST', '/users', newUser(taken))
      assert.equal(made.status, 403, made.text)
    }
    const oneself = await directory().user()
    const self = service().tokenFor({
      principal: oneself,
      permissions: all,
      directoryRoles: [directoryRoleTemplates['User Administrator']],
    })
    assert.equal((await ask(self, 'PATCH', `/users/${oneself}`, { userPrincipalName: taken })).status, 403)
    assert.equal((await ask(self, 'PATCH', '/me', { userPrincipalName: taken })).status, 403)
    assert.equal(
      (await ask(strong[1] ?? '', 'PATCH', `/users/${plain}`, { userPrincipalName: taken })).status,
      204,
    )
  },
)

clause(
  'DIR-394',
  'The audit has `give carried rights`, with the object and the rights, also where an account gets a userPrincipalName, or a new service principal has an appId, that an exempt list names, …',
  async () => {
    const token = await tokenOf('Global Administrator')
    const send = async (method: string, path: string, status: number, body?: unknown) => {
      const answer = await ask(token, method, path, body)
      assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
      return answer.body
    }
    /** The verbs of the entries about the object since the last question, each with types of rights. */
    let last = 0
    const given = async (target: string) => {
      const rows = await service().database.sql<
        { id: number; after: { verb: string; carriedRights: { type: string }[] } }[]
      >`
        select id, after from audit_event
        where action = 'give carried rights' and target = ${target} and id > ${last} order by id`
      last = rows.at(-1)?.id ?? last
      assert.doesNotMatch(JSON.stringify(rows), /Phrase/)
      return rows.map(({ after }) => [after.verb, ...after.carriedRights.map(({ type }) => type)])
    }
    const name = `ghost-${randomUUID()}@example.com`
    const account = {
      displayName: 'X',
      mailNickname: 'x',
      accountEnabled: true,
      passwordProfile: { password: 'a long-winded Phrase 42' },
    }
    await exempt(name)
    const { id } = await send('POST', '/users', 201, { ...account, userPrincipalName: name.toUpperCase() })
    const path = `/users/${id}`
    assert.deepEqual(await given(path), [['create', 'exemption']])
    await send('PATCH', path, 204, { passwordProfile: { password: 'another long-winded Phrase 42' } })
    await send('PATCH', path, 204, { accountEnabled: false })
    assert.deepEqual(await given(path), [])
    await send('PATCH', path, 204, { accountEnabled: true })
    assert.deepEqual(await given(path), [['update', 'exemption']])
    await send('PATCH', path, 204, { accountEnabled: true })
    assert.deepEqual(await given(path), [], 'it was enabled before')
    // Clients that write back what they read send the name along.
    for (const userPrincipalName of [name.toUpperCase(), name]) {
      await send('PATCH', path, 204, { accountEnabled: false })
      await send('PATCH', path, 204, { accountEnabled: true, userPrincipalName })
      assert.deepEqual(await given(path), [['update', 'exemption']], 'enabled with the name that it has')
    }
    await send('PATCH', path, 204, { accountEnabled: false })
    await send('PATCH', path, 204, { accountEnabled: true, userPrincipalName: `first-${name}` })
    assert.deepEqual(await given(path), [], 'enabled with another name')
    await send('PATCH', path, 204, { userPrincipalName: name })
    assert.deepEqual(await given(path), [['update', 'exemption']])
    await send('DELETE', path, 204)
    await send('POST', `/directory/deletedItems/${id}/restore`, 200)
    assert.deepEqual(await given(path), [['restore', 'exemption']])
    await send('PATCH', path, 204, { userPrincipalName: `former-${name}` })
    assert.deepEqual(await given(path), [], 'it lost the name')
    const other = await directory().user()
    await send('PATCH', `/users/${other}`, 204, { userPrincipalName: name })
    assert.deepEqual(await given(`/users/${other}`), [['update', 'exemption']])
    const plain = await send('POST', '/users', 201, { ...account, userPrincipalName: `plain-${name}` })
    assert.deepEqual(await given(`/users/${plain.id}`), [])

    const { appId } = await send('POST', '/applications', 201, { displayName: 'Reports' })
    await exempt(appId)
    const made = await send('POST', '/servicePrincipals', 201, { appId })
    const principal = `/servicePrincipals/${made.id}`
    assert.deepEqual(await given(principal), [['create', 'exemption']])
    await send('PATCH', principal, 204, { accountEnabled: false })
    await send('PATCH', principal, 204, { notes: 'x' })
    assert.deepEqual(await given(principal), [])
    await send('PATCH', principal, 204, { accountEnabled: true })
    assert.deepEqual(await given(principal), [['update', 'exemption']])
    await send('DELETE', principal, 204)
    await send('POST', `/directory/deletedItems/${made.id}/restore`, 200)
    assert.deepEqual(await given(principal), [['restore', 'exemption']])
    await send('DELETE', principal, 204)
    const anew = await send('POST', '/servicePrincipals', 201, { appId })
    assert.deepEqual(await given(`/servicePrincipals/${anew.id}`), [['create', 'exemption']])
  },
)

clause(
  'DIR-406',
  'The audit entry of an import names the rights of accounts and service principals that it enables as well: …',
  async () => {
    const { database, tenantId } = service()
    const [listed, member, owner, principal, plain, enabled] = [
      await directory().user(),
      await directory().user(),
      await directory().user(),
      await directory().servicePrincipal(),
      await directory().user(),
      await directory().user(),
    ]
    const [inner, outer] = [await directory().group(), await directory().group()]
    await directory().join(inner, outer)
    for (const id of [member, enabled]) await directory().join(id, inner)
    await own(owner, inner)
    await exempt(`${outer};${principal}`)
    const [account] = await database.sql<{ name: string }[]>`
      select lower(properties ->> 'userPrincipalName') as name from directory_object where id = ${listed}`
    const name = account?.name ?? ''
    await exempt(name)
    await database.sql`
      update directory_object set properties = properties || '{"accountEnabled": false}'
      where id = any(${[listed, member, owner, principal, plain]}::uuid[])`
    const lines = [
      ...[listed, member, owner, plain].map((id) => ({ type: 'user', id, accountEnabled: true })),
      { type: 'user', id: enabled, jobTitle: 'Clerk' },
      { type: 'servicePrincipal', id: principal, accountEnabled: true },
    ]
    async function* chunks() {
      yield Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    }
    const { changed } = await database.transaction((tx) =>
      importDirectory(tx, { tenantId, fileName: 'x', chunks: chunks(), listGivenRights }),
    )
    assert.equal(changed, lines.length)
    const [entry] = await database.sql<{ given: { bearer: string; as: string; ids: string[] }[] | null }[]>`
      select after -> 'givenRights' as given from audit_event where action = 'import directory' order by id desc limit 1`
    const given = (entry?.given ?? []).map(({ bearer, as, ids }) => [bearer, as, ...ids].join(' '))
    assert.deepEqual(
      given.toSorted(),
      [
        `${name} object ${listed}`,
        `${outer} member ${member}`,
        `${outer} owner ${owner}`,
        `${principal} object ${principal}`,
      ].toSorted(),
    )
  },
)

clause(
  'DIR-398',
  'An entry of DIR-394 has the rights that the account or application has by then: …',
  async () => {
    const token = await tokenOf('Global Administrator')
    const change = async (method: string, path: string, status: number, body?: unknown) => {
      const answer = await ask(token, method, path, body)
      assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
      return answer.body
    }
    const given = async (target: string) => {
      const rows = await service().database.sql<
        { after: { carriedRights: { type: string; through: string | null }[] } }[]
      >`select after from audit_event where action = 'give carried rights' and target = ${target} order by id`
      return rows.map(({ after }) => after.carriedRights.map(({ type, through }) => [type, through]))
    }
    const revive = (id: string) => change('POST', `/directory/deletedItems/${id}/restore`, 200)
    const [living, gone] = [await directory().group(), await directory().group()]
    await assign(living)
    await map(gone)
    await directory().softDelete(gone)

    const [person, former] = [await directory().user(), await directory().user()]
    await directory().join(person, living, gone)
    await directory().join(former, gone)
    for (const id of [person, former]) {
      await own(id, gone)
      await change('DELETE', `/users/${id}`, 204)
    }
    const weak = await ask(
      await tokenOf('User Administrator'),
      'POST',
      `/directory/deletedItems/${former}/restore`,
    )
    assert.equal(weak.status, 403, 'the deleted group may be restored')
    for (const id of [person, former]) await revive(id)
    assert.deepEqual(await given(`/users/${person}`), [[['maskingRole', living]]])
    assert.deepEqual(await given(`/users/${former}`), [])
    await change('PATCH', `/users/${person}`, 204, { accountEnabled: false })
    await change('PATCH', `/users/${person}`, 204, { accountEnabled: true })
    assert.deepEqual((await given(`/users/${person}`)).at(-1), [['maskingRole', living]])
    const { value } = await change('GET', `/users/${former}/carriedRights`, 200)
    assert.deepEqual(value, [], 'a deleted group has no owner who could add members')

    const { applicationId, appId, servicePrincipalId } = await addApplication(service())
    await map(servicePrincipalId)
    await change('DELETE', `/servicePrincipals/${servicePrincipalId}`, 204)
    const { id: later } = await change('POST', '/servicePrincipals', 201, { appId })
    await directory().join(later, living, gone)
    await change('DELETE', `/applications/${applicationId}`, 204)
    await revive(applicationId)
    assert.deepEqual(await given(`/applications/${applicationId}`), [[['maskingRole', living]]])
    await change('DELETE', `/servicePrincipals/${later}`, 204)
    await change('DELETE', `/applications/${applicationId}`, 204)
    await revive(applicationId)
    assert.equal((await given(`/applications/${applicationId}`)).length, 1, 'no service principal came back')
    await revive(servicePrincipalId)
    assert.deepEqual(await given(`/servicePrincipals/${servicePrincipalId}`), [[['databaseRole', null]]])
  },
)

clause(
  'DIR-163',
  'Power over the account of a person who holds a directory role (DIR-153) includes `mail`, where…',
  async () => {
    const [administrator, plain] = [await directory().user(), await directory().user()]
    const role = await directory().add('directoryRole', {
      displayName: 'Helpdesk Administrator',
      roleTemplateId: randomUUID(),
    })
    await directory().join(administrator, role)
    const weak = [
      service().tokenFor({ kind: 'application', permissions: withoutRoles }),
      await tokenOf('User Administrator'),
      await tokenOf('Directory Writers'),
    ]
    for (const token of weak) {
      const mail = { mail: 'caught@example.com' }
      assert.equal((await ask(token, 'PATCH', `/users/${administrator}`, mail)).status, 403)
      assert.equal((await ask(token, 'PATCH', `/users/${plain}`, mail)).status, 204)
      assert.equal(
        (await ask(token, 'PATCH', `/users/${administrator}`, { displayName: 'Renamed' })).status,
        204,
      )
    }
    const strong = await tokenOf('Global Administrator')
    assert.equal(
      (await ask(strong, 'PATCH', `/users/${administrator}`, { mail: 'new@example.com' })).status,
      204,
    )
  },
)

clause(
  'DIR-290',
  'Exempt lists and role mappings of a database give rights from when its binding first logged in to it; those of a …',
  async () => {
    const [user, group] = [await directory().user(), await directory().group()]
    const { applicationId, appId, servicePrincipalId } = await addApplication(service())
    const taken = `newhire-${randomUUID()}`
    const sandbox = '/subscriptions/atk/resourceGroups/atk/providers/Vendor.Sql/servers/x/databases/sandbox'
    const contributor = service().tokenFor({
      role: 'Contributor',
      scope: '/subscriptions/atk/resourceGroups/atk',
    })
    const put = (url: string, properties: object) =>
      service().request('PUT', `${url}?${apiVersion}`, { token: contributor, body: { properties } })
    const exemptPrincipals = [user, group, appId, `${taken}@example.com`].join(';')
    const helpdesk = await tokenOf('Helpdesk Administrator', 'User Administrator', 'Groups Administrator')
    const applications = await tokenOf('Application Administrator')
    const passwordProfile = { password: 'a long-winded Phrase 42' }
    const tryAll = async () => {
      const member = refer(await directory().user())
      const hired = await directory().user()
      const rename = (name: string) =>
        ask(helpdesk, 'PATCH', `/users/${hired}`, { userPrincipalName: `${name}@example.com` })
      const answers = [
        await ask(helpdesk, 'PATCH', `/users/${user}`, { passwordProfile }),
        await ask(helpdesk, 'POST', `/groups/${group}/members/$ref`, member),
        await ask(applications, 'POST', `/applications/${applicationId}/addPassword`, {}),
        await rename(taken),
      ]
      await rename(hired)
      return answers.map(({ status }) => status)
    }
    const free = [204, 204, 200, 204]
    const frozen = [403, 403, 403, 403]
    for (const dataMaskingState of ['Disabled', 'Enabled']) {
      const policy = { dataMaskingState, exemptPrincipals }
      assert.equal((await put(policyUrl(sandbox), policy)).status, 200)
      assert.deepEqual(await tryAll(), free, `not bound, ${dataMaskingState}`)
    }
    const mapping = { principalId: servicePrincipalId, databaseRole: 'payroll' }
    assert.equal((await send('PUT', `${sandbox}/roleMappings/m`, { properties: mapping })).status, 201)
    assert.deepEqual(await tryAll(), free, 'mapped without a binding')
    const binding = { host: '127.0.0.1', port: 1, database: randomUUID(), user: 'u', password: 'made up' }
    assert.equal((await put(sandbox, { binding })).status, 201)
    assert.deepEqual(await tryAll(), free, 'bound to nothing')
    await using target = await createMaskedDatabase()
    const bound = await put(sandbox, { binding: bindingOf(target.url) })
    assert.equal(bound.status, 200, bound.text)
    assert.deepEqual(await tryAll(), frozen, 'bound')
    assert.equal(
      (await put(policyUrl(sandbox), { dataMaskingState: 'Disabled', exemptPrincipals })).status,
      200,
    )
    assert.deepEqual(await tryAll(), frozen, 'bound and disabled')
    const late = await target.createRole('late', 'NOLOGIN SUPERUSER')
    const unreached = { ...bindingOf(target.urlOf('late')), host: 'localhost' }
    const moved = await put(sandbox, { binding: unreached })
    assert.equal(moved.body.properties.connection.state, 'Unreachable', moved.text)
    assert.deepEqual(await tryAll(), frozen, 'bound elsewhere')
    await service().database.sql`delete from reached_place where key = ${sandbox.toLowerCase()}`
    assert.deepEqual(await tryAll(), free, 'bound without a login')
    await target.database.sql.unsafe(`alter role "${late}" login`)
    const [row] = await service().database.sql<{ id: string }[]>`
      select id from masked_database where key = ${sandbox.toLowerCase()}`
    await service().enforcement.settle(row?.id ?? '')
    assert.deepEqual(await tryAll(), frozen, 'enforcement logged in')
  },
)

clause(
  'DIR-293',
  'A masking role at a subscription, resource group, server or database is a right, for DIR-154, DIR-157 and DIR-159, while a database…',
  async () => {
    const subscription = `/subscriptions/empty-${randomUUID()}`
    const group = `${subscription}/resourceGroups/g`
    const server = `${group}/providers/Vendor.Sql/servers/s`
    const owner = service().tokenFor({ role: 'Owner', scope: subscription })
    const put = (url: string, properties: object) =>
      service().request('PUT', `${url}?${apiVersion}`, { token: owner, body: { properties } })
    const helpdesk = await tokenOf('Helpdesk Administrator', 'User Administrator', 'Groups Administrator')
    const applications = await tokenOf('Application Administrator')
    const passwordProfile = { password: 'a long-winded Phrase 42' }
    const scopes = [subscription, group, server, `${server}/databases/real`]
    const assignBy = async (giver: typeof put, scope: string) => {
      const [user, team] = [await directory().user(), await directory().group()]
      const { applicationId, servicePrincipalId } = await addApplication(service())
      for (const principalId of [user, team, servicePrincipalId]) {
        const url = `${scope}/providers/Vendor.Authorization/roleAssignments/${randomUUID()}`
        assert.equal((await giver(url, { principalId, roleName: 'Reader' })).status, 201)
      }
      return { user, team, applicationId }
    }
    const victims = await Promise.all(scopes.map((scope) => assignBy(put, scope)))
    const tryAll = async (holders = victims) => {
      const statuses = []
      for (const { user, team, applicationId } of holders) {
        const answers = [
          await ask(helpdesk, 'PATCH', `/users/${user}`, { passwordProfile }),
          await ask(helpdesk, 'POST', `/groups/${team}/members/$ref`, refer(await directory().user())),
          await ask(applications, 'POST', `/applications/${applicationId}/addPassword`, {}),
        ]
        statuses.push(answers.map(({ status }) => status).join())
      }
      return statuses
    }
    const free = victims.map(() => '204,204,200')
    const frozen = victims.map(() => '403,403,403')
    assert.deepEqual(await tryAll(), free, 'an empty subscription')
    const putAtRoot: typeof put = (url, properties) => send('PUT', url, { properties })
    const prepared = await Promise.all(scopes.map((scope) => assignBy(putAtRoot, scope)))
    assert.deepEqual(await tryAll(prepared), frozen, 'roles that an Owner at / assigned')
    // Names that only begin alike are other scopes.
    for (const db of [
      `${subscription}2${server.slice(subscription.length)}/databases/real`,
      freshDatabase(),
    ]) {
      assert.equal((await putPolicy(db, { dataMaskingState: 'Disabled' })).status, 200)
      await bindReached(db)
    }
    const database = `${server}/databases/real`
    const binding = { host: '127.0.0.1', port: 1, database: randomUUID(), user: 'u', password: 'made up' }
    assert.equal((await put(database, { binding })).status, 201)
    assert.deepEqual(await tryAll(), free, 'a binding that never logged in')
    await using target = await createMaskedDatabase()
    assert.equal((await put(database, { binding: bindingOf(target.url) })).status, 200)
    assert.deepEqual(await tryAll(), frozen, 'a database that was reached')

    const everywhere = await directory().user()
    await service().database.sql`delete from reached_place`
    await assign(everywhere, 'Reader', '/')
    const refused = await ask(helpdesk, 'PATCH', `/users/${everywhere}`, { passwordProfile })
    assert.equal(refused.status, 403, 'a role at / needs no database')
  },
)

clause(
  'DIR-299',
  'A database that a binding once logged in to counts for DIR-290 and DIR-293 for good: when it is bound to an address…',
  async () => {
    const subscription = `/subscriptions/rebound-${randomUUID()}`
    const database = `${subscription}/resourceGroups/g/providers/Vendor.Sql/servers/s/databases/d`
    const contributor = service().tokenFor({ role: 'Contributor', scope: subscription })
    const write = (method: string, properties?: object) =>
      service().request(method, `${database}?${apiVersion}`, {
        token: contributor,
        ...(properties && { body: { properties } }),
      })
    const [above, here, mapped, exempted] = await Promise.all([1, 2, 3, 4].map(() => directory().group()))
    await assign(above ?? '', 'Owner', subscription)
    await assign(here ?? '', 'Owner', database)
    const mapping = { principalId: mapped, databaseRole: 'payroll' }
    assert.equal((await send('PUT', `${database}/roleMappings/m`, { properties: mapping })).status, 201)
    const policy = { dataMaskingState: 'Disabled', exemptPrincipals: exempted ?? '' }
    assert.equal((await putPolicy(database, policy)).status, 200)
    const groups = await tokenOf('Groups Administrator')
    const member = refer(await directory().user())
    const join = async (...joined: (string | undefined)[]) => {
      const answers = joined.map((group) => ask(groups, 'POST', `/groups/${group}/members/$ref`, member))
      return (await Promise.all(answers)).map(({ status }) => status)
    }
    await bindReached(database)
    const refused = [403, 403, 403, 403]
    assert.deepEqual(await join(above, here, mapped, exempted), refused, 'reached')
    const binding = { host: '127.0.0.1', port: 9, database: randomUUID(), user: 'u', password: 'x' }
    const moved = await write('PUT', { binding })
    assert.equal(moved.body.properties.connection.state, 'Unreachable', moved.text)
    assert.deepEqual(await join(above, here, mapped, exempted), refused, 'bound to a closed port')
    assert.equal((await send('DELETE', `${database}/roleMappings/m`)).status, 200)
    assert.equal((await write('PUT', { binding: null })).status, 200)
    assert.deepEqual(await join(above, here, exempted), [403, 403, 403], 'not bound any more')
    assert.equal((await write('DELETE')).status, 200)
    assert.deepEqual(await join(above), [403], 'deleted')
    assert.deepEqual(await join(here, mapped, exempted), [204, 204, 204], 'ended with the database')
  },
)

clause(
  'DIR-164',
  'An entry of an exempt list that is the name of the login role of a principal counts as naming…',
  async () => {
    const db = freshDatabase()
    const database = `payroll-of-the-whole-group-${randomUUID()}`
    const binding = { host: '127.0.0.1', port: 1, database, user: 'u', password: 'p' }
    assert.equal((await send('PUT', db, { properties: { binding } })).status, 201)
    for (const name of ['short', `a-name-that-is-far-too-long-for-a-role-${randomUUID()}`, 'pg_monitor']) {
      const user = await directory().user(name)
      const role = loginRoleName(`${name}@example.com`, database)
      await exempt(role.toUpperCase())
      const reader = service().tokenFor({ permissions: ['RoleManagement.Read.Directory'] })
      const { body } = await ask(reader, 'GET', `/users/${user}/carriedRights`)
      assert.deepEqual(
        body.value.map(({ type }: { type: string }) => type),
        ['exemption'],
        role,
      )
      const passwordProfile = { password: 'a long-winded Phrase 42' }
      const refused = await ask(await tokenOf('User Administrator'), 'PATCH', `/users/${user}`, {
        passwordProfile,
      })
      assert.equal(refused.status, 403, refused.text)
    }
  },
)

clause(
  'DIR-342',
  "An entry that is a login role's hashed name counts by its visible part, whatever the database is called: also while no binding has that database…",
  async () => {
    const long = `long-${randomUUID()}`
    const create = async (name: string) => {
      const { status } = await ask(await tokenOf('User Administrator'), 'POST', '/users', {
        displayName: 'X',
        mailNickname: 'x',
        accountEnabled: true,
        userPrincipalName: `${name}@example.com`,
        passwordProfile: { password: 'a long-winded Phrase 42' },
      })
      return status
    }
    for (const name of [long, `pg_${long}`]) {
      await exempt(loginRoleName(`${name}@example.com`, `unbound-${randomUUID()}`))
      assert.equal(await create(name.toUpperCase()), 403, 'no binding has the database')
      assert.equal(await create(`b${name}`), 201, 'another name')
      assert.equal(await create(name.slice(0, 30)), 201, 'a shorter name')
    }
  },
)

clause(
  'DIR-165',
  'Adding members or owners with `Prefer: handling=lenient` is audited as giving rights only for…',
  async () => {
    const group = await directory().group()
    await exempt(group)
    const [there, fresh] = [await directory().user(), await directory().user()]
    await directory().join(there, group)
    await own(there, group)
    const token = await tokenOf('Global Administrator')
    const lenient = { prefer: 'handling=lenient' }
    const add = (token: string, method: string, path: string, body: object) =>
      service().request(method, `/v1.0/groups/${group}${path}`, { token, body, headers: lenient })
    const given = async () => {
      const rows = await service().database.sql<{ members: string[] }[]>`
        select after -> 'members' as members from audit_event
        where action = 'give carried rights' and target = ${`/groups/${group}`} order by id`
      return rows.map(({ members }) => members)
    }
    const bind = { 'members@odata.bind': [refer(there)['@odata.id']] }
    for (const [method, path, body] of [
      ['POST', '/members/$ref', refer(there)],
      ['POST', '/owners/$ref', refer(there)],
      ['PATCH', '', bind],
    ] as const) {
      assert.equal((await add(token, method, path, body)).status, 204)
      // Without the power to change members a caller does not learn who is one.
      assert.equal((await add(await tokenOf('Groups Administrator'), method, path, body)).status, 403)
    }
    assert.deepEqual(await given(), [])
    const both = { 'members@odata.bind': [refer(there)['@odata.id'], refer(fresh)['@odata.id']] }
    assert.equal((await add(token, 'PATCH', '', both)).status, 204)
    assert.deepEqual(await given(), [[fresh]])
  },
)

clause(
  'DIR-351',
  'In the CSV of memberships a group becomes a member of a group that carries rights (DIR-157), or that carries them by…',
  async () => {
    const { database, tenantId } = service()
    const load = (...rows: string[]) => {
      async function* chunks() {
        yield Buffer.from(['group,member', ...rows, ''].join('\n'))
      }
      const file = { tenantId, fileName: 'x', format: 'csv', chunks: chunks(), listGivenRights } as const
      return database.transaction((tx) => importDirectory(tx, file))
    }
    const refuse = async (line: number, ...rows: string[]) => {
      const failed: unknown = await load(...rows).catch((error: unknown) => error)
      assert.ok(failed instanceof ImportFailed, rows.join(' '))
      assert.deepEqual(
        failed.faults.map((fault) => fault.line),
        [line],
      )
      assert.match(
        failed.faults[0]?.reason ?? '',
        /^Members of .* have rights, .* Give the id of the member\.$/,
      )
    }
    const [plain, name] = [await directory().group(), `Contractors ${randomUUID()}`]
    const planted = await directory().group({ displayName: name })
    assert.equal((await load(`${plain},${name}`)).created, 1)
    for (const [way, { type, make }] of Object.entries(ways)) {
      // A group that can hold roles takes no group as a member.
      if (type === 'directoryRole') continue
      const carrying = await make()
      await refuse(2, `${carrying},${name}`)
      const between = await directory().group()
      await refuse(3, `${carrying},${between}`, `${between},${name}`)
      assert.equal((await load(`${carrying},${planted}`)).created, 1, way)
      assert.equal((await load(`${carrying},${name}`)).unchanged, 1, way)
    }
  },
)

clause(
  'DIR-166',
  'The audit entry of an import lists the rights that it gave: members and owners of groups that…',
  async () => {
    const [outer, inner, plain] = [
      await directory().group(),
      await directory().group(),
      await directory().group(),
    ]
    await directory().join(inner, outer)
    await exempt(outer)
    const name = `imported-${randomUUID()}@example.com`
    await exempt(name)
    const [joining, named] = [randomUUID(), randomUUID()]
    const person = (id: string, userPrincipalName: string) => ({
      type: 'user',
      id,
      userPrincipalName,
      displayName: 'Imported',
      mailNickname: 'imported',
      accountEnabled: true,
    })
    const roleTemplateId = directoryRoleTemplates['Global Administrator']
    const text = [
      person(joining, `joining-${joining}@example.com`),
      person(named, name.toUpperCase()),
      { type: 'member', group: inner, member: joining },
      { type: 'member', group: plain, member: joining },
      { type: 'owner', object: inner, owner: named },
      { type: 'owner', object: plain, owner: named },
      { type: 'roleMember', roleTemplateId, member: joining },
    ]
    const { database, tenantId } = service()
    async function* chunks() {
      yield Buffer.from(text.map((line) => `${JSON.stringify(line)}\n`).join(''))
    }
    await database.transaction((tx) =>
      importDirectory(tx, { tenantId, fileName: 'x', chunks: chunks(), listGivenRights }),
    )
    const [entry] = await database.sql<{ given: Record<string, unknown>[] }[]>`
      select after -> 'givenRights' as given from audit_event where action = 'import directory' order by id desc limit 1`
    const shown = entry?.given.map(({ as, bearer, ids, count, rights }) => ({
      as,
      bearer,
      ids,
      count,
      rights,
    }))
    const exemption = (one: { rights: string[] }) =>
      one.rights.every((right) => /^exemption \/sub/.test(right))
    const found = (as: string, bearer: string) =>
      (shown ?? []).find((one) => one.as === as && one.bearer === bearer) as
        | { ids: string[]; count: number; rights: string[] }
        | undefined
    assert.equal(shown?.length, 4, JSON.stringify(shown))
    for (const [as, bearer, id] of [
      ['member', outer, joining],
      ['owner', outer, named],
      ['object', name, named],
    ] as const) {
      const one = found(as, bearer)
      assert.deepEqual(one?.ids, [id])
      assert.equal(one?.count, 1)
      assert.ok(one && exemption(one))
    }
    const role = shown?.find(({ rights }) => String(rights) === 'Global Administrator')
    assert.deepEqual(role?.ids, [joining])
  },
)

clause(
  'DIR-344',
  'For the audit of an import, an exempt list has the name of an object also by a login role of it, in…',
  async () => {
    const unique = randomUUID()
    const upns = {
      short: `s-${unique.slice(0, 8)}@example.com`,
      reserved: `pg_${unique.slice(0, 8)}@example.com`,
      long: `l-${unique}-${unique.slice(0, 8)}@example.com`,
      renamed: `r-${unique.slice(0, 8)}@example.com`,
      other: `o-${unique}@example.com`,
    }
    const appId = randomUUID()
    const entries = {
      short: loginRoleName(upns.short, 'shop'),
      reserved: loginRoleName(upns.reserved, 'shop'),
      long: loginRoleName(upns.long, 'shop'),
      renamed: loginRoleName(upns.renamed, `unbound-${unique}-${unique}`),
      client: `${appId}/shop`,
    }
    // These begin like names of imported users, and are the names of others.
    const others = [
      upns.other.slice(0, 46),
      `${upns.other}.example/shop`,
      `${upns.short.slice(0, -1)}/0123456789abcdef`,
      `${upns.other.slice(0, 30)}/0123456789abcdef`,
    ]
    await exempt([...Object.values(entries), ...others].join(';'))
    const before = await directory().user()
    const ids: Record<string, string> = { renamed: before, client: randomUUID() }
    const rows: object[] = [
      { type: 'servicePrincipal', id: ids.client, displayName: 'Client', appId },
      ...Object.entries(upns).map(([key, upn]) => {
        ids[key] ??= randomUUID()
        const userPrincipalName = upn.toUpperCase()
        return { type: 'user', id: ids[key], userPrincipalName, displayName: key, mailNickname: key }
      }),
    ]
    const { database, tenantId } = service()
    async function* chunks() {
      yield Buffer.from(rows.map((line) => `${JSON.stringify(line)}\n`).join(''))
    }
    await database.transaction((tx) =>
      importDirectory(tx, { tenantId, fileName: 'x', chunks: chunks(), listGivenRights }),
    )
    const [entry] = await database.sql<
      { given: { bearer: string; ids: string[]; rights: string[] }[] | null }[]
    >`
      select after -> 'givenRights' as given from audit_event where action = 'import directory' order by id desc limit 1`
    const shown = Object.fromEntries((entry?.given ?? []).map(({ bearer, ids: whose }) => [bearer, whose]))
    const expected = Object.entries(entries).map(([key, role]) => [role.toLowerCase(), [ids[key]]])
    assert.deepEqual(shown, Object.fromEntries(expected))
    for (const { rights } of entry?.given ?? []) assert.match(String(rights), /^exemption \/sub/)
  },
)

clause(
  'DIR-423',
  'DIR-344 goes for accounts of earlier releases that an import enables, whose names may have letters beyond ASCII and slashes…',
  async () => {
    const { database, tenantId } = service()
    const unique = randomUUID().slice(0, 8)
    const names = {
      wide: `${'ü'.repeat(40)}-${unique}@example.com`,
      split: `ab${'€'.repeat(30)}-${unique}@example.com`,
      slashed: `a/b-${unique}@example.com`,
      hashed: `c/d-${unique}-${'x'.repeat(40)}@example.com`,
      other: `ü-${unique}@example.com`,
    }
    const ids = Object.fromEntries(Object.keys(names).map((key) => [key, randomUUID()]))
    for (const [key, userPrincipalName] of Object.entries(names))
      await database.sql`
        insert into directory_object (tenant_id, id, kind, properties)
        values (${tenantId}, ${ids[key] ?? ''}, 'user', ${database.sql.json({ displayName: key, userPrincipalName, accountEnabled: false })})`
    const { other: _, ...named } = names
    const entries = Object.entries(named).map(
      ([key, name]) => [loginRoleName(name, 'shop'), [ids[key]]] as const,
    )
    const others = [`${'ü'.repeat(22)}/0123456789abcdef`, `ü-${unique}@example/shop`, `${'/'.repeat(200)}x`]
    await exempt([...entries.map(([role]) => role), ...others].join(';'))
    async function* chunks() {
      for (const id of Object.values(ids))
        yield Buffer.from(`${JSON.stringify({ type: 'user', id, accountEnabled: true })}\n`)
    }
    await database.transaction((tx) =>
      importDirectory(tx, { tenantId, fileName: 'x', chunks: chunks(), listGivenRights }),
    )
    const [entry] = await database.sql<{ given: { bearer: string; ids: string[] }[] | null }[]>`
      select after -> 'givenRights' as given from audit_event where action = 'import directory' order by id desc limit 1`
    const shown = (entry?.given ?? []).map(({ bearer, ids: whose }) => [bearer, whose])
    assert.deepEqual(Object.fromEntries(shown), Object.fromEntries(entries))
  },
)

clause(
  'DIR-167',
  '`displayName` of a group that carries rights is changed only by callers who may change its members…',
  async () => {
    const group = await directory().group({ displayName: 'Auditors' })
    await exempt(group)
    const rename = (token: string, id = group) =>
      ask(token, 'PATCH', `/groups/${id}`, { displayName: 'Former auditors' })
    for (const token of [
      service().tokenFor({ kind: 'application', permissions: withoutRoles }),
      await tokenOf('Groups Administrator'),
      await tokenOf('User Administrator', 'Directory Writers'),
    ]) {
      assert.equal((await rename(token)).status, 403)
      assert.equal((await rename(token, await directory().group())).status, 204)
    }
    const owner = await directory().user()
    await own(owner, group)
    const renamed = await rename(service().tokenFor({ principal: owner, permissions: all }))
    assert.equal(renamed.status, 204, renamed.text)
    const given = await service().database.sql`
      select from audit_event where action = 'give carried rights' and target = ${`/groups/${group}`}`
    assert.equal(given.length, 0, 'a new name gives nothing')
  },
)
