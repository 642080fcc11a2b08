import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import * as oidc from 'openid-client'
import { firstPartyApplications } from '../../../src/auth/first-party.ts'
import { writeAudit } from '../../../src/db/audit.ts'
import {
  consentPermissions,
  withdrawConsent,
} from '../../../src/directory/applications/granted-permissions.ts'
import { renderCodeConfirmation } from '../../../src/issuer/device-pages.ts'
import { Browser, type Page } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { addApplication, addPerson, claimsOf, type Person, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, redirectUri, signIn as signInAs, singlePage } from '../../support/sign-in.ts'

describe('authorization code', () => {
  let service: TestService
  let person: Person

  before(async () => {
    service = await startTestService()
    trustService(service)
    person = await addPerson(service)
  })
  after(() => service[Symbol.asyncDispose]())

  const begin = (appId: string, scope: string) => beginSignIn(service, appId, scope)
  const signIn = (browser: Browser, page: Page, who = person) => signInAs(browser, page, who)
  const openConsent = async (appId: string) => {
    const browser = new Browser('https://client.example')
    const { url } = await begin(appId, 'openid Calendars.Read')
    return (await signIn(browser, await browser.open(url))).html
  }
  const countOwners = async (id: string) => {
    const rows = await service.database
      .sql`select 1 from owner_edge where tenant_id = ${service.tenantId} and object_id = ${id}`
    return rows.length
  }

  clause(
    'TOK-17',
    'A person signs in by authorization code on a page without scripts, and the client gets a JWT with `idtyp` `user`, the person as `oid` and `sub`, `scp`, `wids` and no `roles`, an id token, and with `offline_access` a refresh token.',
    async () => {
      const { appId } = await addApplication(service, {
        properties: singlePage,
        consented: ['User.Read', 'Group.Read.All', 'openid', 'profile', 'offline_access'],
      })
      const { url, exchange, config } = await begin(
        appId,
        'openid profile offline_access https://graph.microsoft.com/User.Read',
      )
      const browser = new Browser('https://client.example')
      const page = await browser.open(url)
      assert.equal(page.status, 200)
      assert.match(page.html, /<label for="password">/)
      assert.doesNotMatch(page.html, /<script/)
      const policy = page.headers.get('content-security-policy') ?? ''
      assert.match(policy, /default-src 'none'/)
      assert.match(policy, /frame-ancestors 'none'/)
      assert.match(policy, /form-action 'self' https:\/\/client\.example;/)
      const done = await signIn(browser, page)
      assert.equal(done.url.origin, 'https://client.example')
      const tokens = await exchange(done)

      const claims = claimsOf(tokens.access_token)
      assert.equal(claims.oid, person.id)
      assert.equal(claims.sub, person.id)
      assert.equal(claims.idtyp, 'user')
      assert.equal(claims.scp, 'User.Read')
      assert.equal('roles' in claims, false)
      assert.deepEqual(claims.wids, [])
      assert.equal(tokens.claims()?.oid, person.id)
      assert.equal(tokens.claims()?.preferred_username, person.userPrincipalName)
      const caller = await service.auth.gatekeeper.authenticate(`Bearer ${tokens.access_token}`)
      assert.equal(caller.kind, 'delegated')
      assert.deepEqual([...caller.permissions], ['User.Read'])

      const next = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')
      assert.equal(claimsOf(next.access_token).scp, 'User.Read')
      assert.notEqual(next.refresh_token, tokens.refresh_token)
    },
  )

  clause('TOK-44', 'Cookies are `HttpOnly` and `SameSite=Lax`, and `Secure` over HTTPS.', async () => {
    const { appId } = await addApplication(service, { properties: singlePage })
    const { url } = await begin(appId, 'openid')
    const response = await fetch(url, { redirect: 'manual' })
    const cookies = response.headers.getSetCookie()
    assert.ok(cookies.length >= 2)
    for (const cookie of cookies) {
      assert.match(cookie, /; httponly/i)
      assert.match(cookie, /; secure/i)
      assert.match(cookie, /; samesite=lax/i)
    }
  })

  clause(
    'TOK-18',
    'The scope `.default` stands for all that was consented; without `offline_access` there is no refresh token.',
    async () => {
      const { appId } = await addApplication(service, {
        properties: singlePage,
        consented: ['User.Read', 'Group.Read.All', 'openid'],
      })
      const { url, exchange } = await begin(appId, 'openid https://graph.microsoft.com/.default')
      const browser = new Browser('https://client.example')
      const tokens = await exchange(await signIn(browser, await browser.open(url)))
      assert.equal(claimsOf(tokens.access_token).scp, 'Group.Read.All User.Read')
      assert.equal(tokens.refresh_token, undefined)
    },
  )

  clause(
    'TOK-19',
    'PKCE with the method `S256` is required of public clients. A confidential client may leave it out,…',
    async () => {
      const { appId } = await addApplication(service, { properties: singlePage })
      const { config } = await begin(appId, 'openid')
      const attempts: Record<string, string>[] = [
        {},
        { code_challenge: 'x'.repeat(43), code_challenge_method: 'plain' },
        { code_challenge: 'x'.repeat(43) },
      ]
      for (const attempt of attempts) {
        const url = oidc.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: 'openid',
          ...attempt,
        })
        const page = await new Browser('https://client.example').open(url)
        assert.equal(page.url.origin, 'https://client.example')
        assert.equal(page.url.searchParams.get('error'), 'invalid_request')
        assert.equal(page.url.searchParams.get('code'), null)
      }
    },
  )

  clause(
    'TOK-20',
    'A code works once and with its verifier; a replay ends the tokens that it gave, refresh token and access token.',
    async () => {
      const { appId } = await addApplication(service, {
        properties: singlePage,
        consented: ['User.Read', 'openid', 'offline_access'],
      })
      const { url, exchange, config } = await begin(appId, 'openid offline_access User.Read')
      const browser = new Browser('https://client.example')
      const done = await signIn(browser, await browser.open(url))
      await assert.rejects(
        oidc.authorizationCodeGrant(config, done.url, {
          pkceCodeVerifier: oidc.randomPKCECodeVerifier(),
          expectedState: done.url.searchParams.get('state') ?? '',
        }),
        { error: 'invalid_grant' },
      )
      const tokens = await exchange(done)
      const next = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')
      await assert.rejects(exchange(done), { error: 'invalid_grant' })
      for (const { refresh_token, access_token } of [tokens, next]) {
        await assert.rejects(oidc.refreshTokenGrant(config, refresh_token ?? ''), { error: 'invalid_grant' })
        await assert.rejects(async () => service.auth.gatekeeper.authenticate(`Bearer ${access_token}`), {
          status: 401,
        })
      }
    },
  )

  clause(
    'TOK-105',
    "A code for the portal goes only to the origin at which the browser asked for it. Another of the portal's own addresses is refused with `invalid_redirect_uri`, whether or not the person is signed in.",
    async () => {
      const { httpOrigin, httpPort } = service.listeners
      const { appId } = firstPartyApplications.portal
      const scope = 'openid profile'
      const ask = (to: string) => beginSignIn(service, appId, scope, { redirect_uri: to })
      const portal = (await ask(`${httpOrigin}/`)).url
      const asked = new URL(`${httpOrigin}${portal.pathname}${portal.search}`)
      const browser = new Browser()
      const page = await browser.open(asked)
      const elsewhere = [`http://[::1]:${httpPort}/`, `http://localhost:${httpPort}/`]
      const refuse = async (visitor: Browser) => {
        for (const to of elsewhere) {
          const url = new URL(asked)
          url.searchParams.set('redirect_uri', to)
          const refused = await visitor.open(url)
          assert.equal(refused.status, 400, to)
          assert.equal(refused.url.origin, httpOrigin, to)
          assert.match(refused.html, /invalid_redirect_uri/, to)
        }
      }
      await refuse(new Browser())
      await signIn(browser, page)
      await refuse(browser)
      browser.visited.length = 0
      await browser.open(asked)
      assert.ok(browser.visited.some((url) => url.href.startsWith(`${httpOrigin}/?code=`)))
    },
  )

  clause('TOK-21', 'Of many requests that redeem a code at once, one gets tokens.', async () => {
    const { appId } = await addApplication(service, {
      properties: singlePage,
      consented: ['User.Read', 'openid'],
    })
    const { url, exchange } = await begin(appId, 'openid User.Read')
    const browser = new Browser('https://client.example')
    const done = await signIn(browser, await browser.open(url))
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => exchange(done)))
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
  })

  clause(
    'TOK-23',
    'A token for a person carries what was asked for and granted, also after a refresh: what was withdrawn in between is gone, and a permission that was not consented is `invalid_scope`.',
    async () => {
      const { appId, servicePrincipalId } = await addApplication(service, {
        properties: singlePage,
        consented: ['openid', 'offline_access', 'User.Read', 'Group.Read.All'],
      })
      const { url, exchange, config } = await begin(appId, 'openid offline_access User.Read Group.Read.All')
      const browser = new Browser('https://client.example')
      const first = await exchange(await signIn(browser, await browser.open(url)))
      assert.equal(claimsOf(first.access_token).scp, 'Group.Read.All User.Read')
      await assert.rejects(
        oidc.refreshTokenGrant(config, first.refresh_token ?? '', { scope: 'Directory.ReadWrite.All' }),
        { error: 'invalid_scope' },
      )
      await withdrawConsent(service.database.sql, {
        tenantId: service.tenantId,
        servicePrincipalId,
        userId: null,
        permissions: ['Group.Read.All'],
      })
      const second = await oidc.refreshTokenGrant(config, first.refresh_token ?? '')
      assert.equal(claimsOf(second.access_token).scp, 'User.Read')
    },
  )

  clause(
    'TOK-24',
    'A person may consent for themselves to permissions that reach only their own data; the…',
    async () => {
      const { appId, displayName } = await addApplication(service, { properties: singlePage })
      const other = await addPerson(service)
      const { url, exchange } = await begin(appId, 'openid profile User.Read Calendars.Read')
      const browser = new Browser('https://client.example')
      const page = await signIn(browser, await browser.open(url))
      assert.equal(page.status, 200)
      assert.match(page.html, new RegExp(displayName))
      assert.match(page.html, /Read your calendars/)
      const tokens = await exchange(await browser.submit(page))
      assert.equal(claimsOf(tokens.access_token).scp, 'Calendars.Read User.Read')
      const audit = await service.database.sql`
      select after from audit_event where action = 'consent' and actor ->> 'objectId' = ${person.id}`
      const permissions = ['openid', 'profile', 'User.Read', 'Calendars.Read']
      const origins = ['https://client.example']
      assert.deepEqual(audit, [{ after: { userId: person.id, permissions, origins } }])

      const again = await begin(appId, 'openid profile User.Read')
      assert.equal((await browser.open(again.url)).url.origin, 'https://client.example')
      const elsewhere = new Browser('https://client.example')
      const asked = await signIn(elsewhere, await elsewhere.open(again.url), other)
      assert.match(asked.html, /Allow access\?/)
      const denied = await elsewhere.submit(asked, { cancel: 'yes' })
      assert.equal(denied.url.searchParams.get('error'), 'access_denied')
    },
  )

  clause(
    'TOK-81',
    'The page that asks for consent says of an application what it cannot choose for itself: whether…',
    async () => {
      const { appId } = await addApplication(service, { properties: singlePage })
      const orphan = await openConsent(appId)
      assert.match(
        orphan,
        /It is <strong>not<\/strong> a part of Masquerade. It is not known who registered it here. Its owners/,
      )
      assert.ok(orphan.includes(`Application id: <strong>${appId}</strong>`))
      assert.ok(orphan.includes('The answer goes to <strong>https://client.example</strong>'))
      const device = (isOwn: boolean) =>
        renderCodeConfirmation({
          action: '',
          xsrf: '',
          userCode: '',
          clientName: 'x',
          clientId: appId,
          isOwn,
        })
      assert.match(device(false), /It is <strong>not<\/strong> a part of Masquerade. Application id/)
      assert.match(device(true), /It is a part of Masquerade. Application id/)
      assert.match(device(false), /<bdi>x<\/bdi>/)
      assert.match(orphan, /<bdi>Application [^<]*<\/bdi><\/strong> wants to act for you/)
      const browser = new Browser('https://client.example')
      const { url } = await begin(appId, 'openid')
      const signInPage = (await browser.open(url)).html
      assert.match(signInPage, /to continue to <strong><bdi>Application [^<]*<\/bdi>/)
    },
  )

  clause(
    'TOK-133',
    'Who registered an application is told by the audit, and its owners cannot change it: a person by userPrincipalName…',
    async () => {
      const registrant = await addPerson(service)
      const bystander = await addPerson(service)
      const permissions = ['Application.ReadWrite.All']
      const token = service.tokenFor({ permissions, principal: registrant.id })
      const ask = async (by: string, method: string, path: string, body?: unknown) => {
        const answer = await service.request(method, `/v1.0${path}`, {
          token: by,
          ...(body !== undefined && { body }),
        })
        assert.ok(answer.status < 300, JSON.stringify(answer.body))
        return answer.body
      }
      const register = async (by: string) => {
        const application = await ask(by, 'POST', '/applications', { displayName: 'Payroll', ...singlePage })
        await ask(by, 'POST', '/servicePrincipals', { appId: application.appId })
        return application
      }
      const { id, appId } = await register(token)
      const owners = `/applications/${id}/owners`
      const bystanderRef = { '@odata.id': `${service.origin}/v1.0/users/${bystander.id}` }
      await ask(token, 'POST', `${owners}/$ref`, bystanderRef)
      await ask(token, 'DELETE', `${owners}/${registrant.id}/$ref`)
      const left = await openConsent(appId)
      assert.ok(left.includes(`It was registered here by <strong>${registrant.userPrincipalName}</strong>.`))
      assert.ok(!left.includes(bystander.userPrincipalName))
      const ofBystander = service.tokenFor({ permissions, principal: bystander.id })
      await ask(ofBystander, 'DELETE', `${owners}/${bystander.id}/$ref`)
      assert.equal(await countOwners(id), 0)
      assert.ok((await openConsent(appId)).includes(`by <strong>${registrant.userPrincipalName}</strong>.`))

      const byMachine = await register(service.tokenFor({ kind: 'application', permissions }))
      assert.match(
        await openConsent(byMachine.appId),
        /registered here by the application <strong>[0-9a-f-]{36}<\/strong>\./,
      )

      const byOperator = await addApplication(service, { properties: singlePage })
      const actor = { kind: 'operator', tenantId: service.tenantId, objectId: '', applicationId: '' }
      const target = `/directoryObjects/${byOperator.applicationId}`
      await writeAudit(service.database.sql, actor, '', { action: 'create application', target })
      assert.match(await openConsent(byOperator.appId), /It was registered here by an administrator\./)
    },
  )

  clause(
    'TOK-26',
    "An application without any grant needs the person's consent before the sign-in continues.",
    async () => {
      const { appId } = await addApplication(service, { properties: singlePage })
      const { url, exchange } = await begin(appId, '.default')
      const browser = new Browser('https://client.example')
      const page = await signIn(browser, await browser.open(url))
      assert.match(page.html, /Allow access\?/)
      const tokens = await exchange(await browser.submit(page))
      assert.equal(claimsOf(tokens.access_token).scp, 'openid')
    },
  )

  clause(
    'TOK-28',
    'With `prompt=login` or `prompt=select_account` another person can sign in in the place of the first, whose session ends.',
    async () => {
      const { appId } = await addApplication(service, {
        properties: singlePage,
        consented: ['openid', 'User.Read'],
      })
      const other = await addPerson(service)
      const browser = new Browser('https://client.example')
      await signIn(browser, await browser.open((await begin(appId, 'openid')).url))
      for (const prompt of ['login', 'select_account']) {
        const { url, exchange } = await beginSignIn(service, appId, 'openid User.Read', { prompt })
        const who = prompt === 'login' ? other : person
        // The first session is ended by a page of the library's, whose one script the policy names.
        const leaving = await signIn(browser, await browser.open(url), who)
        assert.match(leaving.headers.get('content-security-policy') ?? '', /script-src 'none' 'sha256-/)
        const tokens = await exchange(await browser.submit(leaving))
        assert.equal(tokens.claims()?.oid, who.id)
      }
    },
  )

  clause(
    'TOK-25',
    'Only an administrator consents to permissions that reach the data of others; other people…',
    async () => {
      const { appId, servicePrincipalId } = await addApplication(service, { properties: singlePage })
      const { url } = await begin(appId, 'openid User.Read Directory.ReadWrite.All')
      const browser = new Browser('https://client.example')
      const page = await signIn(browser, await browser.open(url))
      assert.equal(page.status, 403)
      assert.match(page.html, /Directory\.ReadWrite\.All/)
      const forced = await browser.submit(page, { step: 'consent' })
      assert.equal(forced.url.searchParams.get('error'), 'access_denied')
      const rows = await service.database.sql`
      select permission from delegated_permission where client_id = ${servicePrincipalId}`
      assert.deepEqual(rows, [])
      await consentPermissions(service.database.sql, {
        tenantId: service.tenantId,
        servicePrincipalId,
        userId: null,
        permissions: ['openid', 'User.Read', 'Directory.ReadWrite.All'],
      })
      const after = await begin(appId, 'openid User.Read Directory.ReadWrite.All')
      const tokens = await after.exchange(await browser.open(after.url))
      assert.equal(claimsOf(tokens.access_token).scp, 'Directory.ReadWrite.All User.Read')
    },
  )

  clause('TOK-27', 'A permission that does not exist is `invalid_scope`.', async () => {
    const { appId } = await addApplication(service, { properties: singlePage })
    const { url } = await begin(appId, 'openid Everything.ReadWrite')
    const page = await new Browser('https://client.example').open(url)
    assert.equal(page.url.searchParams.get('error'), 'invalid_scope')
  })
})
