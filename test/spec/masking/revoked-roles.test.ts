import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Tx } from '../../../src/db/database.ts'
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

/** Sends a request of an Owner of the server, and revokes that role while the request waits for what `hold` holds. */
async function revokeAround(
  { hold, revoke }: { hold: Hold; revoke: (tx: Tx, url: string, id: string) => Promise<unknown> },
  request: (place: Place) => Request,
): Promise<void> {
  const { database, tokenFor } = service()
  const place = await makePlace()
  const [method, path, body] = request(place)
  const token = tokenFor({ role: 'Owner', scope: place.server })
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
    await revoke(tx, rolesUrl(place.server, id), id)
    return { answer }
  })
  const answer = await begun.answer
  assert.equal(answer.status, 403, answer.text)
  assert.equal(answer.body.error.code, 'AuthorizationFailed')
  assert.deepEqual(await readAll(place, id), before)
}

const revokeByOwner = async (_: Tx, url: string) => assert.equal((await send('DELETE', url)).status, 200)
const atDatabase = { hold: holdDatabase, revoke: revokeByOwner }
const atServer = { hold: holdServer, revoke: revokeByOwner }
const atAssignments = {
  hold: (tx: Tx) => lockAssignments(tx),
  revoke: (tx: Tx, _: string, id: string) => tx`delete from role_assignment where id = ${id}`,
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
