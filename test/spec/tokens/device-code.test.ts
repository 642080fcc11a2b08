import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe } from 'node:test'
import * as oidc from 'openid-client'
import { directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { firstPartyApplications } from '../../../src/auth/first-party.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { addApplication, addPerson, claimsOf, type Person, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, signIn, signInDevice, singlePage } from '../../support/sign-in.ts'

const userAdministrator = directoryRoleTemplates['User Administrator']
const graph = 'https://graph.microsoft.com/'
const scope = `openid profile offline_access ${graph}.default`

describe('device code', () => {
  let service: TestService
  let person: Person
  let config: oidc.Configuration

  before(async () => {
    service = await startTestService()
    trustService(service)
    person = await addPerson(service)
    const { appId } = firstPartyApplications.cli
    config = await oidc.discovery(new URL(service.auth.identity.issuer()), appId, undefined, oidc.None())
  })
  after(() => service[Symbol.asyncDispose]())
  beforeEach(() => service.database.sql`delete from sign_in_attempt`)

  /** Asks once: the library's own polling waits between questions. */
  const poll = async (deviceCode: string) => {
    const response = await fetch(config.serverMetadata().token_endpoint ?? '', {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        client_id: firstPartyApplications.cli.appId,
        device_code: deviceCode,
      }),
    })
    return (await response.json()) as { error?: string; access_token?: string; refresh_token?: string }
  }

  clause(
    'TOK-47',
    'A device gets tokens, once, after a person has entered its code, confirmed it and signed in; until then it is told `authorization_pending`.',
    async () => {
      const started = await oidc.initiateDeviceAuthorization(config, { scope })
      assert.match(started.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
      assert.equal((await poll(started.device_code)).error, 'authorization_pending')

      const browser = new Browser()
      const page = await browser.open(started.verification_uri)
      assert.match(page.html, /<label for="code">/)
      assert.doesNotMatch(page.html, /<script/)
      const confirmation = await browser.submit(page, { user_code: started.user_code.toLowerCase() })
      assert.match(confirmation.html, new RegExp(started.user_code))
      assert.match(confirmation.html, /Masquerade command line/)
      const signInPage = await browser.submit(confirmation, { confirm: 'yes' })
      const asked = await signIn(browser, signInPage, person)
      assert.match(asked.html, new RegExp(`Allow access.*${started.user_code}`, 's'))
      assert.equal((await poll(started.device_code)).error, 'authorization_pending')
      const done = await browser.submit(asked)
      assert.equal(done.status, 200)
      assert.match(done.html, /You are signed in/)

      const tokens = await oidc.pollDeviceAuthorizationGrant(config, { ...started, interval: 0.01 })
      const claims = claimsOf(tokens.access_token)
      assert.equal(claims.oid, person.id)
      assert.equal(claims.appid, firstPartyApplications.cli.appId)
      // A person without a directory role gets what everybody gets.
      assert.equal(claims.scp, 'User.Read User.ReadBasic.All user_impersonation')
      const named = ['User.Read', 'User.ReadBasic.All', 'user_impersonation', '.default']
      for (const name of named) assert.ok(tokens.scope?.split(' ').includes(graph + name), tokens.scope)
      assert.ok(tokens.refresh_token)
      assert.equal((await poll(started.device_code)).error, 'invalid_grant')
      await assert.rejects(oidc.refreshTokenGrant(config, tokens.refresh_token ?? ''), {
        error: 'invalid_grant',
      })
    },
  )

  clause(
    'TOK-48',
    'The link with the code in it shows the code for the person to send; nothing is sent by itself.',
    async () => {
      const started = await oidc.initiateDeviceAuthorization(config, { scope })
      const page = await new Browser().open(started.verification_uri_complete ?? '')
      assert.match(page.html, new RegExp(`value="${started.user_code}"`))
      assert.doesNotMatch(page.html, /<script/)
      const hostile = new URL(started.verification_uri)
      hostile.searchParams.set('user_code', '"><script>x')
      assert.doesNotMatch((await new Browser().open(hostile)).html, /<script/)
    },
  )

  clause('TOK-49', 'When the person cancels, the device is told `access_denied`.', async () => {
    const started = await oidc.initiateDeviceAuthorization(config, { scope })
    const browser = new Browser()
    const confirmation = await browser.submit(await browser.open(started.verification_uri), {
      user_code: started.user_code,
    })
    await browser.submit(confirmation, { abort: 'yes' })
    assert.equal((await poll(started.device_code)).error, 'access_denied')
  })

  clause('TOK-50', 'A code form without its token does nothing.', async () => {
    const started = await oidc.initiateDeviceAuthorization(config, { scope })
    const browser = new Browser()
    const page = await browser.open(started.verification_uri)
    const refused = await browser.submit(page, { user_code: started.user_code, confirm: 'yes', xsrf: 'x' })
    assert.equal(refused.status, 400)
    assert.equal((await poll(started.device_code)).error, 'authorization_pending')
  })

  clause(
    'TOK-110',
    'Pages of the device flow answer a browser without the session that they began with 400, and other methods…',
    async () => {
      const { verification_uri: uri, user_code } = await oidc.initiateDeviceAuthorization(config, { scope })
      const cookie = 'masquerade_session=unknown; masquerade_session.sig=x'
      for (const headers of [{}, { cookie }]) {
        const body = new URLSearchParams({ user_code, confirm: 'yes' })
        assert.equal((await fetch(uri, { method: 'POST', headers, body })).status, 400)
        assert.equal((await fetch(`${uri}/${'x'.repeat(43)}`, { headers })).status, 400)
      }
      for (const method of ['PUT', 'DELETE', 'PATCH'])
        assert.equal((await fetch(uri, { method })).status, 405, method)
    },
  )

  clause(
    'TOK-123',
    'A person who signs in after a code was confirmed is asked once more, on a page of the new session, before the device gets…',
    async () => {
      const started = await oidc.initiateDeviceAuthorization(config, { scope })
      const attacker = new Browser()
      const page = await attacker.open(started.verification_uri)
      const confirmation = await attacker.submit(page, { user_code: started.user_code })
      const signInPage = await attacker.submit(confirmation, { confirm: 'yes' })
      const misled = new Browser()
      // A neighbour in the same domain gives the browser all cookies of a sign-in whose code it has confirmed itself.
      misled.cookies.push(...attacker.cookies)
      const opened = await misled.open(signInPage.url)
      const asked = await signIn(misled, opened, person)
      assert.match(asked.html, /attempt to sign in as you/)
      assert.equal((await poll(started.device_code)).error, 'authorization_pending')
      for (const cookies of [attacker.cookies, []]) {
        const other = new Browser()
        other.cookies.push(...cookies)
        assert.equal((await other.open(asked.url)).status, 400, 'the page is of the browser that signed in')
      }
      const refused = await misled.submit(asked, { cancel: 'yes' })
      assert.match(refused.html, /cancelled|not work/)
      assert.equal((await poll(started.device_code)).error, 'access_denied')
    },
  )

  clause(
    'TOK-124',
    'A form of the device flow that another origin has sent does nothing, also with the token of a session that the browser…',
    async () => {
      const attacker = new Browser()
      const started = await oidc.initiateDeviceAuthorization(config, { scope })
      const page = await attacker.open(started.verification_uri)
      const { appId } = await addApplication(service, { properties: singlePage, consented: ['openid'] })
      const client = new Browser('https://client.example')
      client.cookies.push(...attacker.cookies)
      const { url } = await beginSignIn(service, appId, 'openid')
      assert.equal(
        (await signIn(client, await client.open(url), person)).url.origin,
        'https://client.example',
      )
      const sent = { user_code: started.user_code, confirm: 'yes' }
      // A browser that does not say where a form comes from is helped by the new token alone.
      assert.equal((await client.submit(page, sent)).status, 400)
      assert.equal((await poll(started.device_code)).error, 'authorization_pending')
      const own = await client.open(started.verification_uri)
      for (const site of ['same-site', 'cross-site']) {
        assert.equal((await client.submit(own, sent, { 'sec-fetch-site': site })).status, 400, site)
        assert.equal((await poll(started.device_code)).error, 'authorization_pending')
      }
      assert.match((await client.submit(own, sent)).html, /You are signed in/)
    },
  )

  clause(
    'TOK-125',
    'The page that confirms the code of a device names the account that the device gets, where a person is signed in: a…',
    async () => {
      const { appId } = await addApplication(service, { properties: singlePage, consented: ['openid'] })
      const browser = new Browser('https://client.example')
      const confirm = async () => {
        const { verification_uri, user_code } = await oidc.initiateDeviceAuthorization(config, { scope })
        return (await browser.submit(await browser.open(verification_uri), { user_code })).html
      }
      assert.doesNotMatch(await confirm(), /signed in as/)
      const { url } = await beginSignIn(service, appId, 'openid')
      await signIn(browser, await browser.open(url), person)
      assert.match(await confirm(), new RegExp(`signed in as <strong>${person.userPrincipalName}</strong>`))
    },
  )

  clause('TOK-51', 'Wrong device codes are counted like failed sign-ins of the address.', async () => {
    const browser = new Browser()
    let page = await browser.open(
      (await oidc.initiateDeviceAuthorization(config, { scope })).verification_uri,
    )
    const statuses = new Set<number>()
    for (let count = 0; count < 52; count++) {
      const answer = await browser.submit(page, { user_code: 'BBBB-BBBB' })
      statuses.add(answer.status)
      if (answer.status === 429) break
      page = answer
    }
    assert.ok(statuses.has(429))
  })

  clause(
    'TOK-52',
    "The product's own applications may do for a person what the person's directory roles allow, also those held through groups.",
    async () => {
      const admin = await addPerson(service)
      const { database, tenantId } = service
      const role = { displayName: 'User Administrator', roleTemplateId: userAdministrator }
      const group = { displayName: 'Administrators', isAssignableToRole: true, securityEnabled: true }
      await database.transaction(async (tx) => {
        const [roleId, groupId] = [randomUUID(), randomUUID()]
        await tx`
        insert into directory_object (tenant_id, id, kind, properties) values
          (${tenantId}, ${roleId}, 'directoryRole', ${tx.json(role)}),
          (${tenantId}, ${groupId}, 'group', ${tx.json(group)})`
        await tx`
        insert into member_edge (tenant_id, container_id, member_id) values
          (${tenantId}, ${roleId}, ${groupId}), (${tenantId}, ${groupId}, ${admin.id})`
      })
      const started = await oidc.initiateDeviceAuthorization(config, { scope })
      const browser = new Browser()
      const confirmation = await browser.submit(await browser.open(started.verification_uri), {
        user_code: started.user_code,
      })
      await signInDevice(browser, await browser.submit(confirmation, { confirm: 'yes' }), admin)
      const claims = claimsOf((await poll(started.device_code)).access_token ?? '')
      assert.deepEqual(claims.wids, [userAdministrator])
      assert.match(String(claims.scp), /User\.ReadWrite\.All/)
      assert.doesNotMatch(String(claims.scp), /RoleManagement|Application\.ReadWrite/)
    },
  )
})
