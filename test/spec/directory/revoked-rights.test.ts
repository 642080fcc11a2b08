import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import {
  consentPermissions,
  grantApplicationPermissions,
  revokeApplicationPermissions,
  withdrawConsent,
} from '../../../src/directory/applications/granted-permissions.ts'
import { registerApplication } from '../../../src/directory/applications/registrations.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService, type TokenRequest } from '../../support/service.ts'
import { issuedNow } from '../../support/tokens.ts'
import { waitUntil } from '../../support/wait-until.ts'

const all = Object.keys(knownPermissions)
const userAdministrator = directoryRoleTemplates['User Administrator']
const refer = (id: string) => ({ '@odata.id': `https://x/v1.0/directoryObjects/${id}` })

/** Everything that a write could change. */
const readAll = `
  select (select jsonb_object_agg(id, properties || jsonb_build_object('deletedAt', deleted_at))
      from masquerade.directory_object) as objects,
    (select jsonb_agg(to_jsonb(m) order by container_id, member_id) from masquerade.member_edge m) as members,
    (select jsonb_agg(to_jsonb(o) order by object_id, owner_id) from masquerade.owner_edge o) as owners,
    (select count(*) from masquerade.audit_event) as audits`

type Request = readonly [method: string, path: string, body?: unknown]

interface Race {
  readonly token: string
  readonly write: Request
  /** Statements of another session that the write waits for. */
  readonly hold: readonly [text: string, ...values: string[]]
  /** Another caller revokes the right while the write waits. Absent: `hold` does, and is committed. */
  readonly revoke?: () => Promise<unknown>
}

describe('rights that are revoked while a write waits', () => {
  let service: TestService
  let directory: TestDirectory
  let role: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    role = await directory.add('directoryRole', { displayName: 'UA', roleTemplateId: userAdministrator })
  })
  after(() => service?.[Symbol.asyncDispose]())

  /** A token that shares no second with a revocation, as those of the issuer. */
  const tokenOf = (request: TokenRequest) =>
    service.tokens.signToken({ ...service.tokens.claimsFor(request), ...issuedNow() })
  const ask = (token: string, [method, path, body]: Request) =>
    service.request(method, `/v1.0${path}`, { token, ...(body !== undefined && { body }) })
  /** By another caller, who may do everything. */
  const allow = async (...request: Request) => {
    const token = service.tokenFor({ kind: 'application', permissions: all })
    const answer = await ask(token, request)
    assert.ok(answer.status < 300, `${request[0]} ${request[1]}: ${answer.text}`)
  }
  const own = (ownerId: string, objectId: string) =>
    service.database.sql`
      insert into owner_edge (tenant_id, object_id, owner_id) values (${service.tenantId}, ${objectId}, ${ownerId})`
  const holdObject = (id: string) =>
    ['select from masquerade.directory_object where id = $1 for update', id] as const
  /** Holds the edge that a write is about to insert: the write waits behind its first check. */
  const holdEdge = (container: string, member: string) =>
    [
      'insert into masquerade.member_edge (tenant_id, container_id, member_id) values ($1, $2, $3)',
      service.tenantId,
      container,
      member,
    ] as const

  /** Sends a write, and revokes a right of its caller while the write waits for a session of its own. */
  async function race({ token, write, hold: [text, ...values], revoke }: Race) {
    await service.tokens.settled()
    const [holder, reader] = [new pg.Client(service.databaseUrl), new pg.Client(service.databaseUrl)]
    await Promise.all([holder.connect(), reader.connect()])
    try {
      await holder.query('begin')
      const held = await holder.query('select pg_backend_pid() as pid')
      await holder.query(text, values)
      const begun = ask(token, write)
      // Not by the holder: within its transaction it sees no session that is newer than its first look.
      await waitUntil('the write waits', async () => {
        const { rowCount } = await reader.query(
          'select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))',
          [held.rows[0].pid],
        )
        return rowCount
      })
      await revoke?.()
      const { rows: before } = await (revoke ? reader : holder).query(readAll)
      await holder.query(revoke ? 'rollback' : 'commit')
      const answer = await begun
      const { rows: afterwards } = await reader.query(readAll)
      return { answer, before, afterwards }
    } finally {
      await Promise.all([holder.end(), reader.end()])
    }
  }

  async function assertRefused(one: Race): Promise<void> {
    const { answer, before, afterwards } = await race(one)
    assert.equal(answer.status, 403, answer.text)
    assert.equal(answer.body.error.code, 'Authorization_RequestDenied')
    assert.deepEqual(afterwards, before)
  }

  async function administrator(through = role) {
    const id = await directory.user()
    await directory.join(id, through)
    const token = tokenOf({ principal: id, permissions: all, directoryRoles: [userAdministrator] })
    return { id, token }
  }

  async function application(permissions: readonly string[]) {
    const made = await service.database.transaction(async (tx) => {
      const registered = await registerApplication(tx, service.tenantId, { displayName: 'An app' })
      await grantApplicationPermissions(tx, service.tenantId, registered.servicePrincipalId, permissions)
      return registered
    })
    const { servicePrincipalId: principal, appId: applicationId } = made
    return { ...made, token: tokenOf({ kind: 'application', permissions, principal, applicationId }) }
  }

  clause(
    'DIR-340',
    'A directory write that waited for a lock asks again behind it whether the caller may: a right that was revoked…',
    async () => {
      const [{ id, token }, victim] = [await administrator(), await directory.user()]
      await assertRefused({
        token,
        write: ['PATCH', `/users/${victim}`, { jobTitle: 'Boss' }],
        hold: holdObject(victim),
        revoke: () => allow('DELETE', `/directoryRoles/${role}/members/${id}/$ref`),
      })
    },
  )

  test('DIR-340: a write that waited is done where no right was revoked', async () => {
    const [{ token }, victim] = [await administrator(), await directory.user()]
    const write = ['PATCH', `/users/${victim}`, { jobTitle: 'Boss' }] as const
    const { answer } = await race({ token, write, hold: holdObject(victim), revoke: async () => {} })
    assert.equal(answer.status, 204, answer.text)
  })

  for (const [way, path] of Object.entries({
    'the person leaves': (group: string, id: string) => `/groups/${group}/members/${id}/$ref`,
    'the group loses the role': (group: string) => `/directoryRoles/${role}/members/${group}/$ref`,
    'the group is deleted': (group: string) => `/groups/${group}`,
  }))
    test(`DIR-340: a role by way of a group: ${way}`, async () => {
      const group = await directory.group({ isAssignableToRole: true })
      await directory.join(group, role)
      const [{ id, token }, victim] = [await administrator(group), await directory.user()]
      await assertRefused({
        token,
        write: ['DELETE', `/users/${victim}`],
        hold: holdObject(victim),
        revoke: () => allow('DELETE', path(group, id)),
      })
    })

  for (const [what, properties] of Object.entries({
    'a group': {},
    'a group that can hold roles': { isAssignableToRole: true },
  }))
    test(`DIR-340: ownership of ${what}`, async () => {
      const [owner, member] = [await directory.user(), await directory.user()]
      const group = await directory.group(properties)
      await own(owner, group)
      const token = tokenOf({ principal: owner, permissions: all })
      const revoke = () => allow('DELETE', `/groups/${group}/owners/${owner}/$ref`)
      const write = ['POST', `/groups/${group}/members/$ref`, refer(member)] as const
      await assertRefused({ token, write, hold: holdEdge(group, member), revoke })
    })

  test('DIR-340: ownership of a group that carries rights, beside a role over groups', async () => {
    const [{ id, token }, member] = [await administrator(), await directory.user()]
    const group = await directory.group()
    await own(id, group)
    const { sql } = service.database
    await sql`
      insert into role_assignment (id, tenant_id, scope, shown_scope, role, principal_id)
      values (${randomUUID()}, ${service.tenantId}, '/', '/', 'Reader', ${group})`
    await assertRefused({
      token,
      write: ['POST', `/groups/${group}/members/$ref`, refer(member)],
      hold: holdEdge(group, member),
      revoke: () => allow('DELETE', `/groups/${group}/owners/${id}/$ref`),
    })
  })

  test('DIR-340: ownership of a group, by a write that adds another owner', async () => {
    const owner = await directory.user()
    const group = await directory.group()
    const other = await directory.user()
    await own(owner, group)
    const edge = 'insert into masquerade.owner_edge (tenant_id, object_id, owner_id) values ($1, $2, $3)'
    await assertRefused({
      token: tokenOf({ principal: owner, permissions: all }),
      write: ['POST', `/groups/${group}/owners/$ref`, refer(other)],
      hold: [edge, service.tenantId, group, other],
      revoke: () => allow('DELETE', `/groups/${group}/owners/${owner}/$ref`),
    })
  })

  test('DIR-340: ownership of an application', async () => {
    const owner = await directory.user()
    const { applicationId } = await application([])
    await own(owner, applicationId)
    await assertRefused({
      token: tokenOf({ principal: owner, permissions: all }),
      write: ['PATCH', `/applications/${applicationId}`, { description: 'mine' }],
      hold: holdObject(applicationId),
      revoke: () =>
        service.database
          .sql`delete from owner_edge where object_id = ${applicationId} and owner_id = ${owner}`,
    })
  })

  test('DIR-340: an application permission', async () => {
    const permissions = ['GroupMember.ReadWrite.All', 'Group.ReadWrite.All', 'User.ReadWrite.All']
    const { token, servicePrincipalId } = await application(permissions)
    const [group, member] = [await directory.group(), await directory.user()]
    const revoke = () =>
      service.database.transaction((tx) =>
        revokeApplicationPermissions(tx, service.tenantId, servicePrincipalId, permissions.slice(0, 1)),
      )
    const write = ['POST', `/groups/${group}/members/$ref`, refer(member)] as const
    await assertRefused({ token, write, hold: holdObject(member), revoke })
  })

  test('DIR-340: a disabled application', async () => {
    const { token, servicePrincipalId } = await application(['User.ReadWrite.All'])
    const victim = await directory.user()
    await assertRefused({
      token,
      write: ['PATCH', `/users/${victim}`, { jobTitle: 'Boss' }],
      hold: holdObject(victim),
      revoke: () => allow('PATCH', `/servicePrincipals/${servicePrincipalId}`, { accountEnabled: false }),
    })
  })

  test('DIR-340: a consent', async () => {
    const { appId: applicationId, servicePrincipalId } = await application([])
    const { tenantId, database } = service
    const id = await directory.user()
    const consent = { tenantId, servicePrincipalId, userId: id, permissions: ['User.ReadWrite'] }
    await database.transaction((tx) => consentPermissions(tx, consent))
    await assertRefused({
      token: tokenOf({ principal: id, applicationId, permissions: ['User.ReadWrite'] }),
      write: ['PATCH', '/me', { city: 'Ghent' }],
      hold: holdObject(id),
      revoke: () => database.transaction((tx) => withdrawConsent(tx, consent)),
    })
  })

  test('DIR-340: a sign-in', async () => {
    const [id, sid] = [await directory.user(), randomUUID()]
    const { sql } = service.database
    await sql`insert into oidc_state (model, id, payload) values ('Grant', ${sid}, '{}')`
    const claims = service.tokens.claimsFor({ principal: id, permissions: all })
    await assertRefused({
      token: service.tokens.signToken({ ...claims, sid }),
      write: ['PATCH', '/me', { city: 'Ghent' }],
      hold: holdObject(id),
      revoke: () => sql`delete from oidc_state where model = 'Grant' and id = ${sid}`,
    })
  })

  test('DIR-340: the account of a person who writes about themselves', async () => {
    const id = await directory.user()
    const disable = `update masquerade.directory_object
      set properties = properties || '{"accountEnabled": false}' where id = $1`
    await assertRefused({
      token: tokenOf({ principal: id, permissions: all }),
      write: ['PATCH', '/me', { city: 'Ghent' }],
      hold: [disable, id],
    })
  })

  test('DIR-340: rights that the write itself revokes do not count', async () => {
    const [owner, group] = [await directory.user(), await directory.group()]
    await own(owner, group)
    const ofOwner = tokenOf({ principal: owner, permissions: all })
    const leaves = await ask(ofOwner, ['DELETE', `/groups/${group}/owners/${owner}/$ref`])
    assert.equal(leaves.status, 204, leaves.text)
    const privileged = directoryRoleTemplates['Privileged Role Administrator']
    const { id } = await administrator()
    const ofHolder = tokenOf({ principal: id, permissions: all, directoryRoles: [privileged] })
    const resigns = await ask(ofHolder, ['DELETE', `/directoryRoles/${role}/members/${id}/$ref`])
    assert.equal(resigns.status, 204, resigns.text)
    const { id: last, token } = await administrator()
    const deletes = await ask(token, ['PATCH', `/users/${last}`, { jobTitle: 'None' }])
    assert.equal(deletes.status, 204, deletes.text)
    const made = await application(['Application.ReadWrite.All'])
    const ends = await ask(made.token, ['DELETE', `/servicePrincipals/${made.servicePrincipalId}`])
    assert.equal(ends.status, 204, ends.text)
  })

  test('DIR-340: writes that hold every connection do not wait for each other', async () => {
    await using small = await startTestService({ MASQUERADE_DATABASE_POOL_SIZE: '1' })
    const { user, group } = fillDirectory(small)
    const [owner, owned] = [await user(), await group()]
    const { sql } = small.database
    await sql`
      insert into owner_edge (tenant_id, object_id, owner_id) values (${small.tenantId}, ${owned}, ${owner})`
    const token = small.tokenFor({ principal: owner, permissions: all })
    const members = await Promise.all(Array.from({ length: 8 }, () => user()))
    const answers = await Promise.all(
      members.map((id) =>
        small.request('POST', `/v1.0/groups/${owned}/members/$ref`, { token, body: refer(id) }),
      ),
    )
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([204]))
  })

  clause(
    'DIR-352',
    'An open extension of a group takes the right to update the group, when the request is admitted and when it is…',
    async () => {
      const [owner, group] = [await directory.user(), await directory.group()]
      await own(owner, group)
      await directory.join(owner, group)
      const token = tokenOf({ principal: owner, permissions: all })
      const body = {
        '@odata.type': 'microsoft.graph.openTypeExtension',
        extensionName: 'com.example.color',
        color: 'red',
      }
      const path = `/groups/${group}/extensions`
      const revoke = () => service.database.sql`delete from owner_edge where object_id = ${group}`
      await assertRefused({ token, write: ['POST', path, body], hold: holdObject(group), revoke })

      const writer = await directory.user()
      const directoryRoles = [directoryRoleTemplates['Directory Writers']]
      const ofWriter = tokenOf({ principal: writer, permissions: all, directoryRoles })
      const made = await ask(ofWriter, ['POST', path, body])
      assert.equal(made.status, 201, made.text)
      const extension = `${path}/com.example.color`
      for (const write of [
        ['PATCH', extension, { color: 'blue' }],
        ['DELETE', extension],
      ] as const) {
        const answer = await ask(ofWriter, write)
        assert.equal(answer.status, 204, answer.text)
      }
    },
  )

  clause(
    'DIR-345',
    'For each right over one object a write asks again once, however many entities it writes: a conversation…',
    async () => {
      const { database } = service
      const [member, group] = [await directory.user(), await directory.group({ groupTypes: ['Unified'] })]
      await directory.join(member, group)
      const token = tokenOf({ principal: member, permissions: all })
      const post = { body: { contentType: 'text', content: 'x' } }
      const { aside } = database
      /** How often statements before the commit are sent. */
      const countAsked = async (threads: number, posts: number) => {
        let asked = 0
        const count: ProxyHandler<typeof aside> = {
          apply: (sql, self, given) => {
            asked++
            return Reflect.apply(sql, self, given)
          },
        }
        database.aside = new Proxy(aside, count)
        try {
          const thread = { topic: 't', posts: Array(posts).fill(post) }
          const body = { topic: 't', threads: Array(threads).fill(thread) }
          const { status, text } = await ask(token, ['POST', `/groups/${group}/conversations`, body])
          assert.equal(status, 201, text)
          return asked
        } finally {
          database.aside = aside
        }
      }
      const once = await countAsked(1, 1)
      assert.ok(once > 0, 'the service asks')
      assert.equal(await countAsked(4, 5), once)
    },
  )

  test('DIR-340: a person creates a group with members as its first owner', async () => {
    const [id, member] = [await directory.user(), await directory.user()]
    const created = await ask(tokenOf({ principal: id, permissions: all }), [
      'POST',
      '/groups',
      {
        displayName: 'Mine',
        mailEnabled: false,
        mailNickname: `n-${randomUUID()}`,
        securityEnabled: true,
        'members@odata.bind': [refer(member)['@odata.id']],
        'owners@odata.bind': [refer(member)['@odata.id']],
      },
    ])
    assert.equal(created.status, 201, created.text)
  })
})
