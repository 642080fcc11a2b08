import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import * as oidc from 'openid-client'
import { consentPermissions } from '../../../src/directory/applications/granted-permissions.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { addApplication, addPerson, claimsOf, type Person, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, redirectUri, signIn } from '../../support/sign-in.ts'

const evil = 'https://evil.example/take'
const [good = '', other = ''] = [redirectUri, evil].map((uri) => new URL(uri).origin)
const everybody = ['openid', 'offline_access', 'User.Read']
const onBehalfOf = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

describe('names at the origin of the sign-in', () => {
  let service: TestService
  let person: Person

  before(async () => {
    service = await startTestService()
    trustService(service)
    person = await addPerson(service, { mail: 'ada@example.com' })
  })
  after(() => service[Symbol.asyncDispose]())

  /** An application that the person lets see names at one origin; everybody lets it do the rest. */
  const addKnown = async (redirectUris: readonly string[]) => {
    const properties = redirectUris.length > 0 ? { spa: { redirectUris: [...redirectUris] } } : {}
    const added = await addApplication(service, { properties, consented: everybody })
    const { servicePrincipalId } = added
    const { database, tenantId } = service
    const permissions = ['profile', 'email']
    const consent = { tenantId, servicePrincipalId, userId: person.id, permissions, origins: [good] }
    await database.transaction((tx) => consentPermissions(tx, consent))
    return added
  }
  const tell = async ({ access_token: token }: { access_token: string }) =>
    (await service.request('GET', '/oidc/userinfo', { token })).body
  /** Signs in at both addresses of an application, each time in a browser of its own. */
  const signInAtBoth = async () => {
    const { appId } = await addKnown([redirectUri, evil])
    const signInAt = async (redirect_uri: string) => {
      const browser = new Browser(good, other)
      const { config, url, exchange } = await beginSignIn(service, appId, everybody.join(' '), {
        redirect_uri,
      })
      return { config, tokens: await exchange(await signIn(browser, await browser.open(url), person)) }
    }
    return { known: await signInAt(redirectUri), misled: await signInAt(evil) }
  }
  const named = () => ({
    sub: person.id,
    name: 'Ada Example',
    preferred_username: person.userPrincipalName,
    email: 'ada@example.com',
  })

  clause(
    'TOK-103',
    '`/oidc/userinfo`, also behind a tenant, answers the token of a person with `sub`, and with names and mail address as far as the client has consent for `profile` and `email` at the origin of the sign-in.…',
    async () => {
      const { known, misled } = await signInAtBoth()
      assert.deepEqual(await tell(known.tokens), named())
      assert.deepEqual(await tell(misled.tokens), { sub: person.id })
      for (const { config, tokens } of [known, misled]) {
        const renewed = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')
        assert.deepEqual(await tell(renewed), await tell(tokens), 'a refresh keeps the origin')
      }
    },
  )

  clause(
    'TOK-101',
    'A confidential client that was called with the access token of a person exchanges it for one of its own…',
    async (t) => {
      t.diagnostic('names go by the origin of the sign-in')
      const { known, misled } = await signInAtBoth()
      const { appId, secret } = await addKnown([])
      const exchange = (config: oidc.Configuration, { access_token: assertion }: { access_token: string }) =>
        oidc.genericGrantRequest(new oidc.Configuration(config.serverMetadata(), appId, secret), onBehalfOf, {
          requested_token_use: 'on_behalf_of',
          assertion,
          scope: 'openid profile User.Read',
        })
      const cases = [
        [known, named()],
        [misled, { sub: person.id, name: undefined }],
      ] as const
      for (const [{ config, tokens: own }, { name, ...more }] of cases) {
        const first = await exchange(config, own)
        const second = await exchange(config, first)
        for (const tokens of [first, second]) {
          assert.deepEqual(await tell(tokens), name === undefined ? more : { name, ...more })
          assert.equal(claimsOf(tokens.id_token ?? '').name, name)
        }
      }
    },
  )
})
