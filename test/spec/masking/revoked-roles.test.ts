import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { issueTimeClaim } from '../../../src/auth/issue-time.ts'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import type { Tx } from '../../../src/db/database.ts'
import {
  consentPermissions,
  withdrawConsent,
} from '../../../src/directory/applications/granted-permissions.ts'
import { lockAssignments } from '../../../src/masking/role-assignments/confirm-role.ts'
import { clause } from '../../support/clause.ts'
import { apiVersion, emailRule, policyUrl, ruleUrl, useMasking } from '../../support/masking.ts'
import { waitUntil } from '../../support/wait-until.ts'

const { service, send, putRule, putPolicy } = useMasking()

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

/** Sends a request of an Owner of the server, and revokes a right of theirs while the request waits for what `hold` holds. */
async function race({ hold, revoke }: Revocation, request: (place: Place) => Request) {
  const { database, tokens } = service()
  const place = await makePlace()
  const [method, path, body] = request(place)
  const sid = randomUUID()
  await database.sql`insert into oidc_state (model, id, payload) values ('Grant', ${sid}, '{}')`
  const claims = tokens.claimsFor({ role: 'Owner', scope: place.server })
  // It shares no second with a revocation, as tokens of the issuer.
  const token = tokens.signToken({ ...claims, sid, [issueTimeClaim]: Date.now() })
  const ask = (...[verb, url, sent]: Request) =>
    service().request(verb, url.includes('?') ? url : `${url}?${apiVersion}`, { token, body: sent })
  assert.equal((await ask('GET', place.db)).status, 200)
  const [role] = await database.sql<{ id: string }[]>`
    select id from role_assignment where scope = ${place.server.toLowerCase()}`
  const id = role?.id ?? assert.fail('the caller has no role')
  const before = await readAll(place, id)
  const begun = await database.transaction(async (tx) => {
    await hold(tx, place)
    const answer = ask(method, path, body)
    await waitUntil('the request waits', async () => {
      const waiting = await database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.count > 0
    })
    await revoke(tx, { principalId: String(claims.oid), id, url: rolesUrl(place.server, id), sid })
    return { answer }
  })
  const answer = await begun.answer
  return { answer, before, afterwards: await readAll(place, id) }
}

async function revokeAround(revocation: Revocation, request: (place: Place) => Request): Promise<void> {
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
