import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { SignJWT } from 'jose'
import { voidTokens } from '../../../src/directory/accounts/standing.ts'
import { grantApplicationPermissions } from '../../../src/directory/applications/granted-permissions.ts'
import { accessTokenLifetimeSeconds } from '../../../src/issuer/access-token.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import {
  type AssertionWish,
  assertionType,
  type Certificate,
  makeCertificate,
  rsa,
  signAssertion,
} from '../../support/client-certificate.ts'
import { askDuring } from '../../support/in-flight.ts'
import { addApplication, addPerson, claimsOf, type Person, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, signIn, singlePage } from '../../support/sign-in.ts'

const dayMs = 24 * 60 * 60 * 1000

describe('assertions', () => {
  let service: TestService
  let certificate: Certificate
  let other: Certificate
  let person: Person
  let front: Awaited<ReturnType<typeof addApplication>>

  before(async () => {
    service = await startTestService()
    trustService(service)
    certificate = await makeCertificate()
    other = await makeCertificate()
    person = await addPerson(service, { givenName: 'Ada', surname: 'Example', mail: 'ada@example.com' })
    front = await addApplication(service, {
      properties: singlePage,
      consented: ['openid', 'profile', 'offline_access', 'User.Read', 'Mail.Read', 'Tasks.Read'],
    })
  })
  after(() => service[Symbol.asyncDispose]())

  const tokenUrl = (tenant = service.tenantId) => `${service.origin}/${tenant}/oauth2/v2.0/token`
  const post = async (parameters: Record<string, string>, tenant?: string) => {
    const response = await fetch(tokenUrl(tenant), { method: 'POST', body: new URLSearchParams(parameters) })
    return { status: response.status, body: (await response.json()) as Record<string, string> }
  }
  const ask = (method: string, path: string, permissions: string[], body?: unknown) =>
    service.request(method, `/v1.0${path}`, {
      token: service.tokenFor({ permissions, kind: 'application' }),
      ...(body !== undefined && { body }),
    })
  const setKeys = (
    applicationId: string,
    keyCredentials: unknown,
    permission = 'Application.ReadWrite.All',
  ) => ask('PATCH', `/applications/${applicationId}`, [permission], { keyCredentials })
  const addWithKey = async (...permissions: string[]) => {
    const application = await addApplication(service)
    const { status } = await setKeys(application.applicationId, [
      { type: 'AsymmetricX509Cert', usage: 'Verify', key: certificate.key, displayName: 'walk' },
    ])
    assert.equal(status, 204)
    const { servicePrincipalId } = application
    const { database, tenantId } = service
    await grantApplicationPermissions(database.sql, tenantId, servicePrincipalId, permissions)
    return application
  }

  const assertionFor = (appId: string, wish: Partial<AssertionWish> = {}) =>
    signAssertion(appId, tokenUrl(), { by: certificate, ...wish })
  const prove = (client_assertion: string, more: Record<string, string> = {}) =>
    post({
      grant_type: 'client_credentials',
      scope: 'https://graph.microsoft.com/.default',
      client_assertion_type: assertionType,
      client_assertion,
      ...more,
    })

  clause(
    'TOK-100',
    'A confidential client proves itself by an assertion signed with the key of one of its certificates…',
    async () => {
      const { appId, servicePrincipalId, secret } = await addWithKey('User.Read.All')
      const assertion = await assertionFor(appId)
      const { status, body } = await prove(assertion, { client_id: appId })
      assert.equal(status, 200, JSON.stringify(body))
      assert.deepEqual(claimsOf(body.access_token ?? '').roles, ['User.Read.All'])
      assert.equal(claimsOf(body.access_token ?? '').oid, servicePrincipalId)
      assert.equal((await prove(assertion)).body.error, 'invalid_client', 'an assertion works once')
      const hex = Buffer.from(certificate.x5t, 'base64url').toString('hex').toUpperCase()
      for (const wish of [
        { header: { x5t: undefined, 'x5t#S256': certificate.x5tS256 } },
        { header: { x5t: Buffer.from(certificate.x5t, 'base64url').toString('base64') } },
        { header: { kid: hex } },
        { claims: { aud: service.auth.identity.issuer() } },
        { claims: { aud: [tokenUrl(), 'https://elsewhere.example'] } },
      ])
        assert.equal((await prove(await assertionFor(appId, wish))).status, 200, JSON.stringify(wish))
      const secretWorks = { grant_type: 'client_credentials', client_id: appId, client_secret: secret }
      assert.equal((await post(secretWorks)).status, 200, 'the secret works beside the certificate')

      const stranger = await addApplication(service)
      const refused: [string, string][] = [
        ['another key', await assertionFor(appId, { by: other })],
        ['the thumbprint of another key', await assertionFor(appId, { header: { x5t: other.x5t } })],
        [
          'another audience',
          await assertionFor(appId, { claims: { aud: 'https://login.microsoftonline.com/x' } }),
        ],
        ['no audience', await assertionFor(appId, { claims: { aud: undefined } })],
        ['expired', await assertionFor(appId, { seconds: -120 })],
        ['too long a life', await assertionFor(appId, { seconds: 2 * 60 * 60 })],
        ['no expiry', await assertionFor(appId, { claims: { exp: undefined } })],
        ['no id', await assertionFor(appId, { claims: { jti: undefined } })],
        [
          'not yet valid',
          await assertionFor(appId, { claims: { nbf: Math.floor(Date.now() / 1000) + 300 } }),
        ],
        ['another issuer', await assertionFor(appId, { claims: { iss: stranger.appId } })],
        ['an application without certificates', await assertionFor(stranger.appId)],
        ['an unknown application', await assertionFor(randomUUID())],
      ]
      for (const [why, sent] of refused) {
        const answer = await prove(sent)
        assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client'], why)
      }
      for (const kid of [5, null, { toLowerCase: 1 }, ['x']])
        assert.ok(
          (await prove(await assertionFor(appId, { header: { kid } }))).status < 500,
          'a kid of any type',
        )
      const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${(await assertionFor(appId)).split('.')[1]}.`
      assert.equal((await prove(unsigned)).status, 401)
      const symmetric = await new SignJWT({ iss: appId, sub: appId, aud: tokenUrl(), jti: randomUUID() })
        .setProtectedHeader({ alg: 'HS256' })
        .setExpirationTime('5m')
        .sign(Buffer.from(certificate.key))
      assert.equal((await prove(symmetric)).status, 401)
    },
  )

  clause(
    'TOK-190',
    'A client assertion may name the certificate in `kid` by its `keyId` or its SHA-1 thumbprint. …',
    async () => {
      const { appId, applicationId } = await addWithKey()
      const { body } = await ask('GET', `/applications/${applicationId}`, ['Application.Read.All'])
      const hex = Buffer.from(certificate.x5t, 'base64url').toString('hex')
      const { x5t } = certificate
      for (const kid of [body.keyCredentials[0].keyId, hex, hex.toUpperCase(), x5t, `${x5t}=`])
        assert.equal((await prove(await assertionFor(appId, { header: { kid } }))).status, 200, kid)
      for (const kid of [`${x5t}==`, `=${x5t}`, `${hex}=`, `${other.x5t}=`])
        assert.equal((await prove(await assertionFor(appId, { header: { kid } }))).status, 401, kid)
    },
  )

  test('of many requests with one assertion, one gets a token; a removed certificate gets none', async () => {
    const { appId, applicationId } = await addWithKey()
    const assertion = await assertionFor(appId)
    const answers = await Promise.all(Array.from({ length: 8 }, () => prove(assertion)))
    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    assert.equal((await setKeys(applicationId, [])).status, 204)
    assert.equal((await prove(await assertionFor(appId))).status, 401)
  })

  clause(
    'DIR-330',
    '`keyCredentials` of an application are certificates (RSA from 2048 bits or P-256, base64 of DER in `key`)…',
    async () => {
      const { applicationId } = await addWithKey()
      const read = async () =>
        (await ask('GET', `/applications/${applicationId}`, ['Application.Read.All'])).body.keyCredentials
      const [stored] = await read()
      assert.equal(stored.type, 'AsymmetricX509Cert')
      assert.equal(stored.customKeyIdentifier, Buffer.from(certificate.x5t, 'base64url').toString('base64'))
      assert.ok(new Date(stored.endDateTime).getTime() <= Date.now() + dayMs)
      const kept = await setKeys(applicationId, [{ keyId: stored.keyId }, { key: other.key }])
      assert.equal(kept.status, 204)
      const both = await read()
      assert.deepEqual(both[0], stored)
      assert.equal(both.length, 2)
      const weak = await makeCertificate({ ...rsa, modulusLength: 1024 })
      const curve = await makeCertificate({ name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' })
      for (const sent of [
        [{ key: 'bm90IGEgY2VydGlmaWNhdGU=' }],
        [{ key: weak.key }],
        [{ keyId: randomUUID() }],
        [{ key: other.key, type: 'Symmetric' }],
        [{ key: other.key, usage: 'Sign' }],
        [{ key: other.key, endDateTime: new Date(Date.now() - 1000).toISOString() }],
        Array.from({ length: 11 }, () => ({ key: other.key })),
        [{ key: other.key, keyId: stored.keyId }, { keyId: stored.keyId }],
      ])
        assert.equal((await setKeys(applicationId, sent)).status, 400, JSON.stringify(sent).slice(0, 60))
      assert.equal((await setKeys(applicationId, [{ key: curve.key }])).status, 204)
      for (const sent of [[], [{ key: other.key }]])
        assert.equal((await setKeys(applicationId, sent, 'Directory.ReadWrite.All')).status, 403)
      const strong = await addApplication(service, { permissions: ['RoleManagement.ReadWrite.Directory'] })
      assert.equal((await setKeys(strong.applicationId, [{ key: other.key }])).status, 403, 'DIR-154 holds')
      const created = await ask('POST', '/applications', ['Application.ReadWrite.All'], {
        displayName: 'With a certificate',
        keyCredentials: [{ key: other.key }],
      })
      assert.equal(created.status, 201)
      assert.equal(created.body.keyCredentials.length, 1)
    },
  )

  /** Signs the person in at the front and gives the access token, with the tokens that come with it. */
  const signInAt = async (scope: string, who = person) => {
    const { url, exchange, config } = await beginSignIn(service, front.appId, scope)
    const browser = new Browser('https://client.example')
    const tokens = await exchange(await signIn(browser, await browser.open(url), who))
    return { ...tokens, config }
  }
  const exchangeFor = (
    middle: { appId: string; secret: string },
    assertion: string,
    scope: string,
    more = {},
  ) =>
    post({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      requested_token_use: 'on_behalf_of',
      client_id: middle.appId,
      client_secret: middle.secret,
      assertion,
      scope,
      ...more,
    })

  clause(
    'TOK-141',
    'A secret or certificate gives no token once it was removed, not even to a request that proved itself by…',
    async () => {
      const { appId, applicationId, servicePrincipalId } = await addWithKey()
      const assertion = await assertionFor(appId)
      const { status, body } = await askDuring(
        service,
        (tx) => voidTokens(tx, service.tenantId, servicePrincipalId),
        () => prove(assertion),
        async () => assert.equal((await setKeys(applicationId, [])).status, 204),
      )
      assert.deepEqual([status, body.error], [401, 'invalid_client'])
    },
  )

  clause(
    'TOK-101',
    'A confidential client that was called with the access token of a person exchanges it for one of its own…',
    async () => {
      const middle = await addApplication(service, {
        consented: ['User.Read', 'Mail.Read', 'Directory.ReadWrite.All'],
      })
      const { access_token: assertion } = await signInAt('openid User.Read Mail.Read Tasks.Read')
      const { status, body } = await exchangeFor(middle, assertion, 'https://graph.microsoft.com/User.Read')
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body.scope, 'https://graph.microsoft.com/User.Read')
      assert.equal('refresh_token' in body, false)
      const [first, claims] = [claimsOf(assertion), claimsOf(body.access_token ?? '')]
      assert.deepEqual(
        [claims.oid, claims.azp, claims.scp, claims.idtyp],
        [person.id, middle.appId, 'User.Read', 'user'],
      )
      assert.equal(claims.sid, first.sid)
      assert.ok(
        Number(claims.exp) <= Number(first.exp) + 1 &&
          Number(claims.exp) - Number(claims.iat) <= accessTokenLifetimeSeconds,
      )
      assert.equal('id_token' in body, false, 'nobody asked for one')
      const named = await addApplication(service, { consented: ['User.Read', 'profile'] })
      const scope = 'https://graph.microsoft.com/User.Read openid profile offline_access'
      for (const [by, name] of [
        [middle, undefined],
        [named, 'Ada Example'],
      ] as const) {
        const told = (await exchangeFor(by, assertion, scope, { client_info: '1' })).body
        const { sub, oid, aud, name: shown } = claimsOf(told.id_token ?? '')
        assert.deepEqual([sub, oid, aud, shown], [person.id, person.id, by.appId, name])
        assert.equal('refresh_token' in told, false)
      }
      const all = await exchangeFor(middle, assertion, 'https://graph.microsoft.com/.default')
      assert.equal(
        claimsOf(all.body.access_token ?? '').scp,
        'Mail.Read User.Read',
        'what both have, and no more',
      )
      for (const scope of ['Directory.ReadWrite.All', 'Tasks.Read', 'User.Read Tasks.Read', 'No.Such']) {
        const refused = await exchangeFor(middle, assertion, `https://graph.microsoft.com/${scope}`)
        assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_scope'], scope)
      }
      const me = { token: body.access_token ?? '' }
      assert.equal((await service.request('GET', '/v1.0/me', me)).body.id, person.id)
      assert.equal((await service.request('GET', '/v1.0/me/messages', me)).status, 403)
    },
  )

  clause(
    'TOK-120',
    "A request for a person's tokens with `client_info=1`, as MSAL sends it, is answered with `client_info` beside the id token: …",
    async () => {
      const middle = await addApplication(service, { consented: ['User.Read'] })
      const { access_token: assertion } = await signInAt('openid User.Read')
      const scope = 'https://graph.microsoft.com/User.Read openid'
      const { body } = await exchangeFor(middle, assertion, scope, { client_info: '1' })
      const info = JSON.parse(Buffer.from(body.client_info ?? '', 'base64url').toString())
      assert.deepEqual(info, { uid: person.id, utid: service.tenantId })
      for (const [asked, more] of [
        [scope, {}],
        [scope, { client_info: '0' }],
        ['https://graph.microsoft.com/User.Read', { client_info: '1' }],
      ] as const)
        assert.equal('client_info' in (await exchangeFor(middle, assertion, asked, more)).body, false)
      const own = { grant_type: 'client_credentials', client_id: middle.appId, client_secret: middle.secret }
      assert.equal('client_info' in (await post({ ...own, client_info: '1' })).body, false)
    },
  )

  clause(
    'TOK-102',
    'A token of an application, of an outside issuer, an expired, forged or revoked one is 400 `invalid_grant` there;…',
    async () => {
      const middle = await addApplication(service, {
        consented: ['User.Read'],
        permissions: ['User.Read.All'],
      })
      const none = await addApplication(service)
      const scope = 'https://graph.microsoft.com/User.Read'
      const { access_token: assertion, id_token: idToken } = await signInAt('openid User.Read')
      const own = await post({
        grant_type: 'client_credentials',
        client_id: middle.appId,
        client_secret: middle.secret,
      })
      const claims = service.tokens.claimsFor({ permissions: ['User.Read'], principal: person.id })
      const past = service.tokens.signToken({
        ...claims,
        exp: Number(claims.iat) - 60,
        iat: Number(claims.iat) - 3600,
      })
      for (const [why, sent] of [
        ['the token of an application', own.body.access_token ?? ''],
        ['an id token', idToken ?? ''],
        ['an expired one', past],
        ['a forged one', `${assertion.slice(0, -8)}AAAAAAAA`],
        ['no token', 'x'],
        ['nothing', ''],
      ] as const) {
        const { status, body } = await exchangeFor(middle, sent, scope)
        assert.deepEqual([status, body.error], [400, 'invalid_grant'], why)
      }
      assert.equal((await exchangeFor(none, assertion, scope)).body.error, 'invalid_scope')
      assert.equal(
        (await exchangeFor({ ...middle, secret: 'wrong' }, assertion, scope)).body.error,
        'invalid_client',
      )
      const use = await exchangeFor(middle, assertion, scope, { requested_token_use: 'other' })
      assert.equal(use.body.error, 'invalid_request')
      const foreign = await exchangeFor(middle, assertion, 'https://elsewhere.example/User.Read')
      assert.equal(foreign.body.error, 'invalid_target')
      const publicClient = {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        client_id: front.appId,
        assertion,
      }
      assert.equal((await post({ ...publicClient, requested_token_use: 'on_behalf_of', scope })).status, 400)
    },
  )

  clause(
    'TOK-107',
    'A token is not exchanged after its `exp`, not even in the seconds that clocks may differ by: exchanged again and …',
    async () => {
      const middle = await addApplication(service, { consented: ['User.Read'] })
      const scope = 'https://graph.microsoft.com/User.Read'
      const claims = service.tokens.claimsFor({ permissions: ['User.Read'], principal: person.id })
      const endingIn = (seconds: number) => {
        const now = Math.floor(Date.now() / 1000)
        return service.tokens.signToken({ ...claims, iat: now - 60, nbf: now - 60, exp: now + seconds })
      }
      await service.tokens.settled()
      const late = endingIn(-10)
      assert.equal((await service.request('GET', '/v1.0/me', { token: late })).status, 200, 'it still works')
      const refused = await exchangeFor(middle, late, scope)
      assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_grant'])
      let token = endingIn(30)
      const { exp } = claimsOf(token)
      for (let count = 0; count < 5; count++) {
        const { status, body } = await exchangeFor(middle, token, scope)
        assert.equal(status, 200, JSON.stringify(body))
        token = body.access_token ?? ''
        assert.ok(Number(claimsOf(token).exp) <= Number(exp), 'never later than the first')
      }
    },
  )

  test('an exchanged token ends with the sign-in and with the person, and a revoked one gives none', async () => {
    const middle = await addApplication(service, { consented: ['User.Read'] })
    const scope = 'https://graph.microsoft.com/User.Read'
    const leaving = await addPerson(service)
    const { access_token: assertion } = await signInAt('openid User.Read', leaving)
    const exchanged = (await exchangeFor(middle, assertion, scope)).body.access_token ?? ''
    assert.equal((await service.request('GET', '/v1.0/me', { token: exchanged })).status, 200)
    await service.database
      .sql`delete from oidc_state where model = 'Grant' and id = ${String(claimsOf(assertion).sid)}`
    // Requests remember for a while that a sign-in goes on; an exchange does not.
    assert.equal((await exchangeFor(middle, assertion, scope)).body.error, 'invalid_grant')
    const again = await signInAt('openid User.Read', leaving)
    assert.equal((await exchangeFor(middle, again.access_token, scope)).status, 200)
    const disabled = await ask('PATCH', `/users/${leaving.id}`, ['User.ReadWrite.All'], {
      accountEnabled: false,
    })
    assert.equal(disabled.status, 204)
    assert.equal((await exchangeFor(middle, again.access_token, scope)).body.error, 'invalid_grant')
  })

  clause(
    'TOK-103',
    '`/oidc/userinfo`, also behind a tenant, answers the token of a person with `sub`, and with names and mail address…',
    async () => {
      const { access_token: token, config } = await signInAt('openid profile User.Read')
      const { userinfo_endpoint } = config.serverMetadata()
      assert.match(userinfo_endpoint ?? '', new RegExp(`/${service.tenantId}/oidc/userinfo$`))
      for (const path of ['/oidc/userinfo', `/${service.tenantId}/oidc/userinfo`])
        for (const method of ['GET', 'POST'])
          assert.deepEqual((await service.request(method, path, { token })).body, {
            sub: person.id,
            name: 'Ada Example',
            given_name: 'Ada',
            family_name: 'Example',
            preferred_username: person.userPrincipalName,
          })
      const middle = await addApplication(service, { consented: ['User.Read', 'email'] })
      const exchanged = await exchangeFor(middle, token, 'https://graph.microsoft.com/User.Read')
      const seen = await service.request('GET', '/oidc/userinfo', {
        token: exchanged.body.access_token ?? '',
      })
      assert.deepEqual(seen.body, { sub: person.id, email: 'ada@example.com' })
      assert.equal((await service.request('GET', '/oidc/userinfo')).status, 401)
      assert.equal((await service.request('GET', '/oidc/userinfo', { token: 'x' })).status, 401)
      assert.equal((await service.request('DELETE', '/oidc/userinfo', { token })).status, 405)
      const application = service.tokenFor({ kind: 'application' })
      assert.equal((await service.request('GET', '/oidc/userinfo', { token: application })).status, 403)
    },
  )

  clause(
    'TOK-104',
    '`/metadata/endpoints` tells clients of the management API, without a token, where sign-in, management…',
    async () => {
      const get = (query: string, headers = {}) =>
        service.request('GET', `/metadata/endpoints${query}`, { headers })
      const { body } = await get('?api-version=2022-09-01')
      assert.equal(body.resourceManager, service.origin)
      assert.equal(body.authentication.loginEndpoint, service.origin)
      assert.equal(body.microsoftGraphResourceId, `${service.origin}/microsoft.graph`)
      assert.deepEqual((await get('?api-version=2019-05-01')).body, [body])
      assert.deepEqual((await get('?api-version=2015-01-01')).body.authentication, body.authentication)
      assert.equal((await get('?api-version=1999-01-01')).body.error.code, 'InvalidApiVersionParameter')
      assert.equal((await get('')).body.error.code, 'MissingApiVersionParameter')
    },
  )
})
