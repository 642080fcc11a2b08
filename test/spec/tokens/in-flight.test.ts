import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import * as oidc from 'openid-client'
import type { Tx } from '../../../src/db/database.ts'
import { setPassword } from '../../../src/directory/accounts/password.ts'
import { voidTokens } from '../../../src/directory/accounts/standing.ts'
import { addSecret, removeSecret } from '../../../src/directory/applications/application-secret.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { askDuring } from '../../support/in-flight.ts'
import { addApplication, addPerson, type Person, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, redirectUri, signIn, signInDevice } from '../../support/sign-in.ts'
import { waitUntil } from '../../support/wait-until.ts'

const scope = 'openid offline_access User.Read'
const consented = scope.split(' ')
const properties = { spa: { redirectUris: [redirectUri] }, isFallbackPublicClient: true }
const ended = '400 invalid_grant'
const shut = '401 invalid_client'
type Application = Awaited<ReturnType<typeof addApplication>>
type Answer = Awaited<ReturnType<typeof oidc.refreshTokenGrant>>

const outcomeOf = (asked: Promise<Answer>): Promise<string> =>
  asked.then(
    () => 'a token',
    ({ status, error }) => `${status} ${error}`,
  )

describe('token requests in flight', () => {
  let service: TestService

  before(async () => {
    service = await startTestService()
    trustService(service)
  })
  after(() => service[Symbol.asyncDispose]())

  const enable = (tx: Tx, id: string, accountEnabled: boolean) => tx`
    update directory_object set properties = properties || ${tx.json({ accountEnabled })}::jsonb where id = ${id}`
  const remove = (tx: Tx, id: string) => tx`update directory_object set deleted_at = now() where id = ${id}`
  const bringBack = (tx: Tx, id: string) => tx`
    update directory_object set deleted_at = null, properties = properties || '{"accountEnabled": true}' where id = ${id}`

  /** Ways to get tokens of a person, each up to the last request. */
  const ways: Record<string, (appId: string, person: Person) => Promise<() => Promise<Answer>>> = {
    'a refresh': async (appId, person) => {
      const { url, exchange, config } = await beginSignIn(service, appId, scope)
      const browser = new Browser(new URL(redirectUri).origin)
      const { refresh_token } = await exchange(await signIn(browser, await browser.open(url), person))
      return () => oidc.refreshTokenGrant(config, refresh_token ?? '')
    },
    'a code': async (appId, person) => {
      const { url, exchange } = await beginSignIn(service, appId, scope)
      const browser = new Browser(new URL(redirectUri).origin)
      const page = await signIn(browser, await browser.open(url), person)
      return () => exchange(page)
    },
    'a device code': async (appId, person) => {
      const { config } = await beginSignIn(service, appId, scope)
      const started = await oidc.initiateDeviceAuthorization(config, { scope })
      const browser = new Browser()
      const code = { user_code: started.user_code }
      const asked = await browser.submit(await browser.open(started.verification_uri), code)
      await signInDevice(browser, await browser.submit(asked, { confirm: 'yes' }), person)
      return () => oidc.pollDeviceAuthorizationGrant(config, { ...started, interval: 0.01 })
    },
  }

  type Cases = Readonly<Record<string, (tx: Tx, id: string) => Promise<unknown>>>
  /** All of them for a refresh, the first for the other ways: a sign-in takes long. */
  const casesOf = (way: string, cases: Cases) =>
    Object.entries(cases).slice(0, way === 'a refresh' ? undefined : 1)

  const post = async (parameters: Record<string, string>) => {
    const url = `${service.origin}/${service.tenantId}/oauth2/v2.0/token`
    const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(parameters) })
    const { error, access_token } = (await answer.json()) as Record<string, string>
    return access_token === undefined ? `${answer.status} ${error}` : 'a token'
  }
  const asApplication = ({ appId, secret }: Application) =>
    post({
      grant_type: 'client_credentials',
      client_id: appId,
      client_secret: secret,
      scope: `${service.auth.identity.origin()}/.default`,
    })
  const onBehalfOf = ({ appId, secret }: Application, assertion: string) =>
    post({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      requested_token_use: 'on_behalf_of',
      client_id: appId,
      client_secret: secret,
      assertion,
      scope: `${service.auth.identity.origin()}/User.Read`,
    })

  clause(
    'TOK-139',
    'A request for the tokens of a person that is under way while the password is changed, the sign-ins are…',
    async () => {
      const { appId } = await addApplication(service, { properties, consented })
      const { tenantId } = service
      const revocations: Cases = {
        'a new password': (tx, id) => setPassword(tx, tenantId, id, 'Quite another 1 password'),
        'sign-ins revoked': async (tx, id) => {
          await tx`
            update user_password set changed_at = greatest(clock_timestamp(), changed_at + interval '1 second')
            where user_id = ${id}`
          await voidTokens(tx, tenantId, id)
        },
        disabled: (tx, id) => enable(tx, id, false),
        'disabled and enabled': async (tx, id) => {
          await enable(tx, id, false)
          await enable(tx, id, true)
        },
        deleted: remove,
      }
      const outcomes: [string, string, string][] = []
      for (const [what, begin] of Object.entries(ways))
        for (const [how, revoke] of casesOf(what, revocations)) {
          const person = await addPerson(service)
          const ask = await begin(appId, person)
          const during = await outcomeOf(askDuring(service, (tx) => revoke(tx, person.id), ask))
          await service.database.transaction((tx) => bringBack(tx, person.id))
          outcomes.push([`${what}, ${how}`, during, await outcomeOf(ask())])
        }
      for (const [how, revoke] of casesOf('on behalf of', revocations)) {
        const middle = await addApplication(service, { consented })
        const person = await addPerson(service)
        const redeem = await ways['a code']?.(appId, person)
        const { access_token = '' } = (await redeem?.()) ?? {}
        const ask = () => onBehalfOf(middle, access_token)
        const during = await askDuring(service, (tx) => revoke(tx, person.id), ask)
        outcomes.push([`on behalf of, ${how}`, during, await ask()])
      }
      assert.deepEqual(
        outcomes,
        outcomes.map(([name]) => [name, ended, ended]),
      )
    },
  )

  clause(
    'TOK-140',
    'A token request of an application that is disabled or deleted while the request is under way is 401…',
    async () => {
      const shutOuts: Cases = {
        disabled: (tx, id) => enable(tx, id, false),
        'disabled and enabled': async (tx, id) => {
          await enable(tx, id, false)
          await enable(tx, id, true)
        },
        deleted: remove,
      }
      const front = await addApplication(service, { properties, consented })
      const redeem = await ways['a code']?.(front.appId, await addPerson(service))
      const { access_token = '' } = (await redeem?.()) ?? {}
      const own: Record<string, (application: Application) => Promise<string>> = {
        'its own token': asApplication,
        'on behalf of a person': (application) => onBehalfOf(application, access_token),
      }
      const outcomes: [string, string][] = []
      for (const [how, shutOut] of Object.entries(shutOuts))
        for (const [what, ask] of Object.entries(own)) {
          const application = await addApplication(service, { consented, permissions: ['User.Read.All'] })
          assert.equal(await ask(application), 'a token', what)
          const { servicePrincipalId } = application
          const asked = askDuring(
            service,
            (tx) => shutOut(tx, servicePrincipalId),
            () => ask(application),
          )
          outcomes.push([`${what}, ${how}`, await asked])
        }
      assert.deepEqual(
        outcomes,
        outcomes.map(([name]) => [name, shut]),
      )

      const signIns: [string, string, string][] = []
      for (const [what, begin] of Object.entries(ways))
        for (const [how, shutOut] of casesOf(what, shutOuts)) {
          const { appId, servicePrincipalId } = await addApplication(service, { properties, consented })
          const ask = await begin(appId, await addPerson(service))
          const during = await outcomeOf(askDuring(service, (tx) => shutOut(tx, servicePrincipalId), ask))
          await service.database.transaction((tx) => bringBack(tx, servicePrincipalId))
          signIns.push([`${what}, ${how}`, during, await outcomeOf(ask())])
        }
      assert.deepEqual(
        signIns,
        signIns.map(([name]) => [name, name.endsWith('enabled') ? ended : shut, ended]),
      )
    },
  )

  clause(
    'TOK-141',
    'A secret or certificate gives no token once it was removed, not even to a request that proved itself by…',
    async () => {
      const { tenantId, database } = service
      const application = await addApplication(service, { permissions: ['User.Read.All'] })
      const { applicationId, servicePrincipalId } = application
      const wait = (tx: Tx) => voidTokens(tx, tenantId, servicePrincipalId)
      const second = await addSecret(database.sql, tenantId, applicationId)
      const drop = (keyId: string) =>
        database.transaction((tx) => removeSecret(tx, tenantId, applicationId, keyId))
      const kept = askDuring(
        service,
        wait,
        () => asApplication(application),
        () => drop(second.keyId),
      )
      assert.equal(await kept, 'a token', 'another secret was removed')
      const [row] = await database.sql<{ keyId: string }[]>`
        select key_id as "keyId" from application_secret where application_id = ${applicationId}`
      const gone = askDuring(
        service,
        wait,
        () => asApplication(application),
        () => drop(row?.keyId ?? ''),
      )
      assert.equal(await gone, shut)
    },
  )

  clause(
    'TOK-185',
    'Consent on the page is refused, and nothing is stored, where the person or the client was deleted meanwhile, …',
    async () => {
      const cases: Record<string, (person: Person, client: Application) => string> = {
        'the person': ({ id }) => id,
        'the client': (_, { servicePrincipalId }) => servicePrincipalId,
      }
      for (const [what, find] of Object.entries(cases)) {
        const [client, person] = [await addApplication(service, { properties }), await addPerson(service)]
        const { url } = await beginSignIn(service, client.appId, 'openid Mail.Read')
        const browser = new Browser(new URL(redirectUri).origin)
        const page = await signIn(browser, await browser.open(url), person)
        assert.match(page.html, /Allow access\?/)
        const id = find(person, client)
        const next = await askDuring(
          service,
          async (tx) => {
            await tx`select from directory_object where id = ${id} for update`
            await remove(tx, id)
          },
          () => browser.submit(page),
        )
        assert.equal(next.url.searchParams.get('code'), null, what)
        const rows = await service.database.sql`
          select from delegated_permission where client_id = ${client.servicePrincipalId}`
        assert.equal(rows.count, 0, what)
      }
    },
  )

  clause(
    'TOK-186',
    'Consent on the page does not wait for an import that changes the person or the client and does not delete them. …',
    async () => {
      const { database } = service
      const [client, person] = [await addApplication(service, { properties }), await addPerson(service)]
      const { url } = await beginSignIn(service, client.appId, 'openid Mail.Read')
      const browser = new Browser(new URL(redirectUri).origin)
      const page = await signIn(browser, await browser.open(url), person)
      const ids = [client.servicePrincipalId, person.id]
      await database.transaction(async (tx) => {
        // As an import has the objects that it changes, up to its end.
        await tx`select from directory_object where id = any(${ids}::uuid[]) order by id for no key update`
        let next: typeof page | undefined
        void browser.submit(page).then((shown) => {
          next = shown
        })
        await waitUntil('the consent is answered', () => next !== undefined, { withinMs: 15_000 })
        assert.ok(next?.url.searchParams.get('code'))
      })
      const rows = await database.sql`
        select from delegated_permission
        where client_id = ${client.servicePrincipalId} and user_id = ${person.id} and permission = 'Mail.Read'`
      assert.equal(rows.count, 1)
    },
  )
})
