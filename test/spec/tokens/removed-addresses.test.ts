import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import * as oidc from 'openid-client'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import type { JsonObject } from '../../../src/directory/entities/property.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { askDuring } from '../../support/in-flight.ts'
import { addApplication, addPerson, claimsOf, trustService } from '../../support/issuer.ts'
import { startNodesThatHear } from '../../support/other-node.ts'
import type { TestService } from '../../support/service.ts'
import { beginSignIn, redirectUri, signIn, signInDevice } from '../../support/sign-in.ts'
import { waitUntil } from '../../support/wait-until.ts'

const evil = 'https://evil.example/take'
const basic = 'openid offline_access User.ReadWrite'
const rule =
  'An access token of a person ends with the address that its sign-in was answered at (TOK-134), or with the right to sign in devices: …'
const noLongerAnswered =
  'An address of `publicClient` counts for TOK-134 and TOK-162 only while the application is a public client: …'
const changedKind =
  'An address that stays registered ends tokens by TOK-162 when the application is no longer answered there: …'

describe('tokens of a removed address', () => {
  let service: TestService
  let other: TestService

  before(async () => {
    ;[service, other] = await startNodesThatHear()
    trustService(service)
  })
  after(async () => {
    await other?.[Symbol.asyncDispose]()
    await service?.[Symbol.asyncDispose]()
  })

  const register = (properties: JsonObject) =>
    addApplication(service, { properties, consented: basic.split(' ') })
  const change = async (applicationId: string, body: object) => {
    const token = service.tokenFor({ kind: 'application', permissions: Object.keys(knownPermissions) })
    const answer = await service.request('PATCH', `/v1.0/applications/${applicationId}`, { token, body })
    assert.equal(answer.status, 204, answer.text)
  }
  const signInAt = async (appId: string, redirect_uri: string) => {
    const { url, exchange, config } = await beginSignIn(service, appId, basic, { redirect_uri })
    const browser = new Browser(new URL(redirect_uri).origin)
    const page = await signIn(browser, await browser.open(url), await addPerson(service))
    // People confirm a sign-in at a native application.
    const tokens = await exchange(page.url.searchParams.has('code') ? page : await browser.submit(page))
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')
    return [tokens.access_token, refreshed.access_token]
  }
  const exchange = async (assertion: string) => {
    const { appId, secret } = await addApplication(service, { consented: ['User.ReadWrite'] })
    const response = await fetch(`${service.origin}/${service.tenantId}/oauth2/v2.0/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        requested_token_use: 'on_behalf_of',
        client_id: appId,
        client_secret: secret,
        assertion,
        scope: 'https://graph.microsoft.com/User.ReadWrite',
      }),
    })
    return ((await response.json()) as { access_token?: string }).access_token ?? assert.fail()
  }
  const statusOf = async (token: string, node = service) =>
    (await node.request('GET', '/v1.0/me?$select=id', { token })).status
  const goesOn = async (token: string, what: string) => {
    for (const node of [service, other]) assert.equal(await statusOf(token, node), 200, what)
  }
  const becomes = (status: number, token: string, what: string) =>
    waitUntil(
      what,
      async () => (await statusOf(token)) === status && (await statusOf(token, other)) === status,
    )

  clause('TOK-162', rule, async () => {
    for (const kind of ['spa', 'web']) {
      const more = kind === 'web' && { isFallbackPublicClient: true }
      const { appId, applicationId } = await register({
        [kind]: { redirectUris: [redirectUri, evil] },
        ...more,
      })
      const [there, here] = [await signInAt(appId, evil), await signInAt(appId, redirectUri)]
      const stolen = [...there, await exchange(there[0] ?? '')]
      for (const token of [...stolen, ...here]) await goesOn(token, 'before')
      await change(applicationId, { displayName: 'Another' })
      for (const token of stolen) await goesOn(token, 'another change')
      await change(applicationId, { [kind]: { redirectUris: [redirectUri, `${evil}/other`] } })
      for (const token of stolen) await becomes(401, token, 'the address was removed')
      for (const token of here) await goesOn(token, 'by the other address')
      await change(applicationId, { [kind]: { redirectUris: [redirectUri, evil] } })
      for (const token of stolen) await becomes(200, token, 'the address is back')
      await change(applicationId, { [kind]: null })
      for (const token of [...stolen, ...here]) await becomes(401, token, 'all addresses were removed')
    }
  })

  clause('TOK-162', rule, async (t) => {
    t.diagnostic('native applications and devices')
    const publicClient = { redirectUris: ['http://localhost/done', 'http://127.0.0.1/done'] }
    const { appId, applicationId } = await register({ isFallbackPublicClient: true, publicClient })
    const native = await signInAt(appId, 'http://localhost:54321/done')
    const { config } = await beginSignIn(service, appId, basic)
    const started = await oidc.initiateDeviceAuthorization(config, { scope: basic })
    const browser = new Browser()
    const code = { user_code: started.user_code }
    const asked = await browser.submit(await browser.open(started.verification_uri), code)
    await signInDevice(browser, await browser.submit(asked, { confirm: 'yes' }), await addPerson(service))
    const device = await oidc.pollDeviceAuthorizationGrant(config, { ...started, interval: 0.01 })
    for (const token of [...native, device.access_token]) await goesOn(token, 'before')
    await change(applicationId, { publicClient: { redirectUris: ['http://127.0.0.1/done'] } })
    for (const token of native) await becomes(401, token, 'the loopback address was removed')
    await goesOn(device.access_token, 'a device has no address')
    await change(applicationId, { isFallbackPublicClient: false })
    await becomes(401, device.access_token, 'the application may not sign in devices')
  })

  clause('TOK-164', noLongerAnswered, async () => {
    const loopback = 'http://localhost:54321/done'
    const publicClient = { redirectUris: ['http://localhost/done'] }
    const spa = { redirectUris: [redirectUri] }
    const web = { redirectUris: ['https://client.example/web'] }
    for (const [properties, confidential, back] of [
      [{ isFallbackPublicClient: true, spa, web }, { isFallbackPublicClient: false }, true],
      [{ isFallbackPublicClient: true, spa, web }, { isFallbackPublicClient: null }, true],
      [{ spa }, { web }, { web: null }],
    ] as const) {
      const { appId, applicationId } = await register({ ...properties, publicClient })
      const native = await signInAt(appId, loopback)
      const lost = [...native, await exchange(native[0] ?? '')]
      const kept = await signInAt(appId, redirectUri)
      for (const token of [...lost, ...kept]) await goesOn(token, 'before')
      await change(applicationId, confidential)
      for (const token of lost) await becomes(401, token, 'the client became confidential')
      for (const token of kept) await goesOn(token, 'confidential clients have addresses of single pages')
      await change(applicationId, back === true ? { isFallbackPublicClient: true } : back)
      for (const token of [...lost, ...kept]) await becomes(200, token, 'the client is public again')
    }
  })

  clause('TOK-165', changedKind, async () => {
    const port = 'http://localhost:54321/done'
    const secure = 'https://localhost/done'
    const spa = { redirectUris: [redirectUri, 'http://localhost/done', secure] }
    const publicClient = { redirectUris: ['http://127.0.0.1/other'] }
    const { appId, applicationId } = await register({ spa })
    const [local, kept] = [await signInAt(appId, secure), await signInAt(appId, redirectUri)]
    for (const token of [...local, ...kept]) await goesOn(token, 'before')
    await change(applicationId, { publicClient })
    for (const token of local) await becomes(401, token, 'native clients have no https on loopback')
    const native = await signInAt(appId, port)
    for (const token of [...native, ...kept]) await goesOn(token, 'of a native client')
    await change(applicationId, { publicClient: null })
    for (const token of native) await becomes(401, token, 'other ports are for native clients')
    for (const token of [...local, ...kept]) await becomes(200, token, 'no longer native')
  })

  clause('TOK-165', changedKind, async (t) => {
    t.diagnostic('a scheme of its own')
    const scheme = 'com.example.tides:/done'
    const native = { publicClient: { redirectUris: ['http://127.0.0.1/other'] } }
    for (const [properties, lost, back] of [
      [{ spa: { redirectUris: [redirectUri, scheme] }, ...native }, { publicClient: null }, native],
      [
        { isFallbackPublicClient: true, web: { redirectUris: [redirectUri, scheme] }, ...native },
        { isFallbackPublicClient: false },
        { isFallbackPublicClient: true },
      ],
    ] as const) {
      const { appId, applicationId } = await register(properties)
      const [own, kept] = [await signInAt(appId, scheme), await signInAt(appId, redirectUri)]
      for (const token of [...own, ...kept]) await goesOn(token, 'of a native client')
      await change(applicationId, lost)
      for (const token of own) await becomes(401, token, 'own schemes are for native clients')
      for (const token of kept) await goesOn(token, 'by the other address')
      await change(applicationId, back)
      for (const token of own) await becomes(200, token, 'native again')
    }
  })

  clause(
    'TOK-163',
    'A write that is under way while the address of the sign-in of its token is removed is refused with 403, …',
    async () => {
      const { appId, applicationId } = await register({ spa: { redirectUris: [redirectUri, evil] } })
      const [token = ''] = await signInAt(appId, evil)
      const id = String(claimsOf(token).oid)
      const write = () => service.request('PATCH', '/v1.0/me', { token, body: { aboutMe: 'Late' } })
      const spa = { redirectUris: [redirectUri] }
      const refused = await askDuring(
        service,
        async (tx) => {
          await tx`
            update directory_object set properties = properties || ${tx.json({ spa })} where id = ${applicationId}`
          await tx`select from directory_object where id = ${id} for update`
        },
        write,
      )
      assert.equal(refused.status, 403, refused.text)
      const [row] = await service.database.sql<{ text: string | null }[]>`
        select properties ->> 'aboutMe' as text from directory_object where id = ${id}`
      assert.equal(row?.text, null)
    },
  )
})
