import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe } from 'node:test'
import * as oidc from 'openid-client'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { addApplication, addPerson, claimsOf, type Person, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, redirectUri, signIn, singlePage } from '../../support/sign-in.ts'

const client = 'https://client.example'

describe('a web application', () => {
  let service: TestService
  let person: Person
  let application: Awaited<ReturnType<typeof addApplication>>

  before(async () => {
    service = await startTestService()
    trustService(service)
    person = await addPerson(service)
    application = await addApplication(service, {
      properties: { web: { redirectUris: [redirectUri] } },
      consented: ['openid', 'offline_access', 'User.Read'],
    })
  })
  after(() => service[Symbol.asyncDispose]())

  const begin = (scope: string, more: Record<string, string> = {}) =>
    beginSignIn(service, application.appId, scope, more)

  clause(
    'TOK-29',
    'A web application redeems codes and refresh tokens with its secret beside the verifier.',
    async () => {
      const issuer = new URL(service.auth.identity.issuer())
      const config = await oidc.discovery(issuer, application.appId, application.secret)
      const verifier = oidc.randomPKCECodeVerifier()
      const url = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid offline_access User.Read',
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
      const browser = new Browser(client)
      const done = await signIn(browser, await browser.open(url), person)
      const withoutSecret = new oidc.Configuration(
        config.serverMetadata(),
        application.appId,
        undefined,
        oidc.None(),
      )
      await assert.rejects(
        oidc.authorizationCodeGrant(withoutSecret, done.url, { pkceCodeVerifier: verifier }),
        { error: 'invalid_client' },
      )
      await assert.rejects(oidc.authorizationCodeGrant(config, done.url), { error: 'invalid_grant' })
      const tokens = await oidc.authorizationCodeGrant(config, done.url, { pkceCodeVerifier: verifier })
      assert.equal(claimsOf(tokens.access_token).oid, person.id)
      await assert.rejects(oidc.refreshTokenGrant(withoutSecret, tokens.refresh_token ?? ''), {
        error: 'invalid_client',
      })
      const renewed = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')
      assert.equal(claimsOf(renewed.access_token).oid, person.id)
    },
  )

  clause(
    'TOK-19',
    'PKCE with the method `S256` is required of public clients. A confidential client may leave it out, as its secret is required; a code that was asked for with a challenge needs its verifier.',
    async () => {
      const issuer = new URL(service.auth.identity.issuer())
      const config = await oidc.discovery(issuer, application.appId, application.secret)
      const scope = 'openid User.Read'
      const browser = new Browser(client)
      const open = async (challenge: Record<string, string>) => {
        const url = oidc.buildAuthorizationUrl(config, { redirect_uri: redirectUri, scope, ...challenge })
        const page = await browser.open(url)
        return page.url.origin === client ? page : await signIn(browser, page, person)
      }
      const plain = { code_challenge: 'x'.repeat(43), code_challenge_method: 'plain' }
      assert.equal((await open(plain)).url.searchParams.get('error'), 'invalid_request')

      const done = await open({})
      const metadata = config.serverMetadata()
      const others = [
        new oidc.Configuration(metadata, application.appId, undefined, oidc.None()),
        new oidc.Configuration(metadata, application.appId, 'mq_wrong'),
      ]
      for (const other of others)
        await assert.rejects(oidc.authorizationCodeGrant(other, done.url), { error: 'invalid_client' })
      const withVerifier = { pkceCodeVerifier: oidc.randomPKCECodeVerifier() }
      await assert.rejects(oidc.authorizationCodeGrant(config, done.url, withVerifier), {
        error: 'invalid_grant',
      })
      const tokens = await oidc.authorizationCodeGrant(config, done.url)
      assert.equal(claimsOf(tokens.access_token).oid, person.id)
    },
  )

  clause('TOK-30', 'A code of one application is of no use to another.', async () => {
    const other = await addApplication(service, { properties: singlePage })
    const { url } = await begin('openid User.Read')
    const browser = new Browser(client)
    const done = await signIn(browser, await browser.open(url), person)
    const stolen = await beginSignIn(service, other.appId, 'openid')
    await assert.rejects(
      oidc.authorizationCodeGrant(stolen.config, done.url, {
        pkceCodeVerifier: oidc.randomPKCECodeVerifier(),
        expectedState: done.url.searchParams.get('state') ?? '',
      }),
      { error: 'invalid_grant' },
    )
  })

  clause(
    'TOK-31',
    '`prompt=none` never shows a page: it is a code, `login_required` or `consent_required`.',
    async () => {
      const browser = new Browser(client)
      const { url } = await begin('openid User.Read', { prompt: 'none' })
      const refused = await browser.open(url)
      assert.equal(refused.url.searchParams.get('error'), 'login_required')
      await signIn(browser, await browser.open((await begin('openid')).url), person)
      const silent = await browser.open((await begin('openid User.Read', { prompt: 'none' })).url)
      assert.ok(silent.url.searchParams.get('code'))
      const more = await browser.open((await begin('openid Mail.Read', { prompt: 'none' })).url)
      assert.equal(more.url.searchParams.get('error'), 'consent_required')
    },
  )

  clause(
    'TOK-32',
    'With `response_mode=form_post` the code comes by a form, on a page whose policy names its one script.',
    async () => {
      const browser = new Browser(client)
      const { url } = await begin('openid User.Read', { response_mode: 'form_post' })
      const page = await signIn(browser, await browser.open(url), person)
      assert.match(page.html, new RegExp(`<form method="post" action="${redirectUri}">`))
      assert.match(page.html, /name="code"/)
      const script = /<script>(.*)<\/script>/s.exec(page.html)?.[1] ?? ''
      const hash = createHash('sha256').update(script).digest('base64')
      const policy = page.headers.get('content-security-policy') ?? ''
      assert.ok(policy.includes(`'sha256-${hash}'`), policy)
      assert.match(policy, /default-src 'none'/)
    },
  )

  clause('TOK-33', 'Signing out asks, ends the session and leads back to a registered address.', async () => {
    const scope = 'openid offline_access User.Read'
    const spa = await addApplication(service, { properties: singlePage, consented: scope.split(' ') })
    const browser = new Browser(client)
    const { url, exchange, config } = await beginSignIn(service, spa.appId, scope)
    const tokens = await exchange(await signIn(browser, await browser.open(url), person))
    await service.auth.signingKeys.rotate(0)
    const out = oidc.buildEndSessionUrl(config, {
      post_logout_redirect_uri: redirectUri,
      id_token_hint: tokens.id_token ?? '',
    })
    const question = await browser.open(out)
    assert.match(question.html, /Sign out\?/)
    assert.doesNotMatch(question.html, /<script/)
    const forged = await browser.submit(question, { xsrf: 'x', logout: 'yes' })
    assert.equal(forged.status, 400)
    const done = await browser.submit(await browser.open(out), { logout: 'yes' })
    assert.equal(done.url.origin, client)
    const again = await browser.open((await beginSignIn(service, spa.appId, 'openid')).url)
    assert.match(again.html, /<label for="password">/)
  })

  clause(
    'TOK-128',
    'A session that was signed out of stays ended: requests that were under way in it do not bring it back.',
    async () => {
      for (let round = 0; round < 4; round++) {
        const browser = new Browser(client)
        await signIn(browser, await browser.open((await begin('openid')).url), person)
        const silent = (await begin('openid', { prompt: 'none' })).url
        const cookies = [...browser.cookies]
        const probe = async () => {
          const other = new Browser(client)
          other.cookies.push(...cookies)
          return (await other.open(silent)).url.searchParams
        }
        assert.ok((await probe()).get('code'))
        let isOver = false
        const poll = async () => {
          while (!isOver) await probe()
        }
        const out = `${service.auth.identity.issuer().replace(/\/v2\.0$/, '')}/oauth2/v2.0/logout`
        const question = await browser.open(out)
        const polls = [poll(), poll(), poll(), poll()]
        const done = await browser.submit(question, { logout: 'yes' })
        isOver = true
        await Promise.all(polls)
        assert.match(done.html, /You are signed out/)
        assert.equal((await probe()).get('error'), 'login_required', `round ${round}`)
      }
    },
  )
})
