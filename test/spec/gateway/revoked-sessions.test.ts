import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe } from 'node:test'
import type pg from 'pg'
import { clientProofsClaim, exchangedTokensClaim } from '../../../src/auth/token-claims.ts'
import { setPassword } from '../../../src/directory/accounts/password.ts'
import { namePlace } from '../../../src/directory/applications/client-proofs.ts'
import {
  consentPermissions,
  grantApplicationPermissions,
  revokeApplicationPermissions,
  withdrawConsent,
} from '../../../src/directory/applications/granted-permissions.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { addApplication } from '../../support/issuer.ts'
import { bringPeople, ended, endedBy } from '../../support/people.ts'
import { openTokenGateway } from '../../support/token-gateway.ts'
import { issuedNow } from '../../support/tokens.ts'
import { retryUntil, waitUntil } from '../../support/wait-until.ts'

/** Several times the documented time: machines that run tests are busy. */
const patienceMs = 8_000
const read = 'select email from public.customers where id = 1'
const promise =
  'A session ends within two seconds, on every node, when the token that it was opened with is revoked: 57P01. Its…'

describe('sessions whose token is revoked', () => {
  const gateway = useGateway()
  let people: Awaited<ReturnType<typeof bringPeople>>
  let group = ''
  before(async () => {
    people = await bringPeople(gateway)
    group = await people.directory.group()
    await people.map(group)
  })
  const service = () => gateway.masking.service()
  const admin = () =>
    service().tokenFor({
      permissions: ['User.ReadWrite.All', 'Application.ReadWrite.All', 'Directory.ReadWrite.All'],
    })
  const call = async (method: string, path: string, body?: object) => {
    const answer = await service().request(method, path, { token: admin(), body })
    assert.ok(answer.status < 300, answer.text)
  }

  /** A person with an account and a password who comes through an application of their own. */
  async function visitor(claims: () => Record<string, unknown> = () => ({})) {
    const { tenantId, tokens, database } = service()
    const ana = await people.user(group)
    await database.transaction((tx) => setPassword(tx, tenantId, ana.id, `First-${randomUUID()}`))
    const appId = randomUUID()
    const facts = { principal: ana.id, permissions: ['user_impersonation'], applicationId: appId }
    const token = () => tokens.signToken({ ...tokens.claimsFor(facts), ...issuedNow(), ...claims() })
    token()
    await tokens.settled()
    const [client] = await database.sql<{ id: string }[]>`
      select id from directory_object where kind = 'servicePrincipal' and app_id = ${appId}`
    assert.ok(client)
    const { id: applicationId } =
      await database.sql`insert into directory_object (tenant_id, id, kind, properties)
        values (${tenantId}, ${randomUUID()}, 'application', ${database.sql.json({ appId, displayName: 'An app' })})
        returning id`.then(([row]) => row as { id: string })
    return { ...ana, token, appId, clientId: client.id, applicationId }
  }
  type Visitor = Awaited<ReturnType<typeof visitor>>

  const consentOf = (who: Visitor, userId: string | null) => ({
    tenantId: service().tenantId,
    servicePrincipalId: who.clientId,
    userId,
    permissions: ['user_impersonation'],
  })
  const withdraw = (userId: (who: Visitor) => string | null) => async (who: Visitor) => {
    await service().database.transaction((tx) => withdrawConsent(tx, consentOf(who, userId(who))))
  }
  const revocations: Record<string, (who: Visitor) => Promise<unknown>> = {
    'a new password': ({ id }) =>
      service().database.transaction((tx) =>
        setPassword(tx, service().tenantId, id, `Second-${randomUUID()}`),
      ),
    'a withdrawn consent of the person': withdraw(({ id }) => id),
    'a withdrawn consent for everybody': withdraw(() => null),
    'a deleted application': ({ applicationId }) => call('DELETE', `/v1.0/applications/${applicationId}`),
    'a disabled client': ({ clientId }) =>
      call('PATCH', `/v1.0/servicePrincipals/${clientId}`, { accountEnabled: false }),
    'a client made anew': async ({ clientId, appId }) => {
      await call('DELETE', `/v1.0/servicePrincipals/${clientId}`)
      await call('POST', '/v1.0/servicePrincipals', { appId })
    },
  }

  clause('GATE-113', promise, async () => {
    const bystander = await visitor()
    const other = await people.connect(bystander.name, bystander.token())
    const open = await Promise.all(
      Object.entries(revocations).map(async ([what, revoke]) => {
        const who = await visitor()
        for (const userId of what.includes('consent') ? [who.id, null] : [])
          await service().database.transaction((tx) => consentPermissions(tx, consentOf(who, userId)))
        const token = who.token()
        const client = await people.connect(who.name, token)
        return { what, revoke, who, token, client }
      }),
    )
    await Promise.all(
      open.map(async ({ what, revoke, who, token, client }) => {
        assert.equal(await endedBy(client, patienceMs, () => revoke(who)), '57P01', what)
        await assert.rejects(people.connect(who.name, token), { code: '28P01' }, what)
      }),
    )
    assert.equal((await other.query(read)).rows.length, 1, 'sessions by other tokens go on')
    const [first] = open
    assert.ok(first)
    const again = await people.connect(first.who.name, first.who.token())
    assert.equal((await again.query(read)).rows.length, 1, 'a new token opens a session')
  })

  clause(
    'GATE-299',
    'A session by an exchanged token ends by GATE-113 also with the client of each token on its way (TOK-160).',
    async () => {
      const [first, second] = [await visitor(), await visitor()]
      const who = await visitor(() => {
        const passed = [first, second].map(({ appId: appid }) => ({ appid, ...issuedNow() }))
        return { [exchangedTokensClaim]: passed }
      })
      const disable = ({ clientId }: Visitor) =>
        call('PATCH', `/v1.0/servicePrincipals/${clientId}`, { accountEnabled: false })
      const token = who.token()
      const client = await people.connect(who.name, token)
      assert.equal(await endedBy(client, patienceMs, () => disable(second)), '57P01')
      await assert.rejects(people.connect(who.name, token), { code: '28P01' })
    },
  )

  clause(
    'TOK-178',
    'An access token of a person through a client that requires assignments (DIR-273) ends with the last assignment of the person: …',
    async () => {
      const [who, bystander] = [await visitor(), await visitor()]
      const { sql } = service().database
      await sql`
        insert into app_role_assignment (tenant_id, principal_id, resource_id, app_role_id)
        values (${service().tenantId}, ${who.id}, ${who.clientId}, ${randomUUID()})`
      await call('PATCH', `/v1.0/servicePrincipals/${who.clientId}`, { appRoleAssignmentRequired: true })
      const [token, theirs] = [who.token(), bystander.token()]
      const [client, other] = [
        await people.connect(who.name, token),
        await people.connect(bystander.name, theirs),
      ]
      const remove = () => sql`delete from app_role_assignment where resource_id = ${who.clientId}`
      assert.equal(await endedBy(client, patienceMs, remove), '57P01')
      await assert.rejects(people.connect(who.name, token), { code: '28P01' })
      assert.equal((await other.query(read)).rows.length, 1, 'through another client')
    },
  )

  clause(
    'GATE-300',
    'A session ends by GATE-113 also with the address that the sign-in of its token was answered at (TOK-162).',
    async () => {
      const [kept, evil] = ['https://client.example/callback', 'https://evil.example/take']
      const properties = { spa: { redirectUris: [kept, evil] } }
      const { applicationId } = await addApplication(service(), { properties })
      const at = (address: string) =>
        visitor(() => ({ [clientProofsClaim]: [`${applicationId}/${namePlace(address)}`] }))
      const [here, there] = [await at(kept), await at(evil)]
      const other = await people.connect(here.name, here.token())
      const token = there.token()
      const client = await people.connect(there.name, token)
      const remove = () =>
        call('PATCH', `/v1.0/applications/${applicationId}`, { spa: { redirectUris: [kept] } })
      assert.equal(await endedBy(client, patienceMs, remove), '57P01')
      await assert.rejects(people.connect(there.name, token), { code: '28P01' })
      assert.equal((await other.query(read)).rows.length, 1, 'by the other address')
      // A confidential client is not answered at addresses of native ones (TOK-164).
      const native = 'http://localhost/done'
      const patch = (body: object) => call('PATCH', `/v1.0/applications/${applicationId}`, body)
      await patch({ publicClient: { redirectUris: [native] } })
      const app = await at(native)
      const session = await people.connect(app.name, app.token())
      const web = { redirectUris: ['https://client.example/web'] }
      assert.equal(await endedBy(session, patienceMs, () => patch({ web })), '57P01')
      assert.equal((await other.query(read)).rows.length, 1, 'by an address of a single page')
    },
  )

  // The sign-in that a token came from, the application's own permission, and an expired token.
  clause('GATE-113', promise, async () => {
    const { database, tenantId, tokens } = service()
    const sid = randomUUID()
    await database.sql`insert into oidc_state (model, id, payload) values ('Grant', ${sid}, '{}')`
    const signedIn = await visitor(() => ({ sid }))
    const session = await people.connect(signedIn.name, signedIn.token())
    const expiring = await visitor(() => {
      // Three seconds before the end of the leeway.
      const exp = Math.floor(Date.now() / 1000) - 27
      return { exp, nbf: exp - 60, iat: exp - 60 }
    })
    // On a busy machine a login may take longer than the token lasts: then it is tried with another one.
    let old = ''
    const lasting = await retryUntil(
      () => {
        old = expiring.token()
        return people.connect(expiring.name, old)
      },
      (error) => /expired/.test(String(error)),
    )

    const appId = randomUUID()
    tokens.tokenFor({ applicationId: appId })
    await tokens.settled()
    const [job] = await database.sql<{ id: string }[]>`
      select id from directory_object where kind = 'servicePrincipal' and app_id = ${appId}`
    assert.ok(job)
    await people.map(job.id)
    const permissions = ['User.Read.All']
    await database.transaction((tx) => grantApplicationPermissions(tx, tenantId, job.id, permissions))
    const claims = tokens.claimsFor({
      kind: 'application',
      principal: job.id,
      applicationId: appId,
      permissions,
    })
    const application = await people.connect(appId, tokens.signToken({ ...claims, ...issuedNow() }))

    const ends = [
      endedBy(session, patienceMs, async () => {
        await database.sql`delete from oidc_state where model = 'Grant' and id = ${sid}`
      }),
      endedBy(application, patienceMs, () =>
        database.transaction((tx) => revokeApplicationPermissions(tx, tenantId, job.id, permissions)),
      ),
    ]
    assert.deepEqual(await Promise.all(ends), ['57P01', '57P01'])
    await assert.rejects(
      waitUntil('the token is expired', () =>
        people.connect(expiring.name, old).then((client) => client.end()),
      ),
      { code: '28P01', message: /expired/ },
    )
    assert.equal((await lasting.query(read)).rows.length, 1, 'expiry alone does not end a session')
  })

  // A backend at work does not notice that its client is gone, and this block outlives cancelled statements.
  clause('GATE-113', promise, async () => {
    const { database, tenantId } = service()
    const ana = await visitor()
    const client = await people.connect(ana.name, ana.token())
    const pid = await readPid(client)
    const busy = client
      .query(
        `do $$ begin loop begin perform pg_sleep(60); exception when query_canceled then null; end; end loop; end $$`,
      )
      .catch(() => {})
    const { sql } = gateway.masked().database
    const isBusy = async () =>
      (await sql`select 1 from pg_stat_activity where pid = ${pid} and state = 'active'`).length > 0
    await waitUntil('the block runs', isBusy)
    await endedBy(client, patienceMs, () =>
      database.transaction((tx) => setPassword(tx, tenantId, ana.id, `Second-${randomUUID()}`)),
    )
    await busy
    await waitUntil('the backend is gone', async () => !(await isBusy()))
  })

  // The token was good when it was checked, and is revoked before the session begins; in workers as without.
  for (const workers of [1, 2])
    clause('GATE-113', promise, async (t) => {
      let isRevoked = true
      const refusals: string[] = []
      const { asPerson } = await openTokenGateway(t, gateway, {
        workers,
        ports: {
          findRevoked: async (tokens) => tokens.map(() => isRevoked),
          // A database that does not answer keeps no other session.
          endBackends: () => new Promise(() => {}),
          recordRefusal: async ({ reason }) => void refusals.push(reason),
        },
      })
      await assert.rejects(asPerson(), { code: '28P01' })
      assert.match(refusals.join(), /not a valid access token/)
      for (const round of ['first', 'second']) {
        isRevoked = false
        const client = await asPerson()
        const end = ended(client, patienceMs)
        isRevoked = true
        assert.equal(await end, '57P01', round)
      }
    })

  async function readPid(client: pg.Client): Promise<number> {
    return (await client.query('select pg_backend_pid() as pid')).rows[0].pid
  }
})
