import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import * as oidc from 'openid-client'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { permissionId, serviceAppId } from '../../../src/directory/applications/api-principal.ts'
import { addSecret, removeSecret } from '../../../src/directory/applications/application-secret.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import {
  assertionType,
  type Certificate,
  makeCertificate,
  signAssertion,
} from '../../support/client-certificate.ts'
import { askDuring } from '../../support/in-flight.ts'
import { addApplication, addPerson, claimsOf, trustService } from '../../support/issuer.ts'
import { startNodesThatHear } from '../../support/other-node.ts'
import type { TestService } from '../../support/service.ts'
import { redirectUri, signIn } from '../../support/sign-in.ts'
import { waitUntil } from '../../support/wait-until.ts'

const scope = 'https://graph.microsoft.com/User.Read'
const rule =
  'An access token ends with the secret or certificate that its client proved itself by: once that is removed, …'

describe('tokens of a removed secret or certificate', () => {
  let service: TestService
  let other: TestService
  let [one, two]: Certificate[] = []

  before(async () => {
    ;[service, other] = await startNodesThatHear()
    trustService(service)
    ;[one, two] = await Promise.all([makeCertificate(), makeCertificate()])
  })
  after(async () => {
    await other?.[Symbol.asyncDispose]()
    await service?.[Symbol.asyncDispose]()
  })

  const tokenUrl = () => `${service.origin}/${service.tenantId}/oauth2/v2.0/token`
  const post = async (parameters: Record<string, string>) => {
    const response = await fetch(tokenUrl(), { method: 'POST', body: new URLSearchParams(parameters) })
    return (await response.json()) as Record<string, string>
  }
  const tokenOf = (answer: Record<string, string>) =>
    answer.access_token ?? assert.fail(answer.error_description)
  const bySecret = async (client_id: string, client_secret: string) =>
    tokenOf(await post({ grant_type: 'client_credentials', client_id, client_secret, scope: '.default' }))
  const byCertificate = async (appId: string, by = one ?? assert.fail(), named = by) =>
    tokenOf(
      await post({
        grant_type: 'client_credentials',
        scope: '.default',
        client_assertion_type: assertionType,
        client_assertion: await signAssertion(appId, tokenUrl(), { by, header: { x5t: named.x5t } }),
      }),
    )
  const exchange = (assertion: string, { appId, secret }: { appId: string; secret: string }) =>
    post({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      requested_token_use: 'on_behalf_of',
      client_id: appId,
      client_secret: secret,
      assertion,
      scope,
    })
  const statusOf = async (token: string, node = service) =>
    (await node.request('GET', '/v1.0/users?$top=1', { token })).status
  const endsEverywhere = (token: string, what: string) =>
    waitUntil(what, async () => (await statusOf(token)) === 401 && (await statusOf(token, other)) === 401)
  const goesOn = async (token: string, what: string) => {
    for (const node of [service, other]) assert.notEqual(await statusOf(token, node), 401, what)
  }
  const administer = async (method: string, path: string, body: unknown) => {
    const token = service.tokenFor({ kind: 'application', permissions: Object.keys(knownPermissions) })
    const answer = await service.request(method, `/v1.0/applications/${path}`, { token, body })
    assert.ok(answer.status < 300, answer.text)
    return answer.body
  }
  const addSecretTo = async (id: string) => {
    const { keyId, secretText } = await administer('POST', `${id}/addPassword`, {})
    const remove = () => administer('POST', `${id}/removePassword`, { keyId })
    return { secret: secretText as string, remove }
  }
  const setKeys = (id: string, ...keyCredentials: unknown[]) => administer('PATCH', id, { keyCredentials })
  const makeOwner = (principalId: string, token = service.tokenFor({ role: 'Owner' })) =>
    service.request(
      'PUT',
      `/providers/Vendor.Authorization/roleAssignments/${randomUUID()}?api-version=2014-04-01`,
      { token, body: { properties: { principalId, roleName: 'Owner' } } },
    )

  clause('TOK-154', rule, async () => {
    const permissions = ['User.Read.All', 'Application.ReadWrite.All']
    const application = await addApplication(service, { permissions })
    const { appId, applicationId, servicePrincipalId } = application
    const thief = await addSecretTo(applicationId)
    const stolen = await bySecret(appId, thief.secret)
    const kept = await bySecret(appId, application.secret)
    for (const token of [stolen, kept]) await goesOn(token, 'before')
    await thief.remove()
    await endsEverywhere(stolen, 'the secret was removed')
    await goesOn(kept, 'by the other secret')
    assert.equal((await makeOwner(servicePrincipalId)).status, 201)
    assert.equal((await makeOwner(service.tokens.shared.user, stolen)).status, 401, 'rights given later')
    assert.equal((await makeOwner(service.tokens.shared.user, kept)).status, 201)
    const path = `/v1.0/applications/${applicationId}/addPassword`
    assert.equal((await service.request('POST', path, { token: stolen, body: {} })).status, 401)
  })

  // The same of certificates, and of one that the thief removes at once.
  clause('TOK-154', rule, async () => {
    const { appId, applicationId } = await addApplication(service, { permissions: ['User.Read.All'] })
    await setKeys(applicationId, { key: one?.key }, { key: two?.key })
    const [first, second] = [await byCertificate(appId, one), await byCertificate(appId, two)]
    for (const token of [first, second]) await goesOn(token, 'before')
    await setKeys(applicationId, { key: two?.key })
    await endsEverywhere(first, 'the certificate was removed')
    await goesOn(second, 'by the other certificate')
    await setKeys(applicationId)
    await endsEverywhere(second, 'all certificates were removed')
    const unseen = await addSecretTo(applicationId)
    const token = await bySecret(appId, unseen.secret)
    await unseen.remove()
    await endsEverywhere(token, 'a token that was not used before')
  })

  /** A web application with two secrets beside its own, and a sign-in of a person at it. */
  async function signInAtWeb() {
    const application = await addApplication(service, {
      properties: { web: { redirectUris: [redirectUri] } },
      consented: ['openid', 'offline_access', 'User.Read', 'User.ReadBasic.All'],
    })
    const issuer = new URL(service.auth.identity.issuer())
    const [first, second] = [
      await addSecretTo(application.applicationId),
      await addSecretTo(application.applicationId),
    ]
    const configure = (secret: string) => oidc.discovery(issuer, application.appId, secret)
    const [here, there] = [await configure(first.secret), await configure(second.secret)]
    const verifier = oidc.randomPKCECodeVerifier()
    const url = oidc.buildAuthorizationUrl(here, {
      redirect_uri: redirectUri,
      scope: 'openid offline_access User.Read User.ReadBasic.All',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const browser = new Browser('https://client.example')
    const done = await signIn(browser, await browser.open(url), await addPerson(service))
    const tokens = await oidc.authorizationCodeGrant(here, done.url, { pkceCodeVerifier: verifier })
    const refresh = () => oidc.refreshTokenGrant(there, tokens.refresh_token ?? '')
    return { ...application, first, second, token: tokens.access_token, refresh }
  }

  clause('TOK-154', rule, async () => {
    const { first, second, token, refresh } = await signInAtWeb()
    const { access_token: renewed } = await refresh()
    for (const each of [token, renewed]) await goesOn(each, 'before')
    await first.remove()
    await endsEverywhere(token, 'by code')
    await goesOn(renewed, 'the sign-in goes on')
    await second.remove()
    await endsEverywhere(renewed, 'by refresh token')
  })

  clause(
    'TOK-155',
    'An exchanged token ends also with the secret or certificate by which the client of the exchanged token got…',
    async () => {
      const { first, token } = await signInAtWeb()
      const middle = await addApplication(service, { consented: ['User.Read'] })
      const last = await addApplication(service, { consented: ['User.Read'] })
      const own = await addSecretTo(middle.applicationId)
      const exchanged = tokenOf(await exchange(token, middle))
      const by = tokenOf(await exchange(token, { ...middle, secret: own.secret }))
      const twice = tokenOf(await exchange(by, last))
      for (const each of [exchanged, by, twice]) await goesOn(each, 'before')
      await own.remove()
      for (const each of [by, twice]) await endsEverywhere(each, 'on behalf of (TOK-154)')
      await goesOn(exchanged, 'by another secret')
      await first.remove()
      await endsEverywhere(exchanged, 'by the secret of the first client')
      assert.equal((await exchange(token, middle)).error, 'invalid_grant')
    },
  )

  clause(
    'TOK-156',
    'The token of an assertion belongs to the certificate whose key signed it, whatever certificate the assertion names.…',
    async () => {
      const { appId, applicationId } = await addApplication(service)
      const stranger = await addApplication(service)
      const keyId = randomUUID()
      await setKeys(applicationId, { key: one?.key, keyId }, { key: two?.key })
      await setKeys(stranger.applicationId, { key: one?.key, keyId })
      const signed = await byCertificate(appId, one, two)
      await goesOn(signed, 'it names the second and is signed by the first')
      await setKeys(applicationId, { key: one?.key, keyId })
      await goesOn(signed, 'the named one was removed')
      await setKeys(applicationId, { key: two?.key, keyId })
      await endsEverywhere(signed, 'another certificate has its keyId')
      const next = await byCertificate(appId, two)
      await setKeys(applicationId, { keyId, displayName: 'sent back' })
      await goesOn(next, 'the certificate was kept')
    },
  )

  /** Long enough to use the tokens before. */
  const soon = () => new Date(Date.now() + 8_000).toISOString()
  const addBriefSecret = async (id: string) => {
    const passwordCredential = { endDateTime: soon() }
    return (await administer('POST', `${id}/addPassword`, { passwordCredential })).secretText as string
  }
  const expire = (applicationId: string) => service.database.sql`
    update application_secret set ends_at = clock_timestamp() where application_id = ${applicationId}`
  const grantTo = async (principalId: string) => {
    const token = service.tokenFor({ kind: 'application', permissions: Object.keys(knownPermissions) })
    const { sql } = service.database
    const [api] = await sql<{ id: string }[]>`
      select id from directory_object where kind = 'servicePrincipal' and app_id = ${serviceAppId}`
    const path = `/v1.0/servicePrincipals/${principalId}/appRoleAssignments`
    const body = { principalId, resourceId: api?.id, appRoleId: permissionId('User.Read.All') }
    const answer = await service.request('POST', path, { token, body })
    assert.equal(answer.status, 201, answer.text)
    const [entry] = await sql<{ holders: Record<string, number> }[]>`
      select after -> 'holders' as holders from audit_event
      where target = ${`/servicePrincipals/${principalId}`} and action = 'grant permissions' order by id desc limit 1`
    return entry?.holders
  }

  clause(
    'TOK-157',
    'A secret or certificate that expires ends its tokens as its removal does (TOK-154), on every node at its time. The…',
    async () => {
      const { appId, applicationId, servicePrincipalId, secret } = await addApplication(service)
      await setKeys(applicationId, { key: two?.key })
      const kept = [await bySecret(appId, secret), await byCertificate(appId, two)]
      const tokens = [await bySecret(appId, await addBriefSecret(applicationId))]
      // Nodes remember for minutes here that the credential was there.
      await goesOn(tokens[0] ?? '', 'before')
      await setKeys(applicationId, { key: one?.key, endDateTime: soon() }, { key: two?.key })
      tokens.push(await byCertificate(appId, one))
      await goesOn(tokens[1] ?? '', 'before')
      for (const token of tokens) await endsEverywhere(token, 'its credential has expired')
      const { secrets, certificates } = (await grantTo(servicePrincipalId)) ?? {}
      assert.deepEqual([secrets, certificates], [1, 1], 'no other has a token')
      assert.equal((await makeOwner(servicePrincipalId)).status, 201)
      for (const token of tokens)
        assert.equal((await makeOwner(service.tokens.shared.user, token)).status, 401, 'rights given later')
      for (const token of kept) await goesOn(token, 'by another credential')
    },
  )

  clause(
    'TOK-170',
    'A token lasts no longer than the secret or certificate of its client, and `expires_in` says so, for a token of…',
    async () => {
      const { refresh, applicationId, token } = await signInAtWeb()
      const middle = await addApplication(service, { consented: ['User.Read'] })
      const last = await addApplication(service, { consented: ['User.Read'] })
      const { sql } = service.database
      const endsIn = (id: string, seconds: number) => sql`
        update application_secret set ends_at = clock_timestamp() + make_interval(secs => ${seconds}) where application_id = ${id}`
      const lasts = (answer: { access_token?: string; expires_in?: unknown }, atMost: number) => {
        const { exp = 0, iat = 0 } = claimsOf(answer.access_token ?? assert.fail(JSON.stringify(answer)))
        assert.ok(Number(exp) - Number(iat) <= atMost, `${exp} - ${iat}`)
        assert.ok(Number(answer.expires_in) > 0 && Number(answer.expires_in) <= atMost)
      }
      await endsIn(middle.applicationId, 300)
      const exchanged = await exchange(token, middle)
      lasts(exchanged, 300)
      lasts(await exchange(exchanged.access_token ?? '', last), 300)
      const own = { grant_type: 'client_credentials', scope: '.default' }
      lasts(await post({ ...own, client_id: middle.appId, client_secret: middle.secret }), 300)
      await setKeys(last.applicationId, {
        key: one?.key,
        endDateTime: new Date(Date.now() + 200_000).toISOString(),
      })
      const { exp, iat } = claimsOf(await byCertificate(last.appId, one))
      assert.ok(Number(exp) - Number(iat) <= 200)
      await endsIn(applicationId, 100)
      lasts(await refresh(), 100)
      // Whether it has ended by then or not.
      await endsIn(middle.applicationId, 0.9)
      const refused = await post({ ...own, client_id: middle.appId, client_secret: middle.secret })
      assert.equal(refused.error, 'invalid_client')
    },
  )

  clause(
    'TOK-172',
    'A write that is under way while the secret or certificate of its token expires is refused with 403, as by TOK-158.',
    async () => {
      const permissions = ['Application.ReadWrite.All']
      const { appId, applicationId, secret } = await addApplication(service, { permissions })
      const token = await bySecret(appId, secret)
      const path = `/v1.0/applications/${applicationId}`
      const refused = await askDuring(
        service,
        async (tx) => {
          await tx`select from directory_object where id = ${applicationId} for update`
        },
        () => service.request('PATCH', path, { token, body: { displayName: 'Late' } }),
        () => expire(applicationId),
      )
      assert.equal(refused.status, 403, refused.text)
    },
  )

  clause(
    'TOK-158',
    'A write that is under way while the secret or certificate of its token is removed is refused with 403,…',
    async () => {
      const { tenantId, database } = service
      const permissions = ['Application.ReadWrite.All']
      const { appId, applicationId } = await addApplication(service, { permissions })
      const path = `/v1.0/applications/${applicationId}`
      const patch = (token: string, body: unknown) => service.request('PATCH', path, { token, body })
      const { keyId, secretText } = await addSecret(database.sql, tenantId, applicationId)
      const bySecond = await bySecret(appId, secretText)
      const refused = await askDuring(
        service,
        (tx) => removeSecret(tx, tenantId, applicationId, keyId),
        () => patch(bySecond, { displayName: 'Late' }),
      )
      assert.equal(refused.status, 403, refused.text)

      await setKeys(applicationId, { key: one?.key })
      const [stored] = (await service.request('GET', path, { token: await byCertificate(appId, one) })).body
        .keyCredentials
      const late = await byCertificate(appId, one)
      const added = await askDuring(
        service,
        (tx) => tx`
          update directory_object set properties = properties || '{"keyCredentials": null}' where id = ${applicationId}`,
        () => patch(late, { keyCredentials: [{ keyId: stored.keyId, key: one?.key }] }),
      )
      assert.equal(added.status, 403, added.text)
      const [row] = await database.sql<{ keys: unknown; name: string }[]>`
        select properties -> 'keyCredentials' as keys, properties ->> 'displayName' as name
        from directory_object where id = ${applicationId}`
      assert.equal(row?.keys, null)
      assert.notEqual(row?.name, 'Late')

      await setKeys(applicationId, { key: one?.key })
      const leaving = await byCertificate(appId, one)
      assert.equal((await patch(leaving, { keyCredentials: [] })).status, 204)
      await endsEverywhere(leaving, 'it removed its own certificate')
    },
  )
})
