import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { exchangedTokensClaim } from '../../../src/auth/token-claims.ts'
import { noRoleId } from '../../../src/directory/app-roles/app-roles.ts'
import { caller } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { addApplication, addPerson } from '../../support/issuer.ts'
import { NotifiedClient } from '../../support/notified-client.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { issuedNow } from '../../support/tokens.ts'
import { waitUntil } from '../../support/wait-until.ts'

const rule =
  'No notification is sent once the token that a subscription was made or last renewed with is revoked: …'

describe('subscriptions of a revoked token', () => {
  let service: TestService
  const client = new NotifiedClient()

  before(async () => {
    await client.start()
    service = await startTestService({ MASQUERADE_NOTIFICATION_HOSTS: '127.0.0.1' })
  })
  after(async () => {
    await service?.[Symbol.asyncDispose]()
    await client.kill()
  })

  const administer = caller(
    () => service,
    () => service.tokenFor({ kind: 'application', permissions: Object.keys(knownPermissions) }),
  )
  const send = async (token: string, method: string, path: string, body: object) => {
    const answer = await service.request(method, `/v1.0/subscriptions${path}`, { token, body })
    assert.ok(answer.status < 300, answer.text)
    return answer.body.id as string
  }
  const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
  const subscribe = (token: string) =>
    send(token, 'POST', '', {
      resource: 'groups',
      changeType: 'created',
      notificationUrl: client.url,
      expirationDateTime: inAnHour(),
    })
  const renew = (token: string, id: string) =>
    send(token, 'PATCH', `/${id}`, { expirationDateTime: inAnHour() })
  const newGroup = async () => {
    const group = { displayName: 'G', mailNickname: randomUUID(), mailEnabled: false, securityEnabled: true }
    return (await administer('POST', '/groups', 201, group)).body.id as string
  }
  const told = (id: string) =>
    client.received
      .filter(({ subscriptionId }) => subscriptionId === id)
      .map(({ resourceData }) => resourceData.id as string)
  const hears = async (id: string) => {
    const group = await newGroup()
    await waitUntil('the notification', () => told(id).includes(group))
  }
  /** Makes a group, and waits until a notification of it was refused. */
  const hearsNothing = async (id: string, what: string) => {
    const group = await newGroup()
    await waitUntil(`an attempt: ${what}`, async () => {
      const [row] = await service.database.sql<{ attempts: number }[]>`
        select attempts from change_subscription where id = ${id}`
      return (row?.attempts ?? 0) >= 1 || told(id).includes(group)
    })
    assert.ok(!told(id).includes(group), what)
    return group
  }
  /** What was not told before is told now. The pause after failed attempts is not waited for. */
  const goesOn = async (id: string, missed: string) => {
    await service.database.sql`update change_subscription set next_attempt_at = now() where id = ${id}`
    await waitUntil('the missed notification', () => told(id).includes(missed))
    await hears(id)
  }
  const getToken = async (client_id: string, client_secret: string) => {
    const wish = { grant_type: 'client_credentials', client_id, client_secret, scope: '.default' }
    const url = `${service.origin}/${service.tenantId}/oauth2/v2.0/token`
    const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(wish) })
    return ((await answer.json()) as { access_token?: string }).access_token ?? assert.fail()
  }
  const tokenOf = (principal: string, more: object = {}) => {
    const { claimsFor, signToken } = service.tokens
    const claims = claimsFor({ principal, permissions: ['Group.Read.All'] })
    return signToken({ ...claims, ...issuedNow(), ...more })
  }
  const signInAs = async (id: string) => {
    const { sql } = service.database
    const sid = randomUUID()
    await sql`insert into oidc_state (model, id, payload) values ('Grant', ${sid}, '{}')`
    return { token: tokenOf(id, { sid }), end: () => sql`delete from oidc_state where id = ${sid}` }
  }

  clause('DIR-363', rule, async (t) => {
    t.diagnostic('a removed secret')
    const { appId, applicationId, secret } = await addApplication(service, {
      permissions: ['Group.Read.All'],
    })
    const path = `/applications/${applicationId}`
    const { keyId, secretText } = (await administer('POST', `${path}/addPassword`, 200, {})).body
    const stolen = await subscribe(await getToken(appId, secretText))
    const kept = await subscribe(await getToken(appId, secret))
    for (const id of [stolen, kept]) await hears(id)
    await administer('POST', `${path}/removePassword`, 204, { keyId })
    const missed = await hearsNothing(stolen, 'the secret was removed')
    await hears(kept)
    await renew(await getToken(appId, secret), stolen)
    await goesOn(stolen, missed)
  })

  clause(
    'TOK-171',
    'A session at the gateway (GATE-291) and a subscription to notifications (DIR-363) end as well when the secret or…',
    async () => {
      const permissions = ['Group.Read.All']
      const { appId, applicationId, secret } = await addApplication(service, { permissions })
      const subscription = await subscribe(await getToken(appId, secret))
      await hears(subscription)
      await service.database.sql`
        update application_secret set ends_at = clock_timestamp() where application_id = ${applicationId}`
      const missed = await hearsNothing(subscription, 'the secret has expired')
      const path = `/applications/${applicationId}/addPassword`
      const { secretText } = (await administer('POST', path, 200, {})).body
      await renew(await getToken(appId, secretText), subscription)
      await goesOn(subscription, missed)
    },
  )

  clause('DIR-363', rule, async (t) => {
    t.diagnostic('an ended sign-in')
    const { id } = await addPerson(service)
    const [first, second] = [await signInAs(id), await signInAs(id)]
    const [one, two] = [await subscribe(first.token), await subscribe(second.token)]
    for (const subscription of [one, two]) await hears(subscription)
    await first.end()
    const missed = await hearsNothing(one, 'the sign-in has ended')
    await hears(two)
    await renew(second.token, one)
    await goesOn(one, missed)
    await second.end()
    await hearsNothing(two, 'the second has ended')
    await hearsNothing(one, 'renewing bound it to the second')
  })

  clause('DIR-363', rule, async (t) => {
    t.diagnostic('a disabled client of an exchanged token')
    const { id } = await addPerson(service)
    const { appId: appid, servicePrincipalId } = await addApplication(service)
    const passed = { [exchangedTokensClaim]: [{ appid, ...issuedNow() }] }
    const subscription = await subscribe(tokenOf(id, passed))
    await hears(subscription)
    await administer('PATCH', `/servicePrincipals/${servicePrincipalId}`, 204, { accountEnabled: false })
    await hearsNothing(subscription, 'the first client is disabled')
  })

  clause(
    'DIR-390',
    'Nor is one sent while the client of the subscription requires assignments and its person has none (TOK-178), …',
    async () => {
      const { sql } = service.database
      const { appId: applicationId, servicePrincipalId } = await addApplication(service)
      const path = `/servicePrincipals/${servicePrincipalId}`
      await administer('PATCH', path, 204, { appRoleAssignmentRequired: true })
      const { id } = await addPerson(service)
      const [group, principal] = [await newGroup(), { principal: id, applicationId }]
      const resourceId = servicePrincipalId
      const assignment = { principalId: group, resourceId, appRoleId: noRoleId }
      await administer('POST', `/groups/${group}/appRoleAssignments`, 201, assignment)
      const join = () =>
        administer('POST', `/groups/${group}/members/$ref`, 204, {
          '@odata.id': `https://x/v1.0/directoryObjects/${id}`,
        })
      await join()
      const { claimsFor, signToken } = service.tokens
      const token = signToken({
        ...claimsFor({ ...principal, permissions: ['Group.Read.All'] }),
        ...issuedNow(),
      })
      const [told, older] = [await subscribe(token), await subscribe(token)]
      await sql`update change_subscription set grounds = null where id = ${older}`
      for (const subscription of [told, older]) await hears(subscription)
      await administer('DELETE', `/groups/${group}/members/${id}/$ref`, 204)
      const missed = [
        await hearsNothing(told, 'the person left the group'),
        await hearsNothing(older, 'of an earlier release'),
      ]
      await join()
      await goesOn(told, missed[0] ?? '')
      await goesOn(older, missed[1] ?? '')
    },
  )

  clause(
    'DIR-364',
    'A subscription that an earlier release stored names no token: DIR-271 alone goes for it until it is renewed or ends.',
    async () => {
      const { sql } = service.database
      const { id } = await addPerson(service)
      const [first, second] = [await signInAs(id), await signInAs(id)]
      const subscription = await subscribe(first.token)
      await sql`update change_subscription set grounds = null where id = ${subscription}`
      await first.end()
      await hears(subscription)
      await renew(second.token, subscription)
      await hears(subscription)
      await second.end()
      await hearsNothing(subscription, 'it was renewed')
    },
  )
})
