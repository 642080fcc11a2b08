import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import * as oidc from 'openid-client'
import { firstPartyApplications } from '../../../src/auth/first-party.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { addApplication, addPerson, claimsOf, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, redirectUri, signIn } from '../../support/sign-in.ts'

const evil = 'https://evil.example/take'
const origins = [redirectUri, evil].map((uri) => new URL(uri).origin)
const basic = 'openid profile offline_access User.Read'

describe('sign-ins that have ended', () => {
  let service: TestService

  before(async () => {
    service = await startTestService()
    trustService(service)
  })
  after(() => service[Symbol.asyncDispose]())

  const register = (more: object = {}) =>
    addApplication(service, {
      properties: { spa: { redirectUris: [redirectUri, evil] }, ...more },
      consented: basic.split(' '),
    })
  const send = async (method: string, path: string, body?: object) => {
    const permissions = [
      'Application.ReadWrite.All',
      'Directory.ReadWrite.All',
      'AppRoleAssignment.ReadWrite.All',
      'DelegatedPermissionGrant.ReadWrite.All',
    ]
    const token = service.tokenFor({ kind: 'application', permissions })
    const answer = await service.request(method, path, { token, ...(body && { body }) })
    assert.ok(answer.status < 300, answer.text)
  }
  const setAddresses = (applicationId: string, ...redirectUris: string[]) =>
    send('PATCH', `/v1.0/applications/${applicationId}`, { spa: { redirectUris } })
  const consentForAll = async (servicePrincipalId: string, permission: string) => {
    const { database, tenantId } = service
    await database.sql`
      insert into delegated_permission (tenant_id, client_id, permission)
      values (${tenantId}, ${servicePrincipalId}, ${permission})`
  }
  const signInAt = async (appId: string, redirect_uri: string, scope = basic) => {
    const { url, exchange, config } = await beginSignIn(service, appId, scope, { redirect_uri })
    const browser = new Browser(...origins)
    const person = await addPerson(service)
    const tokens = await exchange(await signIn(browser, await browser.open(url), person))
    const refresh = (more: Record<string, string> = {}) =>
      oidc.refreshTokenGrant(config, tokens.refresh_token ?? '', more)
    return { tokens, refresh, browser, person }
  }
  const signInDevice = async (appId: string) => {
    const { config } = await beginSignIn(service, appId, basic)
    const started = await oidc.initiateDeviceAuthorization(config, { scope: basic })
    const browser = new Browser()
    const code = { user_code: started.user_code }
    const asked = await browser.submit(await browser.open(started.verification_uri), code)
    const confirmed = await browser.submit(asked, { confirm: 'yes' })
    await browser.submit(await signIn(browser, confirmed, await addPerson(service)))
    const tokens = await oidc.pollDeviceAuthorizationGrant(config, { ...started, interval: 0.01 })
    return { refresh: () => oidc.refreshTokenGrant(config, tokens.refresh_token ?? '') }
  }
  const ended = { error: 'invalid_grant' }
  const isAccepted = async (token: string) =>
    (await service.request('GET', '/v1.0/me?$select=id', { token })).status === 200

  clause(
    'TOK-134',
    'A sign-in stands while the application has the address that it was answered at, letter by letter but…',
    async () => {
      const { appId, applicationId, servicePrincipalId } = await register()
      const [there, here] = [await signInAt(appId, evil), await signInAt(appId, redirectUri)]
      await there.refresh()
      await setAddresses(applicationId, redirectUri, `${origins[1]}/other`)
      await consentForAll(servicePrincipalId, 'RoleManagement.ReadWrite.Directory')
      for (const more of [{}, { scope: 'RoleManagement.ReadWrite.Directory' }])
        await assert.rejects(there.refresh(more), ended)
      const { access_token } = await here.refresh({ scope: 'RoleManagement.ReadWrite.Directory' })
      assert.equal(claimsOf(access_token).scp, 'RoleManagement.ReadWrite.Directory')
      // A refused client may go on once the address is back.
      await setAddresses(applicationId, redirectUri, evil)
      await there.refresh()

      const late = await beginSignIn(service, appId, basic, { redirect_uri: evil })
      const page = await here.browser.open(late.url)
      await setAddresses(applicationId, redirectUri)
      await assert.rejects(late.exchange(page), ended, 'a code that was sent before')

      const device = await register({ isFallbackPublicClient: true })
      const { refresh } = await signInDevice(device.appId)
      await refresh()
      await send('PATCH', `/v1.0/applications/${device.applicationId}`, { isFallbackPublicClient: false })
      await assert.rejects(refresh(), ended)
    },
  )

  clause(
    'TOK-134',
    'A sign-in stands while the application has the address that it was answered at, letter by letter but…',
    async (t) => {
      t.diagnostic('sign-ins of earlier releases')
      const { appId } = await register()
      const own = firstPartyApplications.cli.appId
      for (const [id, open] of [
        [appId, () => signInAt(appId, redirectUri)],
        [own, () => signInDevice(own)],
      ] as const) {
        const { refresh } = await open()
        await forgetFacts(service)
        if (id === own) await refresh()
        else await assert.rejects(refresh(), ended)
      }
    },
  )

  clause(
    'TOK-135',
    'No code is sent to an address that the application has lost since the sign-in began, whatever page the person has open.',
    async () => {
      const { appId, applicationId } = await register()
      const person = await addPerson(service)
      const browser = new Browser(...origins)
      const { url } = await beginSignIn(service, appId, basic, { redirect_uri: evil })
      const page = await browser.open(url)
      await setAddresses(applicationId, redirectUri)
      const refused = await signIn(browser, page, person)
      assert.equal(refused.status, 400)
      assert.ok(!browser.visited.some(({ origin }) => origin === origins[1]))
    },
  )

  clause(
    'TOK-136',
    'Disabling or deleting an application or its service principal ends the sign-ins of people at it for good…',
    async () => {
      const ways: [
        string,
        (ids: { applicationId: string; servicePrincipalId: string; appId: string }) => Promise<void>,
      ][] = [
        [
          'disabled',
          async ({ servicePrincipalId: id }) => {
            for (const accountEnabled of [false, true])
              await send('PATCH', `/v1.0/servicePrincipals/${id}`, { accountEnabled })
          },
        ],
        [
          'restored',
          async ({ applicationId: id }) => {
            await send('DELETE', `/v1.0/applications/${id}`)
            await send('POST', `/v1.0/directory/deletedItems/${id}/restore`)
          },
        ],
        [
          'made anew',
          async ({ servicePrincipalId: id, appId }) => {
            await send('DELETE', `/v1.0/servicePrincipals/${id}`)
            await send('DELETE', `/v1.0/directory/deletedItems/${id}`)
            await send('POST', '/v1.0/servicePrincipals', { appId })
          },
        ],
      ]
      for (const [name, shutOut] of ways) {
        const registered = await register()
        const { appId } = registered
        const { refresh, browser } = await signInAt(appId, redirectUri)
        await refresh()
        const late = await beginSignIn(service, appId, basic)
        const page = await browser.open(late.url)
        await shutOut(registered)
        const [living] = await service.database.sql<{ id: string }[]>`
          select id from directory_object
          where kind = 'servicePrincipal' and app_id = ${appId} and deleted_at is null`
        for (const permission of name === 'made anew' ? basic.split(' ') : [])
          await consentForAll(living?.id ?? '', permission)
        await assert.rejects(refresh(), ended, name)
        await assert.rejects(late.exchange(page), ended, `${name}: a code`)
        const again = await signInAt(appId, redirectUri)
        assert.ok((await again.refresh()).access_token, name)
      }
    },
  )

  clause(
    'TOK-137',
    'A person who signs out leaves no sign-in behind: those of the portal end too, though it asks for `offline_access`…',
    async () => {
      const redirect_uri = `${service.auth.identity.origin()}/`
      const portal = firstPartyApplications.portal.appId
      const scope = 'openid profile offline_access .default'
      const begun = await beginSignIn(service, portal, scope, { redirect_uri })
      const browser = new Browser()
      const person = await addPerson(service)
      const page = await signIn(browser, await browser.open(begun.url), person)
      const url = browser.visited.find(({ searchParams }) => searchParams.has('code')) ?? page.url
      const tokens = await begun.exchange({ ...page, url })
      assert.ok(await isAccepted(tokens.access_token))
      const out = oidc.buildEndSessionUrl(begun.config, {
        post_logout_redirect_uri: redirect_uri,
        id_token_hint: tokens.id_token ?? '',
      })
      await browser.submit(await browser.open(out), { logout: 'yes' })
      await assert.rejects(oidc.refreshTokenGrant(begun.config, tokens.refresh_token ?? ''), ended)
      assert.equal(await isAccepted(tokens.access_token), false)
    },
  )

  clause(
    'TOK-137',
    'A person who signs out leaves no sign-in behind: those of the portal end too, though it asks for `offline_access`…',
    async (t) => {
      t.diagnostic('a client that asked twice')
      const properties = { spa: { redirectUris: [redirectUri] } }
      const { appId } = await addApplication(service, { properties, consented: ['openid'] })
      const browser = new Browser(...origins)
      const person = await addPerson(service)
      const accept = async (scope: string) => {
        const begun = await beginSignIn(service, appId, scope)
        const first = await browser.open(begun.url)
        const page = /for="password"/.test(first.html) ? await signIn(browser, first, person) : first
        return { ...begun, tokens: await begun.exchange(await browser.submit(page)) }
      }
      const one = await accept('openid User.Read')
      const two = await accept('openid User.Read Mail.Read')
      const out = oidc.buildEndSessionUrl(two.config, {
        post_logout_redirect_uri: redirectUri,
        id_token_hint: two.tokens.id_token ?? '',
      })
      await browser.submit(await browser.open(out), { logout: 'yes' })
      for (const { tokens } of [one, two]) assert.equal(await isAccepted(tokens.access_token), false)
    },
  )

  clause(
    'TOK-138',
    'A refresh is refused once every consent that counts at the origin of the sign-in was withdrawn, and its…',
    async () => {
      const { appId, servicePrincipalId } = await register()
      const { refresh, tokens, person } = await signInAt(appId, redirectUri)
      assert.equal(claimsOf(tokens.id_token ?? '').preferred_username, person.userPrincipalName)
      const { database, tenantId } = service
      const withdraw = (...names: string[]) => database.sql`
        delete from delegated_permission
        where tenant_id = ${tenantId} and client_id = ${servicePrincipalId} and permission = any(${names})`
      await withdraw('profile')
      const { name, preferred_username, oid } = claimsOf((await refresh()).id_token ?? '')
      assert.deepEqual([name, preferred_username, oid], [undefined, undefined, person.id])
      await withdraw(...basic.split(' '))
      await assert.rejects(refresh(), ended)
    },
  )
})

/** As if an earlier release had stored the refresh tokens. */
async function forgetFacts({ database: { sql }, auth: { secretBox } }: TestService): Promise<void> {
  const rows = await sql<{ id: string; payload: { sealed: string } }[]>`
    select id, payload from oidc_state where model = 'RefreshToken'`
  for (const { id, payload } of rows) {
    const place = `oidc_state/RefreshToken/${id}`
    const stored = JSON.parse(secretBox.open(place, Buffer.from(payload.sealed, 'base64')))
    const { origin: _, address: __, shutOuts: ___, ...rest } = stored
    const sealed = secretBox.seal(place, JSON.stringify(rest)).toString('base64')
    await sql`update oidc_state set payload = ${sql.json({ sealed })} where model = 'RefreshToken' and id = ${id}`
  }
}
