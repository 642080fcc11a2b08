import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import * as oidc from 'openid-client'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { addApplication, addPerson, claimsOf, type Person, trustService } from '../../support/issuer.ts'
import { runHere, settleIn } from '../../support/run-here.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, redirectUri, signIn } from '../../support/sign-in.ts'

const evil = 'https://evil.example/take'
const origins = [redirectUri, evil].map((uri) => new URL(uri).origin)
const basic = 'openid offline_access User.Read'

describe('consents of single people', () => {
  let service: TestService

  before(async () => {
    service = await startTestService()
    trustService(service)
  })
  after(() => service[Symbol.asyncDispose]())

  /** An application that every person may sign in to, and a person who let it read their mail as well. */
  const letRead = async () => {
    const properties = { spa: { redirectUris: [redirectUri] } }
    const registered = await addApplication(service, { properties, consented: basic.split(' ') })
    const browser = new Browser(...origins)
    const person = await addPerson(service)
    const { appId } = registered
    const consentAt = async (redirect_uri: string, scope = `${basic} Mail.Read`) => {
      const { url, exchange } = await beginSignIn(service, appId, scope, { redirect_uri })
      const first = await browser.open(url)
      const page = /for="password"/.test(first.html) ? await signIn(browser, first, person) : first
      assert.match(page.html, /Allow access\?.*Read your mail/s)
      return exchange(await browser.submit(page))
    }
    assert.match(String(claimsOf((await consentAt(redirectUri)).access_token).scp), /Mail\.Read/)
    return { ...registered, browser, person, consentAt }
  }
  const change = async (applicationId: string, body: object, ...more: string[]) => {
    const permissions = ['Application.ReadWrite.All', ...more]
    const token = service.tokenFor({ kind: 'application', permissions })
    const changed = await service.request('PATCH', `/v1.0/applications/${applicationId}`, { token, body })
    assert.equal(changed.status, 204, changed.text)
  }
  const addAddress = (applicationId: string, ...more: string[]) =>
    change(applicationId, { spa: { redirectUris: [redirectUri, evil] } }, ...more)
  const scopesOf = (token: string) => String(claimsOf(token).scp).split(' ')

  clause(
    'TOK-122',
    'A consent of one person by TOK-24 counts for answers at the origin that it was given at. At another origin of the…',
    async () => {
      const { appId, applicationId, browser, consentAt } = await letRead()
      await addAddress(applicationId)
      const mail = await beginSignIn(service, appId, `${basic} Mail.Read`, { redirect_uri: evil })
      const asked = await browser.open(mail.url)
      assert.match(asked.html, /Allow access\?.*Read your mail.*https:\/\/evil\.example/s)
      const silent = { redirect_uri: evil, prompt: 'none' }
      const refused = await browser.open((await beginSignIn(service, appId, 'openid Mail.Read', silent)).url)
      assert.equal(refused.url.searchParams.get('error'), 'consent_required')

      for (const scope of [basic, `openid offline_access .default`]) {
        const { url, exchange, config } = await beginSignIn(service, appId, scope, { redirect_uri: evil })
        const tokens = await exchange(await browser.open(url))
        assert.deepEqual(scopesOf(tokens.access_token), ['User.Read'], scope)
        const refresh = (token: string | undefined, more: string) =>
          oidc.refreshTokenGrant(config, token ?? '', { scope: more })
        await assert.rejects(refresh(tokens.refresh_token, 'Mail.Read'), { error: 'invalid_scope' })
        const renewed = await refresh(tokens.refresh_token, '.default')
        assert.deepEqual(scopesOf(renewed.access_token), ['User.Read'])
        const again = await refresh(renewed.refresh_token, '.default')
        assert.deepEqual(scopesOf(again.access_token), ['User.Read'], 'each successor keeps the origin')
      }
      assert.ok(scopesOf((await consentAt(evil)).access_token).includes('Mail.Read'))
    },
  )

  clause(
    'TOK-122',
    'A consent of one person by TOK-24 counts for answers at the origin that it was given at. At another origin of the…',
    async (t) => {
      t.diagnostic('a consent that follows does not come to an earlier sign-in at another origin')
      const { appId, applicationId, browser, consentAt, servicePrincipalId, person } = await letRead()
      await addAddress(applicationId)
      const { url, exchange, config } = await beginSignIn(service, appId, basic, { redirect_uri: evil })
      const early = await exchange(await browser.open(url))
      const { database, tenantId } = service
      await database.sql`
        delete from delegated_permission
        where tenant_id = ${tenantId} and client_id = ${servicePrincipalId} and user_id = ${person.id}`
      const late = await consentAt(redirectUri)
      assert.ok(scopesOf(late.access_token).includes('Mail.Read'))
      const refresh = oidc.refreshTokenGrant(config, early.refresh_token ?? '', { scope: 'Mail.Read' })
      await assert.rejects(refresh, { error: 'invalid_scope' })
      const own = await oidc.refreshTokenGrant(config, late.refresh_token ?? '', { scope: 'Mail.Read' })
      assert.deepEqual(scopesOf(own.access_token), ['Mail.Read'])
      const open = await beginSignIn(service, appId, `${basic} Mail.Read`)
      assert.equal((await browser.open(open.url)).url.origin, origins[0], 'no page where it was given')
    },
  )

  clause(
    'TOK-122',
    'A consent of one person by TOK-24 counts for answers at the origin that it was given at. At another origin of the…',
    async (t) => {
      t.diagnostic('sign-ins of devices are an origin of their own')
      const { appId, applicationId, browser, person } = await letRead()
      await change(applicationId, { isFallbackPublicClient: true })
      const { config } = await beginSignIn(service, appId, basic)
      const confirmDevice = async (scope: string) => {
        // A device has no address: it cannot borrow the consent of one.
        const wishes = { scope, redirect_uri: redirectUri }
        const started = await oidc.initiateDeviceAuthorization(config, wishes)
        const { verification_uri, user_code } = started
        const page = await browser.submit(await browser.open(verification_uri), { user_code })
        const next = await browser.submit(page, { confirm: 'yes' })
        const redeem = () => oidc.pollDeviceAuthorizationGrant(config, { ...started, interval: 0.01 })
        return { page, next, redeem }
      }
      const refresh = ({ refresh_token }: { refresh_token?: string }, scope: string) =>
        oidc.refreshTokenGrant(config, refresh_token ?? '', { scope })

      const early = await confirmDevice('openid offline_access .default')
      assert.match(early.page.html, new RegExp(person.userPrincipalName))
      assert.match(early.next.html, /You are signed in/, 'no page for what everybody was allowed')
      const tokens = await early.redeem()
      assert.deepEqual(scopesOf(tokens.access_token), ['User.Read'])
      await assert.rejects(refresh(tokens, 'Mail.Read'), { error: 'invalid_scope' })
      const renewed = await refresh(tokens, '.default')
      assert.deepEqual(scopesOf(renewed.access_token), ['User.Read'])

      const mail = await confirmDevice(`${basic} Mail.Read`)
      assert.match(mail.next.html, /Allow access\?.*Read your mail.*attempt to sign in as you/s)
      assert.match((await browser.submit(mail.next)).html, /You are signed in/)
      assert.ok(scopesOf((await mail.redeem()).access_token).includes('Mail.Read'))
      const again = await confirmDevice(`${basic} Mail.Read`)
      assert.match(again.next.html, /You are signed in/, 'no page where it was given')
      const other = await refresh(renewed, 'Mail.Read')
      assert.deepEqual(scopesOf(other.access_token), ['Mail.Read'])
    },
  )

  clause(
    'TOK-122',
    'A consent of one person by TOK-24 counts for answers at the origin that it was given at. At another origin of the…',
    async (t) => {
      t.diagnostic('an administrator consents for one person')
      const properties = { spa: { redirectUris: [redirectUri] } }
      const one = await addApplication(service, { properties, consented: basic.split(' ') })
      const person = await addPerson(service)
      const granted = await service.request('POST', '/v1.0/oauth2PermissionGrants', {
        token: service.tokenFor({ permissions: ['DelegatedPermissionGrant.ReadWrite.All'] }),
        body: {
          clientId: one.servicePrincipalId,
          consentType: 'Principal',
          principalId: person.id,
          resourceId: await fillDirectory(service).findApi(),
          scope: 'Mail.Read Group.Read.All',
        },
      })
      assert.equal(granted.status, 201, granted.text)
      await addAddress(one.applicationId, 'Group.Read.All')
      const browser = new Browser(...origins)
      const { url, exchange } = await beginSignIn(service, one.appId, `${basic} Mail.Read`)
      const tokens = await exchange(await signIn(browser, await browser.open(url), person))
      assert.ok(scopesOf(tokens.access_token).includes('Mail.Read'))
      const mail = await beginSignIn(service, one.appId, `${basic} Mail.Read`, { redirect_uri: evil })
      assert.match((await browser.open(mail.url)).html, /Allow access\?/)
      // Only callers who could grant this one add addresses (DIR-154).
      const other = await beginSignIn(service, one.appId, 'openid Group.Read.All', { redirect_uri: evil })
      const wide = await other.exchange(await browser.open(other.url))
      assert.deepEqual(scopesOf(wide.access_token), ['Group.Read.All'])
    },
  )

  clause(
    'TOK-173',
    'A consent that an administrator gives in the place of one person (TOK-122) counts at the addresses at which the…',
    async () => {
      const web = { redirectUris: [redirectUri] }
      const properties = { web, publicClient: { redirectUris: [evil] } }
      const environment = await settleIn(service)
      const given = ['Mail.Read', 'Group.Read.All']
      const token = service.tokenFor({ permissions: ['DelegatedPermissionGrant.ReadWrite.All'] })
      const ways: readonly ((clientId: string, appId: string, person: Person) => Promise<void>)[] = [
        async (clientId, _appId, { id: principalId }) => {
          const resourceId = await fillDirectory(service).findApi()
          const body = { clientId, consentType: 'Principal', principalId, resourceId, scope: given.join(' ') }
          const granted = await service.request('POST', '/v1.0/oauth2PermissionGrants', { token, body })
          assert.equal(granted.status, 201, granted.text)
        },
        async (_clientId, appId, { userPrincipalName }) => {
          const permissions = given.flatMap((name) => ['--permission', name])
          const command = ['application', 'consent', appId, ...permissions, '--user', userPrincipalName]
          const ran = await runHere(command, { environment })
          assert.equal(ran.code, 0, ran.stderr)
        },
      ]
      for (const consent of ways) {
        const one = await addApplication(service, { properties, consented: basic.split(' ') })
        const person = await addPerson(service)
        await consent(one.servicePrincipalId, one.appId, person)
        await change(one.applicationId, { isFallbackPublicClient: true }, 'Group.Read.All')
        const browser = new Browser(...origins)
        // People confirm each sign-in at a native application, on a page with the permissions that it asks for.
        const refreshAt = async (redirect_uri: string, scope = 'Mail.Read') => {
          const { url, exchange, config } = await beginSignIn(service, one.appId, basic, { redirect_uri })
          const first = await browser.open(url)
          const page = /for="password"/.test(first.html) ? await signIn(browser, first, person) : first
          assert.match(page.html, /Allow access\?/)
          assert.doesNotMatch(page.html, /Read your mail/)
          const { refresh_token } = await exchange(await browser.submit(page))
          return oidc.refreshTokenGrant(config, refresh_token ?? '', { scope })
        }
        const here = await refreshAt(redirectUri)
        assert.deepEqual(scopesOf(here.access_token), ['Mail.Read'])
        await assert.rejects(refreshAt(evil), { error: 'invalid_scope' }, 'the page did not name it')
        const there = await refreshAt(evil, 'Group.Read.All')
        assert.deepEqual(scopesOf(there.access_token), ['Group.Read.All'], 'no page asks for it anywhere')
      }
    },
  )

  clause(
    'TOK-122',
    'A consent of one person by TOK-24 counts for answers at the origin that it was given at. At another origin of the…',
    async (t) => {
      t.diagnostic('an administrator withdraws a part of what a person consented to')
      const { appId, applicationId, servicePrincipalId, browser, person } = await letRead()
      const more = await beginSignIn(service, appId, `${basic} Mail.Read Contacts.Read`)
      await browser.submit(await browser.open(more.url))
      await addAddress(applicationId)
      const token = service.tokenFor({ permissions: ['DelegatedPermissionGrant.ReadWrite.All'] })
      const grants = await service.request('GET', '/v1.0/oauth2PermissionGrants', { token })
      const grant = grants.body.value.find(
        (one: { clientId: string; principalId: string | null }) =>
          one.clientId === servicePrincipalId && one.principalId === person.id,
      )
      assert.match(grant.scope, /Contacts\.Read/)
      const changed = await service.request('PATCH', `/v1.0/oauth2PermissionGrants/${grant.id}`, {
        token,
        body: { scope: grant.scope.replace('Contacts.Read', '').trim() },
      })
      assert.equal(changed.status, 204, changed.text)
      const mail = await beginSignIn(service, appId, `${basic} Mail.Read`, { redirect_uri: evil })
      assert.match((await browser.open(mail.url)).html, /Allow access\?/)
    },
  )

  clause(
    'TOK-122',
    'A consent of one person by TOK-24 counts for answers at the origin that it was given at. At another origin of the…',
    async (t) => {
      t.diagnostic('an operator consents for one person')
      const properties = { spa: { redirectUris: [redirectUri] } }
      const { appId } = await addApplication(service, { properties, consented: basic.split(' ') })
      const person = await addPerson(service)
      const command = ['application', 'consent', appId, '--permission', 'Mail.Read']
      const environment = await settleIn(service)
      const ran = await runHere([...command, '--user', person.userPrincipalName], { environment })
      assert.equal(ran.code, 0, ran.stderr)
      const browser = new Browser(...origins)
      const { url, exchange } = await beginSignIn(service, appId, `${basic} Mail.Read`)
      const tokens = await exchange(await signIn(browser, await browser.open(url), person))
      assert.ok(scopesOf(tokens.access_token).includes('Mail.Read'))
    },
  )
})
