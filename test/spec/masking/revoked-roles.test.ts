import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { lockRightsToRead } from '../../../src/auth/rights-lock.ts'
import { lockUntilCommit } from '../../../src/db/advisory-locks.ts'
import type { Tx } from '../../../src/db/database.ts'
import {
  consentPermissions,
  withdrawConsent,
} from '../../../src/directory/applications/granted-permissions.ts'
import { lockAssignments } from '../../../src/masking/role-assignments/confirm-role.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { apiVersion, emailRule, policyUrl, ruleUrl, useMasking } from '../../support/masking.ts'
import { issuedNow } from '../../support/tokens.ts'
import { waitUntil } from '../../support/wait-until.ts'

const { service, send, putRule, putPolicy, bindReached } = useMasking()

interface Place {
  readonly server: string
  readonly db: string
  /** A role of another principal at the database. */
  readonly assignment: string
}
type Hold = (tx: Tx, place: Place) => Promise<unknown>
type Request = readonly [method: string, path: string, body?: unknown]

const rolesUrl = (scope: string, id: string) =>
  `${scope}/providers/Vendor.Authorization/roleAssignments/${id}`
const holdDatabase: Hold = (tx, { db }) =>
  tx`select from masked_database where key = ${db.toLowerCase()} for update`
const holdServer: Hold = (tx, { server }) =>
  tx`select from server where key = ${server.toLowerCase()} for update`

async function makePlace(): Promise<Place> {
  const server = `/subscriptions/sub-1/resourceGroups/Group-1/providers/Vendor.Sql/servers/${randomUUID()}`
  const db = `${server}/databases/Shop`
  await send('PUT', server, {})
  await send('PUT', db, {})
  await putRule(db, 'r', emailRule)
  await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: 'auditor' })
  const principalId = service().tokens.shared.user
  await send('PUT', `${db}/roleMappings/m`, { properties: { principalId, databaseRole: 'payroll' } })
  const assignment = randomUUID()
  const role = { properties: { principalId, roleName: 'Reader' } }
  assert.equal((await send('PUT', rolesUrl(db, assignment), role)).status, 201)
  return { server, db, assignment }
}

/** Everything that a request could change. */
async function readAll({ server, db }: Place, revoked: string): Promise<unknown> {
  const { sql } = service().database
  return await sql`
    select (select jsonb_agg(to_jsonb(s)) from server s where key = ${server.toLowerCase()}) as servers,
      (select jsonb_agg(to_jsonb(d)) from masked_database d where key = ${db.toLowerCase()}) as databases,
      (select jsonb_agg(to_jsonb(r) order by database_id, key) from masking_rule r) as rules,
      (select jsonb_agg(to_jsonb(m) order by database_id, key) from role_mapping m) as mappings,
      (select jsonb_agg(to_jsonb(t)) from suspension t) as suspensions,
      (select jsonb_agg(to_jsonb(a) order by id) from role_assignment a where id <> ${revoked}) as assignments`
}

/** An Owner of the server. */
interface Holder {
  readonly principalId: string
  /** The role assignment. */
  readonly id: string
  readonly url: string
  /** The sign-in of the token. */
  readonly sid: string
}
interface Revocation {
  readonly hold: Hold
  readonly revoke: (tx: Tx, holder: Holder) => Promise<unknown>
}

const waitForWaiting = (count: number) =>
  waitUntil('the requests wait', async () => {
    const waiting = await service().database.sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return waiting.count >= count
  })

/** Sends a request of an Owner of the server, and revokes a right of theirs while the request waits for what `hold` holds. */
async function race({ hold, revoke }: Revocation, request: (place: Place) => Request | Promise<Request>) {
  const { database, tokens } = service()
  const place = await makePlace()
  const [method, path, body] = await request(place)
  const sid = randomUUID()
  await database.sql`insert into oidc_state (model, id, payload) values ('Grant', ${sid}, '{}')`
  const claims = tokens.claimsFor({ role: 'Owner', scope: place.server })
  // It shares no second with a revocation, as tokens of the issuer.
  const token = tokens.signToken({ ...claims, sid, ...issuedNow() })
  const ask = (...[verb, url, sent]: Request) =>
    service().request(verb, url.includes('?') ? url : `${url}?${apiVersion}`, { token, body: sent })
  assert.equal((await ask('GET', place.server)).status, 200)
  const [role] = await database.sql<{ id: string }[]>`
    select id from role_assignment where scope = ${place.server.toLowerCase()}`
  const id = role?.id ?? assert.fail('the caller has no role')
  const before = await readAll(place, id)
  const begun = await database.transaction(async (tx) => {
    await hold(tx, place)
    const answer = ask(method, path, body)
    await waitForWaiting(1)
    await revoke(tx, { principalId: String(claims.oid), id, url: rolesUrl(place.server, id), sid })
    return { answer }
  })
  const answer = await begun.answer
  return { answer, before, afterwards: await readAll(place, id) }
}

async function revokeAround(
  revocation: Revocation,
  request: (place: Place) => Request | Promise<Request>,
): Promise<void> {
  const { answer, before, afterwards } = await race(revocation, request)
  assert.equal(answer.status, 403, answer.text)
  assert.equal(answer.body.error.code, 'AuthorizationFailed')
  assert.deepEqual(afterwards, before)
}

const revokeByOwner = async (_: Tx, { url }: Holder) => assert.equal((await send('DELETE', url)).status, 200)
const atDatabase = { hold: holdDatabase, revoke: revokeByOwner }
const atServer = { hold: holdServer, revoke: revokeByOwner }
const atAssignments = {
  hold: (tx: Tx) => lockAssignments(tx),
  revoke: (tx: Tx, { id }: Holder) => tx`delete from role_assignment where id = ${id}`,
}

clause('MASK-227', 'A write counts the roles of its caller again when it has its locks: one that…', () =>
  revokeAround(atDatabase, ({ db }) => [
    'PUT',
    policyUrl(db),
    { properties: { dataMaskingState: 'Enabled', exemptPrincipals: 'eve' } },
  ]),
)

const own = 'api-version=2026-11-01'
const writes: Readonly<Record<string, (place: Place) => Request>> = {
  'a rule': ({ db }) => ['PUT', ruleUrl(db, 'r'), { properties: { ...emailRule, columnName: 'other' } }],
  'the end of a rule': ({ db }) => ['DELETE', ruleUrl(db, 'r')],
  'a mapping': ({ db }) => [
    'PUT',
    `${db}/roleMappings/n`,
    { properties: { principalId: service().tokens.shared.user, databaseRole: 'ledger' } },
  ],
  'the end of a mapping': ({ db }) => ['DELETE', `${db}/roleMappings/m`],
  'a document': ({ db }) => ['PUT', `${policyUrl(db)}/document?${own}`, { properties: { rules: [] } }],
  'a database': ({ db }) => ['PUT', db, { tags: { team: 'eve' } }],
  'the end of a database': ({ db }) => ['DELETE', db],
  'a suspension': ({ db }) => [
    'POST',
    `${policyUrl(db)}/suspend`,
    { schemaName: 'public', tableName: 'person' },
  ],
  'a restoration': ({ db }) => ['POST', `${db}/restore?${own}`],
}
for (const [what, request] of Object.entries(writes))
  test(`MASK-227: ${what} is refused after the wait for the database`, () =>
    revokeAround(atDatabase, request))

test('MASK-227: a server and its end are refused after the wait for the server', async () => {
  await revokeAround(atServer, ({ server }) => ['PUT', server, { tags: { team: 'eve' } }])
  await revokeAround(atServer, ({ server }) => ['DELETE', server])
})

test('MASK-227: a role assignment and its end are refused after the wait for another', async () => {
  const properties = { principalId: service().tokens.shared.user, roleName: 'Owner' }
  await revokeAround(atAssignments, ({ db }) => ['PUT', rolesUrl(db, randomUUID()), { properties }])
  await revokeAround(atAssignments, ({ db, assignment }) => ['DELETE', rolesUrl(db, assignment)])
})

/** By an application that may do everything in the directory. */
async function administer(method: string, path: string, body?: unknown): Promise<void> {
  const token = service().tokenFor({ kind: 'application', permissions: Object.keys(knownPermissions) })
  const answer = await service().request(method, `/v1.0${path}`, {
    token,
    ...(body !== undefined && { body }),
  })
  assert.ok(answer.status < 300, answer.text)
}

const disable: Revocation['revoke'] = (_, { principalId }) =>
  administer('PATCH', `/users/${principalId}`, { accountEnabled: false })

clause(
  'MASK-236',
  'A write that waited for a lock asks again behind it whether the token of its caller stands. …',
  () =>
    revokeAround({ hold: holdDatabase, revoke: disable }, ({ db }) => [
      'PUT',
      policyUrl(db),
      { properties: { dataMaskingState: 'Enabled', exemptPrincipals: 'eve' } },
    ]),
)

for (const [what, request] of Object.entries(writes))
  test(`MASK-236: ${what} of a disabled account is refused after the wait for the database`, () =>
    revokeAround({ hold: holdDatabase, revoke: disable }, request))

test('MASK-236: servers and role assignments of a disabled account are refused', async () => {
  const properties = { principalId: service().tokens.shared.user, roleName: 'Owner' }
  const [ofServer, ofAssignment] = [holdServer, atAssignments.hold].map((hold) => ({ hold, revoke: disable }))
  assert.ok(ofServer && ofAssignment)
  await revokeAround(ofServer, ({ server }) => ['PUT', server, { tags: { team: 'eve' } }])
  await revokeAround(ofAssignment, ({ db }) => ['PUT', rolesUrl(db, randomUUID()), { properties }])
  await revokeAround(ofAssignment, ({ db, assignment }) => ['DELETE', rolesUrl(db, assignment)])
})

const revocations: Readonly<Record<string, Revocation['revoke']>> = {
  'the account was deleted': (_, { principalId }) => administer('DELETE', `/users/${principalId}`),
  'all sign-ins were revoked': (_, { principalId }) =>
    administer('POST', `/users/${principalId}/revokeSignInSessions`),
  'the sign-in was ended': (_, { sid }) =>
    service().database.sql`delete from oidc_state where model = 'Grant' and id = ${sid}`,
  'the consent was withdrawn': async (_, { principalId: userId }) => {
    const { database, tenantId, tokens } = service()
    const { servicePrincipal: servicePrincipalId } = tokens.shared
    const consent = { tenantId, servicePrincipalId, userId, permissions: ['user_impersonation'] }
    await database.transaction((tx) => consentPermissions(tx, consent))
    await database.transaction((tx) => withdrawConsent(tx, consent))
  },
}
for (const [why, revoke] of Object.entries(revocations))
  test(`MASK-236: a rule is refused where ${why}`, () =>
    revokeAround({ hold: holdDatabase, revoke }, ({ db }) => [
      'PUT',
      ruleUrl(db, 'r'),
      { properties: { ...emailRule, columnName: 'other' } },
    ]))

test('MASK-236: a write that waited is done where the token stands', async () => {
  const { answer } = await race({ hold: holdDatabase, revoke: async () => {} }, ({ db }) => [
    'PUT',
    db,
    { tags: { team: 'eve' } },
  ])
  assert.equal(answer.status, 200, answer.text)
})

const atRights = { hold: (tx: Tx) => lockRightsToRead(tx), revoke: revokeByOwner }
const atBindings = { hold: (tx: Tx) => lockUntilCommit(tx, 'bindings'), revoke: revokeByOwner }
/** The last wait of each write. */
const atAudit: Revocation = {
  hold: (tx) => tx`lock table audit_event in share mode`,
  revoke: atAssignments.revoke,
}
const binding = { host: '127.0.0.1', port: 1, database: 'evil', user: 'u', password: 'p', sslmode: 'disable' }

const lateWrites: Readonly<
  Record<string, readonly [Revocation, (place: Place) => Request | Promise<Request>]>
> = {
  'a policy behind rights that are given': [
    atRights,
    ({ db }) => [
      'PUT',
      policyUrl(db),
      { properties: { dataMaskingState: 'Enabled', exemptPrincipals: 'auditor;eve' } },
    ],
  ],
  'a document behind rights that are given': [
    atRights,
    ({ db }) => [
      'PUT',
      `${policyUrl(db)}/document?${own}`,
      { properties: { policy: { dataMaskingState: 'Enabled', exemptPrincipals: ['eve'] }, rules: [] } },
    ],
  ],
  'a mapping behind rights that are given': [atRights, writes['a mapping'] ?? assert.fail()],
  'a binding behind another': [atBindings, ({ db }) => ['PUT', `${db}?${own}`, { properties: { binding } }]],
  'the end of a database behind that of the role': [
    atAssignments,
    writes['the end of a database'] ?? assert.fail(),
  ],
  'the end of a server behind that of the role': [
    atAssignments,
    async ({ server, db }) => {
      assert.equal((await send('DELETE', db)).status, 200)
      return ['DELETE', server]
    },
  ],
}

clause(
  'MASK-245',
  'A write counts the roles of its caller once more before it commits, whichever lock it waited for: …',
  async (t) => {
    for (const [what, [revocation, request]] of Object.entries(lateWrites))
      await t.test(what, () => revokeAround(revocation, request))
    const properties = { principalId: service().tokens.shared.user, roleName: 'Owner' }
    // The restoration of a database that is not bound writes nothing.
    const { 'a restoration': _, ...waiting } = writes
    const others: typeof writes = {
      'a server': ({ server }) => ['PUT', server, { tags: { team: 'eve' } }],
      'a role assignment': ({ db }) => ['PUT', rolesUrl(db, randomUUID()), { properties }],
      'the end of a role assignment': ({ db, assignment }) => ['DELETE', rolesUrl(db, assignment)],
    }
    for (const [what, request] of Object.entries({ ...waiting, ...others }))
      await t.test(`${what} behind the last lock`, () => revokeAround(atAudit, request))
  },
)

test('MASK-245: a member who leaves the group of Owners gets no role of their own behind it', async () => {
  const { database, tokens } = service()
  const { server } = await makePlace()
  const [group, member] = [await fillDirectory(service()).group(), await fillDirectory(service()).user()]
  const give = (principalId: string): Request => [
    'PUT',
    rolesUrl(server, randomUUID()),
    { properties: { principalId, roleName: 'Owner' } },
  ]
  assert.equal((await send(...give(group))).status, 201)
  await fillDirectory(service()).join(member, group)
  const token = tokens.tokenFor({ principal: member, permissions: ['user_impersonation'] })
  const begun = await database.transaction(async (tx) => {
    // The removal holds the lock of rights until it commits, and waits for the counter then.
    await tx`select from revision_counter for update`
    const removal = administer('DELETE', `/groups/${group}/members/${member}/$ref`)
    await waitForWaiting(1)
    const [method, path, body] = give(member)
    const answer = service().request(method, `${path}?${apiVersion}`, { token, body })
    await waitForWaiting(2)
    return { removal, answer }
  })
  await begun.removal
  const answer = await begun.answer
  assert.equal(answer.status, 403, answer.text)
  const rows = await database.sql`select from role_assignment where principal_id = ${member}`
  assert.equal(rows.count, 0)
})

test('MASK-245: Owners end their own role, and the database that it is at', async () => {
  for (const what of ['role', 'database'] as const) {
    const { db } = await makePlace()
    const token = service().tokenFor({ role: 'Owner', scope: db })
    await service().tokens.settled()
    const [role] = await service().database.sql<{ id: string }[]>`
      select id from role_assignment where scope = ${db.toLowerCase()} and role = 'Owner'`
    const url = what === 'role' ? rolesUrl(db, role?.id ?? '') : db
    const answer = await service().request('DELETE', `${url}?${apiVersion}`, { token })
    assert.equal(answer.status, 200, answer.text)
  }
})

clause(
  'MASK-246',
  'A right at another scope that a write relies on counts once more in the same way: that to the database…',
  async (t) => {
    const { database, tenantId, tokens } = service()
    /** Sends a request, and deletes the role at the other scope while the request waits. */
    const revokeOther = async (scope: string, token: string, [method, path, body]: Request) => {
      const begun = await database.transaction(async (tx) => {
        await atAudit.hold(tx, { server: '', db: '', assignment: '' })
        const answer = service().request(method, path, { token, ...(body !== undefined && { body }) })
        await waitForWaiting(1)
        const { oid } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
        const gone = await tx`delete from role_assignment where scope = ${scope} and principal_id = ${oid}`
        assert.equal(gone.count, 1)
        return { answer }
      })
      const answer = await begun.answer
      assert.equal(answer.status, 403, answer.text)
      assert.equal(answer.body.error.code, 'AuthorizationFailed')
    }
    await t.test('a name of another database at the gateway', async () => {
      const [{ server, db }, other] = [await makePlace(), await makePlace()]
      await bindReached(db)
      const [held] = await database.sql<{ name: string }[]>`
        update masked_database set binding = binding || ${database.sql.json(binding)}
        where key = ${db.toLowerCase()} returning name`
      assert.equal(held?.name, 'Shop')
      await database.sql`
        insert into gateway_name (tenant_id, name, key) values (${tenantId}, 'shop', ${other.db.toLowerCase()})
        on conflict (tenant_id, name) do update set key = excluded.key`
      const token = service().tokenFor({ role: 'Contributor', scope: server })
      const principalId = String(
        JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).oid,
      )
      const role = { properties: { principalId, roleName: 'Contributor' } }
      assert.equal((await send('PUT', rolesUrl(other.server, randomUUID()), role)).status, 201)
      await revokeOther(other.server.toLowerCase(), token, [
        'PUT',
        `${db}?${own}`,
        { properties: { binding } },
      ])
      const [name] = await database.sql<{ key: string }[]>`select key from gateway_name where name = 'shop'`
      assert.equal(name?.key, other.db.toLowerCase())
    })
    await t.test('a credential of another principal', async () => {
      const principalId = tokens.shared.user
      const [made] = await database.sql<{ id: string }[]>`
        insert into database_credential (tenant_id, principal_id, name, verifier, databases, expires_at)
        values (${tenantId}, ${principalId}, ${randomUUID()}, 'v', '{}', now() + interval '1 day') returning id`
      const token = service().tokenFor({ role: 'Owner', scope: '/' })
      const path = `/providers/Vendor.Sql/databaseCredentials/${made?.id}?${own}`
      await revokeOther('/', token, ['DELETE', path])
      const kept = await database.sql`select from database_credential where id = ${made?.id ?? null}`
      assert.equal(kept.count, 1)
    })
  },
)
