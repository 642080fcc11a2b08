import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import pg from 'pg'
import { type DirectoryRole, directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { advisoryLocks } from '../../../src/db/advisory-locks.ts'
import { noRoleId } from '../../../src/directory/app-roles/app-roles.ts'
import { permissionId } from '../../../src/directory/applications/api-principal.ts'
import { removeSecret } from '../../../src/directory/applications/application-secret.ts'
import { recordReached } from '../../../src/masking/binding/bind-once.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { addApplication, addAssignment, requireAssignments } from '../../support/issuer.ts'
import { freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import {
  type Outcome,
  overlap as overlapIn,
  queueForRights,
  type Write,
} from '../../support/overlapping-writes.ts'
import { runHere } from '../../support/run-here.ts'
import { waitUntil } from '../../support/wait-until.ts'

const { service, send, putPolicy, reachedDatabase } = useMasking()
const directory = () => fillDirectory(service())

const all = Object.keys(knownPermissions)
const refer = (id: string) => ({ '@odata.id': `https://x/v1.0/directoryObjects/${id}` })

const ask = (token: string, method: string, path: string, body?: unknown) =>
  service().request(method, `/v1.0${path}`, { token, ...(body !== undefined && { body }) })
/** May do everything. */
const give = (method: string, path: string, body?: unknown) =>
  ask(service().tokenFor({ kind: 'application', permissions: all }), method, path, body)
const run = async (...command: string[]): Promise<Outcome> => {
  const { dataDir, databaseUrl } = service()
  const environment = { MASQUERADE_DATA_DIR: dataDir, MASQUERADE_DATABASE_URL: databaseUrl }
  const { code, stderr } = await runHere(command, { environment })
  return { status: code === 0 ? 200 : 500, text: stderr }
}
const personWith = async (...roles: DirectoryRole[]) =>
  service().tokenFor({
    principal: await directory().user(),
    permissions: all,
    directoryRoles: roles.map((role) => directoryRoleTemplates[role]),
  })

const overlap = (first: Write, second: Write) => overlapIn(service(), first, second)
const queue = (...writes: readonly Write[]) => queueForRights(service(), ...writes)

const assign = (principalId: string, roleName = 'Reader', id: string = randomUUID()) =>
  send('PUT', `/providers/Vendor.Authorization/roleAssignments/${id}`, {
    properties: { principalId, roleName },
  })
const carryingGroup = async (): Promise<string> => {
  const group = await directory().group()
  assert.equal((await assign(group)).status, 201)
  return group
}
const join = (member: string, group: string) => give('POST', `/groups/${group}/members/$ref`, refer(member))

interface Bearer {
  readonly id: string
  /** As exempt lists name it. */
  readonly name: string
}

/** The ways in which masking and groups give rights to a group or a service principal. Each returns the write. */
const ways: Readonly<Record<string, (bearer: Bearer) => Promise<Write>>> = {
  'a masking role':
    async ({ id }) =>
    () =>
      assign(id),
  'a mapping': async ({ id }) => {
    const url = `${await reachedDatabase()}/roleMappings/x`
    return () => send('PUT', url, { properties: { principalId: id, databaseRole: 'payroll' } })
  },
  'an exempt list': async ({ name }) => {
    const db = await reachedDatabase()
    return () => putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: name })
  },
  'a document': async ({ name }) => {
    const db = await reachedDatabase()
    const policy = { dataMaskingState: 'Enabled', exemptPrincipals: [name] }
    return () => send('PUT', `${policyUrl(db)}/document`, { properties: { policy, rules: [] } })
  },
  'a group that carries rights': async ({ id }) => {
    const carrying = await carryingGroup()
    return () => join(id, carrying)
  },
  'a group that gets into one that carries rights': async ({ id }) => {
    const [inner, carrying] = [await directory().group(), await carryingGroup()]
    await directory().join(id, inner)
    return () => join(inner, carrying)
  },
}

const consentTo = async (clientId: string) => {
  const resourceId = await directory().findApi()
  const body = { clientId, consentType: 'AllPrincipals', resourceId, scope: 'Directory.Read.All' }
  return () => give('POST', '/oauth2PermissionGrants', body)
}
const requireAt = (id: string) => () =>
  give('PATCH', `/servicePrincipals/${id}`, { appRoleAssignmentRequired: true })

/** The ways in which a group comes to give access to a client that requires assignments. */
const accesses: typeof ways = {
  'an assignment to a client': async ({ id: principalId }) => {
    const one = await addApplication(service(), { consented: ['Directory.Read.All'] })
    await requireAssignments(service(), one.servicePrincipalId)
    const body = { principalId, resourceId: one.servicePrincipalId, appRoleId: noRoleId }
    return () => give('POST', `/groups/${principalId}/appRoleAssignments`, body)
  },
  'a client that comes to require assignments': async ({ id }) => {
    const { servicePrincipalId } = await addApplication(service(), { consented: ['Directory.Read.All'] })
    await addAssignment(service(), id, servicePrincipalId)
    return requireAt(servicePrincipalId)
  },
  'a consent to a client with assignments': async ({ id }) => {
    const { servicePrincipalId } = await addApplication(service())
    await requireAssignments(service(), servicePrincipalId)
    await addAssignment(service(), id, servicePrincipalId)
    return consentTo(servicePrincipalId)
  },
}

const register = async () => {
  const one = await addApplication(service())
  const token = service().tokenFor({ kind: 'application', permissions: ['Application.ReadWrite.All'] })
  return { ...one, path: `/applications/${one.applicationId}`, token }
}
type Registered = Awaited<ReturnType<typeof register>>

const grant = async ({ servicePrincipalId: principalId }: Registered): Promise<Write> => {
  const body = {
    principalId,
    resourceId: await directory().findApi(),
    appRoleId: permissionId('Group.ReadWrite.All'),
  }
  return () => give('POST', `/servicePrincipals/${principalId}/appRoleAssignments`, body)
}
const consent = async ({ servicePrincipalId: clientId }: Registered): Promise<Write> => {
  const resourceId = await directory().findApi()
  const body = { clientId, consentType: 'AllPrincipals', resourceId, scope: 'Group.ReadWrite.All' }
  return () => give('POST', '/oauth2PermissionGrants', body)
}
const widen = async ({ servicePrincipalId: clientId }: Registered): Promise<Write> => {
  const body = {
    clientId,
    consentType: 'AllPrincipals',
    resourceId: await directory().findApi(),
    scope: 'User.Read',
  }
  const { id } = (await give('POST', '/oauth2PermissionGrants', body)).body
  return () => give('PATCH', `/oauth2PermissionGrants/${id}`, { scope: 'User.Read Group.ReadWrite.All' })
}
const byCommand =
  (verb: string) =>
  async ({ appId }: Registered): Promise<Write> =>
  () =>
    run('application', verb, appId, '--permission', 'Group.ReadWrite.All')

/** Grants whose audit entries count the holders. */
const counted: Readonly<Record<string, (one: Registered) => Promise<Write>>> = {
  'a permission': grant,
  'a consent': consent,
  'a wider consent': widen,
  'a permission by command': byCommand('grant'),
  'a consent by command': byCommand('consent'),
}
const directoryRole = async ({ servicePrincipalId: principalId }: Registered): Promise<Write> => {
  const roleDefinitionId = directoryRoleTemplates['Groups Administrator']
  return () => give('POST', '/roleManagement/directory/roleAssignments', { principalId, roleDefinitionId })
}

/** Writes that let their caller act as the application. */
const takeovers: Readonly<Record<string, (one: Registered) => Promise<Write>>> = {
  secrets:
    async ({ token, path }) =>
    () =>
      ask(token, 'POST', `${path}/addPassword`, {}),
  redirectUris:
    async ({ token, path }) =>
    () =>
      ask(token, 'PATCH', path, {
        web: { redirectUris: ['https://evil.example/'] },
        appRoles: [
          { id: randomUUID(), allowedMemberTypes: ['User'], displayName: 'x', value: 'x', isEnabled: true },
        ],
      }),
  owners: async ({ token, path }) => {
    const owner = refer(await directory().user())
    return () => ask(token, 'POST', `${path}/owners/$ref`, owner)
  },
}

clause(
  'DIR-354',
  'A change that DIR-154 is about and that is under way while the application gets a permission, a consent…',
  async (t) => {
    const bearing = Object.entries(ways).map(
      ([name, make]) =>
        [name, ({ servicePrincipalId: id, appId }: Registered) => make({ id, name: appId })] as const,
    )
    const givings = [...Object.entries(counted), ['a directory role', directoryRole] as const, ...bearing]
    for (const [name, make] of givings)
      await t.test(`a secret behind ${name}`, async () => {
        const one = await register()
        const [given, added] = await overlap(await make(one), await (takeovers.secrets ?? grant)(one))
        assert.ok(given.status < 300, given.text)
        assert.equal(added.status, 403, added.text)
        const rows = await service().database.sql`
          select from application_secret where application_id = ${one.applicationId}`
        assert.equal(rows.length, 1, 'no secret behind the right')
      })
    for (const [name, make] of Object.entries(takeovers))
      await t.test(`${name} behind a permission`, async () => {
        const one = await register()
        const [given, added] = await overlap(await grant(one), await make(one))
        assert.ok(given.status < 300, given.text)
        assert.equal(added.status, 403, added.text)
      })
  },
)

clause(
  'TOK-150',
  'A grant or consent that TOK-143 is about waits for changes of the application that are under way, and its…',
  async (t) => {
    const cases = [
      ...Object.keys(counted).map((by) => ['secrets', by] as const),
      ...Object.keys(takeovers).map((what) => [what, 'a permission'] as const),
    ]
    for (const [what, by] of cases)
      await t.test(`${what} before ${by}`, async () => {
        const one = await register()
        const [take, giving] = [await takeovers[what]?.(one), await counted[by]?.(one)]
        assert.ok(take && giving)
        const [added, given] = await overlap(take, giving)
        assert.ok(added.status < 300, added.text)
        assert.ok(given.status < 300, given.text)
        const [entry] = await service().database.sql<{ holders: Record<string, number> }[]>`
          select after -> 'holders' as holders from audit_event
          where target ilike ${`%${one.servicePrincipalId}`} and action in ('grant permissions', 'consent')
          order by id desc limit 1`
        assert.equal(entry?.holders[what], what === 'secrets' ? 2 : 1)
      })
    await t.test('a secret by command before a permission', async () => {
      const one = await register()
      const [added, given] = await overlap(() => run('application', 'secret', one.appId), await grant(one))
      assert.deepEqual([added.status, given.status], [200, 201], added.text + given.text)
      const [entry] = await service().database.sql<{ secrets: number }[]>`
        select (after -> 'holders' ->> 'secrets')::int as secrets from audit_event
        where target = ${`/servicePrincipals/${one.servicePrincipalId}`} and action = 'grant permissions'`
      assert.equal(entry?.secrets, 2)
    })
  },
)

clause(
  'DIR-355',
  'A change that DIR-157 is about and that is under way while the group, or one around it, comes to carry rights…',
  async (t) => {
    const groupsAdministrator = await personWith('Groups Administrator')
    const administrator = await personWith('Global Administrator', 'Privileged Role Administrator')
    for (const [name, make] of Object.entries({ ...ways, ...accesses }))
      await t.test(`a member behind ${name}`, async () => {
        for (const [token, status] of [
          [groupsAdministrator, 403],
          [administrator, 204],
        ] as const) {
          const [group, member] = [await directory().group(), await directory().user()]
          const add: Write = () => ask(token, 'POST', `/groups/${group}/members/$ref`, refer(member))
          const [given, added] = await overlap(await make({ id: group, name: group }), add)
          assert.ok(given.status < 300, given.text)
          assert.equal(added.status, status, added.text)
          assert.deepEqual(await directory().directMembers(group), status === 204 ? [member] : [])
          const entries = await service().database.sql<{ members: string[] }[]>`
            select after -> 'members' as members from audit_event
            where action = 'give carried rights' and target = ${`/groups/${group}`}`
          assert.deepEqual(
            entries.map(({ members }) => members),
            status === 204 ? [[member]] : [],
          )
        }
      })
    await t.test('other changes behind an exempt list', async () => {
      const user = await directory().user()
      const changes: readonly ((group: string) => readonly [string, string, unknown?])[] = [
        (group) => ['POST', `/groups/${group}/owners/$ref`, refer(user)],
        (group) => ['PATCH', `/groups/${group}`, { 'members@odata.bind': [refer(user)['@odata.id']] }],
        (group) => ['PATCH', `/groups/${group}`, { displayName: 'Another' }],
        (group) => ['DELETE', `/groups/${group}`],
        (group) => ['POST', `/directory/deletedItems/${group}/restore`],
      ]
      for (const change of changes) {
        const group = await directory().group()
        const [method, path, body] = change(group)
        if (path.endsWith('/restore')) await directory().softDelete(group)
        const exempt = await ways['an exempt list']?.({ id: group, name: group })
        assert.ok(exempt)
        const [given, changed] = await overlap(exempt, () => ask(groupsAdministrator, method, path, body))
        assert.equal(given.status, 200, given.text)
        assert.equal(changed.status, 403, `${method} ${path}: ${changed.text}`)
      }
    })
    await t.test('a member before a right', async () => {
      const [group, member] = [await directory().group(), await directory().user()]
      const [added, given] = await overlap(
        () => ask(groupsAdministrator, 'POST', `/groups/${group}/members/$ref`, refer(member)),
        () => assign(group),
      )
      assert.deepEqual([added.status, given.status], [204, 201], added.text + given.text)
      const entries = await service().database.sql<{ action: string }[]>`
        select action from audit_event
        where target = ${`/groups/${group}`} or after -> 'properties' ->> 'principalId' = ${group} order by id`
      assert.equal(entries[0]?.action, 'add member')
    })
    await t.test('a member behind the first login of a database', async () => {
      const { database } = service()
      const [group, member, db] = [await directory().group(), await directory().user(), freshDatabase()]
      assert.equal(
        (await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: group })).status,
        200,
      )
      const binding = { host: '127.0.0.1', port: 1, database: randomUUID(), user: 'u', sslmode: 'disable' }
      const [row] = await database.sql<{ id: string; version: number }[]>`
        update masked_database set binding = ${database.sql.json(binding)} where key = ${db.toLowerCase()}
        returning id, binding_version as version`
      assert.ok(row)
      let isAdded = false
      const added = await database.transaction(async (tx) => {
        await recordReached(tx, { ...row, binding: binding as never })
        const adding = ask(groupsAdministrator, 'POST', `/groups/${group}/members/$ref`, refer(member))
        void adding.then(() => {
          isAdded = true
        })
        await waitUntil('the member waits, or is added', async () => {
          const waiting = await database.sql`
            select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
          return isAdded || waiting.length > 0
        })
        return { adding }
      })
      const answer = await added.adding
      assert.equal(answer.status, 403, answer.text)
    })
  },
)

clause(
  'DIR-356',
  'A write that gives a right and one that is judged by it (DIR-354, DIR-355) never wait for each other: none is begun…',
  async (t) => {
    const statuses = async (...writes: readonly Write[]) =>
      (await queue(...writes)).map(({ status }) => status)
    await t.test('a masking role and the deletion of its group', async () => {
      const remove = (group: string): Write => {
        return () => give('DELETE', `/groups/${group}`)
      }
      const [one, other] = [await directory().group(), await directory().group()]
      assert.deepEqual(await statuses(() => assign(one), remove(one)), [201, 204])
      assert.deepEqual(await statuses(remove(other), () => assign(other)), [204, 400])
    })
    for (const verb of ['grant', 'consent'])
      await t.test(`application ${verb} and the deletion of its service principal`, async () => {
        const [one, other] = [await register(), await register()]
        const remove = ({ servicePrincipalId }: Registered): Write => {
          return () => give('DELETE', `/servicePrincipals/${servicePrincipalId}`)
        }
        assert.deepEqual(await statuses(await byCommand(verb)(one), remove(one)), [200, 204])
        assert.deepEqual(await statuses(remove(other), await byCommand(verb)(other)), [204, 500])
      })
    await t.test('application secret and an owner that is a service principal', async () => {
      const { appId, path } = await register()
      const owner = refer((await register()).servicePrincipalId)
      const add: Write = () => give('POST', `${path}/owners/$ref`, owner)
      assert.deepEqual(await statuses(() => run('application', 'secret', appId), add), [200, 204])
    })
    await t.test('the deletion of an Owner, a new role, and the end of another role', async () => {
      const [owners, group, id] = [await directory().group(), await directory().group(), randomUUID()]
      assert.equal((await assign(owners, 'Owner')).status, 201)
      assert.equal((await assign(group, 'Reader', id)).status, 201)
      const ended = await statuses(
        () => give('DELETE', `/groups/${owners}`),
        () => assign(group, 'Contributor'),
        () => send('DELETE', `/providers/Vendor.Authorization/roleAssignments/${id}`),
      )
      assert.deepEqual(ended, [204, 201, 200])
    })
  },
)

/** Runs the body while another session holds a lock by the statement. */
async function whileHeld(hold: string, body: () => Promise<void>): Promise<void> {
  const holder = new pg.Client(service().databaseUrl)
  await holder.connect()
  try {
    await holder.query('begin')
    await holder.query(hold)
    await body()
  } finally {
    await holder.end()
  }
}

clause(
  'DIR-357',
  'A manager gives no right (DIR-210), so setting or removing one waits for no write that gives rights.',
  async () => {
    const [user, manager, group] = [
      await directory().user(),
      await directory().user(),
      await directory().group(),
    ]
    const path = `/users/${user}/manager/$ref`
    await whileHeld(`select pg_advisory_xact_lock(${advisoryLocks.rights})`, async () => {
      assert.equal((await give('PUT', path, refer(manager))).status, 204)
      assert.equal((await give('PUT', path, refer(group))).status, 400)
      assert.equal((await give('DELETE', path)).status, 204)
    })
  },
)

clause(
  'DIR-358',
  'A change of DIR-354 or DIR-355 that waits for an import which is about to commit is 503 after 15 seconds: rights that…',
  async () => {
    const [group, member] = [await directory().group(), await directory().user()]
    await whileHeld('update masquerade.revision_counter set value = value', async () => {
      const adding = join(member, group)
      await waitUntil('the member waits', async () => {
        const rows = await service().database.sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query = 'commit'`
        return rows.length > 0
      })
      const given = await assign(group)
      assert.equal(given.status, 201, given.text)
      assert.equal((await adding).status, 503)
    })
    assert.deepEqual(await directory().directMembers(group), [])
  },
)

test('groups that are created with owners and members while others are granted rights do not deadlock', async () => {
  const { servicePrincipalId } = await register()
  const [inner, user] = [await directory().group(), await directory().user()]
  const create = (displayName: string) =>
    give('POST', '/groups', {
      displayName,
      mailEnabled: false,
      mailNickname: displayName,
      securityEnabled: true,
      'owners@odata.bind': [user, servicePrincipalId].map((id) => refer(id)['@odata.id']),
      'members@odata.bind': [user, inner].map((id) => refer(id)['@odata.id']),
    })
  const begun = Array.from({ length: 8 }, (_, at) => (at % 2 ? assign(inner) : create(`made-${at}`)))
  const statuses = (await Promise.all(begun)).map(({ status }) => status)
  assert.deepEqual(statuses.toSorted(), [201, 201, 201, 201, 201, 409, 409, 409])
  const [seen] = await service().database.sql<{ deadlocks: number }[]>`
    select deadlocks::int from pg_stat_database where datname = current_database()`
  assert.equal(seen?.deadlocks, 0)
})

clause(
  'DIR-379',
  'A secret that is added while another one of the application is removed, by the API or by command, is listed.',
  async (t) => {
    const removals: Readonly<Record<string, (one: Registered, keyId: string) => Write>> = {
      API:
        ({ path }, keyId) =>
        () =>
          give('POST', `${path}/removePassword`, { keyId }),
      command:
        ({ appId }, keyId) =>
        () =>
          run('application', 'secret', appId, '--remove', keyId),
      // As a caller does that has not locked the application.
      function:
        ({ applicationId }, keyId) =>
        async () => {
          const { database, tenantId } = service()
          await database.transaction((tx) => removeSecret(tx, tenantId, applicationId, keyId))
          return { status: 200, text: '' }
        },
    }
    for (const [by, remove] of Object.entries(removals))
      await t.test(by, async () => {
        const one = await register()
        const first = await give('POST', `${one.path}/addPassword`, {})
        const { keyId } = JSON.parse(first.text)
        const add: Write = () => give('POST', `${one.path}/addPassword`, {})
        const [added, removed] = await overlap(add, remove(one, keyId))
        assert.ok(added.status < 300 && removed.status < 300, added.text + removed.text)
        const listed = JSON.parse((await give('GET', one.path)).text).passwordCredentials
        const ids = listed.map((secret: { keyId: string }) => secret.keyId)
        assert.equal(ids.includes(JSON.parse(added.text).keyId), true)
        const { sql } = service().database
        const kept = await sql<{ id: string }[]>`
          select key_id as id from application_secret where application_id = ${one.applicationId}`
        assert.deepEqual(ids.toSorted(), kept.map(({ id }) => id).toSorted())
      })
  },
)
