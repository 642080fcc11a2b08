import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { Tx } from '../../../src/db/database.ts'
import { setPassword } from '../../../src/directory/accounts/password.ts'
import { voidTokens } from '../../../src/directory/accounts/standing.ts'
import { addSecret } from '../../../src/directory/applications/application-secret.ts'
import {
  consentPermissions,
  grantApplicationPermissions,
  revokeApplicationPermissions,
  withdrawConsent,
} from '../../../src/directory/applications/granted-permissions.ts'
import { type Registration, registerApplication } from '../../../src/directory/applications/registrations.ts'
import { issueOperatorToken } from '../../../src/issuer/operator-token.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { addApplication, claimsOf } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { globalAdministrator } from '../../support/tokens.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('what a token rests on can be taken away', () => {
  let service: TestService
  let directory: TestDirectory
  before(async () => {
    service = await startTestService({ MASQUERADE_TOKEN_CHECK_SECONDS: '1' })
    directory = fillDirectory(service)
  })
  after(() => service[Symbol.asyncDispose]())

  const statusOf = async (token: string) =>
    (await service.request('GET', '/v1.0/users?$top=1', { token })).status
  const userToken = (principal: string, applicationId?: string) =>
    service.tokenFor({ permissions: ['User.Read.All'], principal, ...(applicationId && { applicationId }) })
  const applicationToken = ({ servicePrincipalId, appId }: Registration) =>
    service.tokenFor({
      kind: 'application',
      permissions: ['User.Read.All'],
      principal: servicePrincipalId,
      applicationId: appId,
    })
  const register = () =>
    service.database.transaction((tx) => registerApplication(tx, service.tenantId, { displayName: 'An app' }))
  const asAdministrator = () =>
    service.tokenFor({
      permissions: ['User.ReadWrite.All', 'Application.ReadWrite.All', 'Directory.ReadWrite.All'],
    })

  /** Tells times in whole seconds, as tokens do. */
  const nextSecond = () => {
    const now = Math.floor(Date.now() / 1000)
    return waitUntil('the next second', () => Date.now() / 1000 >= now + 1)
  }

  async function assertShutOut(token: string, takeAway: () => Promise<unknown>) {
    assert.equal(await statusOf(token), 200)
    const bystander = userToken(await directory.user())
    await nextSecond()
    await takeAway()
    await waitUntil('the token is refused', async () => (await statusOf(token)) === 401)
    assert.equal(await statusOf(bystander), 200, 'nobody else is touched')
  }

  /** The service follows changes in their order: when a later one has shut out its tokens, earlier ones are through. */
  async function assertStillIn(token: string) {
    const later = await directory.user()
    await assertShutOut(userToken(later), () => voidTokens(service.database.sql, service.tenantId, later))
    assert.equal(await statusOf(token), 200)
  }

  test('a disabled user', async () => {
    const user = await directory.user()
    await assertShutOut(userToken(user), () =>
      service.request('PATCH', `/v1.0/users/${user}`, {
        token: asAdministrator(),
        body: { accountEnabled: false },
      }),
    )
  })

  /** Sends all of a request but the end of its body, and returns how to send that. */
  async function sendHalf(method: string, path: string, token: string, body: object) {
    const text = JSON.stringify(body)
    const outgoing = request(`${service.origin}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      },
    })
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
    outgoing.write(text.slice(0, 5))
    await waitUntil('the half is sent', () => (outgoing.socket?.bytesWritten ?? 0) > 0)
    // By the time later requests are answered, this one has been admitted.
    for (let turn = 0; turn < 3; turn++) await service.request('GET', '/v1.0/users?$top=1', { token })
    const sentAt = performance.now()
    return async () => {
      await waitUntil('the body is late', () => performance.now() - sentAt > 50)
      outgoing.end(text.slice(5))
      const [response] = await answered
      response.resume()
      return response.statusCode
    }
  }

  clause(
    'TOK-82',
    'A request is held to what its caller may do when its body has come: a body that is sent slowly does not outlive…',
    async () => {
      const token = service.tokenFor({
        role: 'Owner',
        permissions: ['User.ReadWrite.All', 'User.Read.All'],
        directoryRoles: globalAdministrator,
      })
      const person = String(claimsOf(token).oid)
      await service.tokens.settled()
      const database = '/subscriptions/slow/resourceGroups/g/providers/Vendor.Sql/servers/s/databases/d'
      const policy = `${database}/dataMaskingPolicies/Default?api-version=2014-04-01`
      const enabled = { properties: { dataMaskingState: 'Enabled', exemptPrincipals: 'me' } }
      const finishEarly = await sendHalf('PUT', policy, token, enabled)
      assert.equal(await finishEarly(), 200, 'a slow body by itself is no fault')
      const finishPolicy = await sendHalf('PUT', policy, token, enabled)
      await service.database.sql`delete from role_assignment where principal_id = ${person}`
      await waitUntil(
        'the role is gone',
        async () => (await service.request('GET', policy, { token })).status === 403,
      )
      assert.equal(await finishPolicy(), 403)
      const finishUser = await sendHalf('PATCH', `/v1.0/users/${person}`, token, { officeLocation: 'late' })
      const body = { accountEnabled: false }
      await service.request('PATCH', `/v1.0/users/${person}`, { token: asAdministrator(), body })
      await waitUntil('the token is refused', async () => (await statusOf(token)) === 401)
      assert.equal(await finishUser(), 401)
    },
  )

  test('a deleted user', async () => {
    const user = await directory.user()
    await assertShutOut(userToken(user), () =>
      service.request('DELETE', `/v1.0/users/${user}`, { token: asAdministrator() }),
    )
  })

  test('a user with another password, and back in with a new token', async () => {
    const user = await directory.user()
    const set = (password: string) =>
      service.database.transaction((tx) => setPassword(tx, service.tenantId, user, password))
    await set(`First-${randomUUID()}`)
    await assertShutOut(userToken(user), () => set(`Second-${randomUUID()}`))
    assert.equal(await statusOf(userToken(user)), 200)
  })

  clause(
    'TOK-93',
    'The first password of a person ends the tokens that were issued to them before it, like every…',
    async () => {
      const user = await directory.user()
      await assertShutOut(userToken(user), () =>
        service.database.transaction((tx) =>
          setPassword(tx, service.tenantId, user, `First-${randomUUID()}`),
        ),
      )
      assert.equal(await statusOf(userToken(user)), 200)
    },
  )

  test('a deleted application, for itself and for people through it', async () => {
    const application = await register()
    const person = userToken(await directory.user(), application.appId)
    await assertShutOut(applicationToken(application), () =>
      service.request('DELETE', `/v1.0/applications/${application.applicationId}`, {
        token: asAdministrator(),
      }),
    )
    assert.equal(await statusOf(person), 401)
  })

  clause(
    'TOK-83',
    'A service principal that was made anew takes no tokens that were issued before: those that were revoked stay so.',
    async () => {
      const application = await register()
      await nextSecond()
      const person = userToken(await directory.user(), application.appId)
      const token = asAdministrator()
      await assertShutOut(person, () =>
        voidTokens(service.database.sql, service.tenantId, application.servicePrincipalId),
      )
      const old = await service.request(
        'DELETE',
        `/v1.0/servicePrincipals/${application.servicePrincipalId}`,
        { token },
      )
      assert.equal(old.status, 204)
      const body = { appId: application.appId }
      assert.equal((await service.request('POST', '/v1.0/servicePrincipals', { token, body })).status, 201)
      const later = await directory.user()
      await assertShutOut(userToken(later), () => voidTokens(service.database.sql, service.tenantId, later))
      assert.equal(await statusOf(person), 401)
      await nextSecond()
      assert.equal(
        await statusOf(userToken(await directory.user(), application.appId)),
        200,
        'new ones are taken',
      )
    },
  )

  test('a disabled service principal', async () => {
    const application = await register()
    await assertShutOut(applicationToken(application), () =>
      service.request('PATCH', `/v1.0/servicePrincipals/${application.servicePrincipalId}`, {
        token: asAdministrator(),
        body: { accountEnabled: false },
      }),
    )
  })

  test('a withdrawn application permission', async () => {
    const application = await register()
    const { servicePrincipalId } = application
    const permissions = ['User.Read.All']
    await service.database.transaction((tx) =>
      grantApplicationPermissions(tx, service.tenantId, servicePrincipalId, permissions),
    )
    await assertShutOut(applicationToken(application), () =>
      service.database.transaction((tx) =>
        revokeApplicationPermissions(tx, service.tenantId, servicePrincipalId, permissions),
      ),
    )
  })

  for (const forAll of [false, true])
    test(`a consent withdrawn ${forAll ? 'for everybody' : 'by one person'}`, async () => {
      const application = await register()
      const [user, other] = [await directory.user(), await directory.user()]
      const consent = {
        tenantId: service.tenantId,
        servicePrincipalId: application.servicePrincipalId,
        userId: forAll ? null : user,
        permissions: ['User.Read.All'],
      }
      await service.database.transaction((tx) => consentPermissions(tx, consent))
      const elsewhere = userToken(user)
      const others = userToken(other, application.appId)
      await assertShutOut(userToken(user, application.appId), () =>
        service.database.transaction((tx) => withdrawConsent(tx, consent)),
      )
      assert.equal(await statusOf(elsewhere), 200, 'through another client')
      assert.equal(await statusOf(others), forAll ? 401 : 200, 'of another person')
    })

  const manageRoles = () =>
    service.tokenFor({
      kind: 'application',
      permissions: [
        'RoleManagement.ReadWrite.Directory',
        'GroupMember.ReadWrite.All',
        'Group.ReadWrite.All',
        'User.ReadWrite.All',
      ],
    })

  test('a directory role', async () => {
    const [role, id] = [await directory.role(), await directory.user()]
    await directory.join(id, role)
    const path = `/v1.0/directoryRoles/${role}/members/${id}/$ref`
    await assertShutOut(userToken(id), async () =>
      assert.equal((await service.request('DELETE', path, { token: manageRoles() })).status, 204),
    )
  })

  for (const way of ['one leaves', 'loses the role', 'is deleted'] as const)
    test(`a directory role by way of a group: ${way}`, async () => {
      const [role, id] = [await directory.role(), await directory.user()]
      const group = await directory.group({ isAssignableToRole: true })
      await directory.join(group, role)
      await directory.join(id, group)
      const path = {
        'one leaves': `/groups/${group}/members/${id}/$ref`,
        'loses the role': `/directoryRoles/${role}/members/${group}/$ref`,
        'is deleted': `/groups/${group}`,
      }[way]
      await assertShutOut(userToken(id), async () =>
        assert.equal((await service.request('DELETE', `/v1.0${path}`, { token: manageRoles() })).status, 204),
      )
    })

  test('an ordinary group takes no token along', async () => {
    const [group, id] = [await directory.group(), await directory.user()]
    await directory.join(id, group)
    const token = userToken(id)
    assert.equal(await statusOf(token), 200)
    await nextSecond()
    const path = `/v1.0/groups/${group}/members/${id}/$ref`
    assert.equal((await service.request('DELETE', path, { token: manageRoles() })).status, 204)
    await assertStillIn(token)
  })

  clause(
    'TOK-77',
    'A revocation (a lost directory role, a withdrawn permission, a new password) ends the tokens of…',
    async () => {
      const id = await directory.user()
      const { sql } = service.database
      const [user] = await sql<{ name: string }[]>`
        select user_principal_name as name from directory_object where id = ${id}`
      const means = {
        ...service.auth,
        origin: service.auth.identity.origin(),
        tenantId: service.tenantId,
        sql,
      }
      const issue = () =>
        issueOperatorToken(means, {
          for: { kind: 'user', userPrincipalName: user?.name, personal: false },
          permissions: ['User.Read.All'],
          lifetimeSeconds: 600,
          audience: undefined,
        })
      const secondOf = (token: string) =>
        JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).iat
      const revoke = async () => {
        const token = await issue()
        await voidTokens(sql, service.tenantId, id)
        const [cutoff] = await sql<{ at: Date }[]>`
          select valid_from as at from token_cutoff where principal_id = ${id}`
        const atMs = cutoff?.at.getTime() ?? 0
        return { token, atMs, shared: Math.floor(atMs / 1000) === secondOf(token) }
      }
      const { token, atMs } = await waitUntil('both fall into one second', async () => {
        const revoked = await revoke()
        return revoked.shared ? revoked : undefined
      }).then((found) => found ?? assert.fail())
      // A token of the millisecond of the revocation is refused.
      await waitUntil('the millisecond is over', () => Date.now() > atMs, { everyMs: 1 })
      const later = await issue()
      await waitUntil('the token is refused', async () => (await statusOf(token)) === 401)
      assert.equal(await statusOf(later), 200, 'a token from after the revocation works')
    },
  )

  /** Commits a revocation after a token was requested that waits for it. */
  async function revokeAround<T>(
    revoke: (tx: Tx) => Promise<unknown>,
    request: () => Promise<T>,
  ): Promise<T> {
    let requested: Promise<T> | undefined
    await service.database.transaction(async (tx) => {
      await revoke(tx)
      requested = request()
      await waitUntil('the revocation is waited for', async () => {
        const waiting = await service.database.sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        return waiting.count > 0
      })
    })
    return requested ?? assert.fail()
  }

  clause(
    'TOK-78',
    'A token that is requested while a revocation is under way waits for its end, and carries what is left…',
    async () => {
      const id = await directory.user()
      const { sql } = service.database
      const [user] = await sql<{ name: string }[]>`
        select user_principal_name as name from directory_object where id = ${id}`
      const { auth, tenantId } = service
      const request = {
        for: { kind: 'user', userPrincipalName: user?.name, personal: false },
        permissions: ['User.Read.All'],
        lifetimeSeconds: 600,
        audience: undefined,
      } as const
      const issue = async () =>
        claimsOf(
          await issueOperatorToken({ ...auth, origin: auth.identity.origin(), tenantId, sql }, request),
        ).wids
      for (const round of ['the first revocation', 'a later one']) {
        const role = await directory.role()
        await directory.join(id, role)
        assert.equal(((await issue()) as string[]).length, 1, round)
        const dismiss = (tx: Tx) => tx`delete from member_edge where container_id = ${role}`
        if (round === 'the first revocation') await sql`delete from token_cutoff where principal_id = ${id}`
        assert.deepEqual(await revokeAround(dismiss, issue), [], round)
      }

      const application = await addApplication(service, { permissions: ['User.Read.All'] })
      const askToken = async () => {
        const { servicePrincipalId: _, appId: client_id, secret: client_secret } = application
        const body = new URLSearchParams({
          grant_type: 'client_credentials',
          client_id,
          client_secret,
          scope: `${auth.identity.origin()}/.default`,
        })
        const answer = await fetch(`${service.origin}/${tenantId}/oauth2/v2.0/token`, {
          method: 'POST',
          body,
        })
        const { access_token } = (await answer.json()) as { access_token: string }
        return claimsOf(access_token).roles
      }
      assert.deepEqual(await askToken(), ['User.Read.All'])
      const withdraw = (tx: Tx) =>
        revokeApplicationPermissions(tx, tenantId, application.servicePrincipalId, ['User.Read.All'])
      assert.deepEqual(await revokeAround(withdraw, askToken), [])
    },
  )

  test('all tokens of a person, by hand', async () => {
    const user = await directory.user()
    await assertShutOut(userToken(user), () => voidTokens(service.database.sql, service.tenantId, user))
  })

  test('a new secret of an application takes nothing away', async () => {
    const application = await register()
    const token = applicationToken(application)
    assert.equal(await statusOf(token), 200)
    await nextSecond()
    await service.database.transaction((tx) => addSecret(tx, service.tenantId, application.applicationId))
    await assertStillIn(token)
  })

  test('a signing key that is gone takes its tokens along, also those verified before', async () => {
    const token = userToken(await directory.user())
    assert.equal(await statusOf(token), 200)
    const { kid } = service.auth.signingKeys.current()
    await service.auth.signingKeys.rotate(0)
    assert.equal(await statusOf(token), 200, 'the old key verifies on')
    assert.equal(await statusOf(userToken(await directory.user())), 200, 'the new one signs')
    await service.database.sql`update signing_key set expires_at = now() where kid = ${kid}`
    await service.auth.signingKeys.rotate(0)
    assert.equal(await statusOf(token), 401)
  })
})
