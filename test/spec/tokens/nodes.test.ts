import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import * as oidc from 'openid-client'
import { firstPartyApplications } from '../../../src/auth/first-party.ts'
import { voidTokens } from '../../../src/directory/accounts/standing.ts'
import { purgeState } from '../../../src/issuer/state-adapter.ts'
import { Browser, type Page } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { addApplication, addPerson, claimsOf, type Person, trustService } from '../../support/issuer.ts'
import { startOtherNode } from '../../support/other-node.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { endGrace, redirectUri, signIn, signInDevice, singlePage } from '../../support/sign-in.ts'
import { issuedNow } from '../../support/tokens.ts'
import { waitUntil } from '../../support/wait-until.ts'

const publicUrl = 'https://masquerade.example'

describe('several nodes on one database', () => {
  let nodes: [TestService, TestService]
  let person: Person

  before(async () => {
    // Longer than any test waits: what a node learns sooner it has heard.
    const settings = { MASQUERADE_PUBLIC_URL: publicUrl, MASQUERADE_TOKEN_CHECK_SECONDS: '300' }
    const first = await startTestService(settings)
    const second = await startOtherNode(first, settings)
    nodes = [first, second]
    for (const node of nodes) trustService(node)
    person = await addPerson(first)
  })
  after(async () => {
    for (const node of nodes.toReversed()) await node[Symbol.asyncDispose]()
  })

  /** As a load balancer would: the same path on the other node. */
  const onNode = (node: TestService, url: URL | string): URL => {
    const moved = new URL(url)
    moved.host = new URL(node.httpsOrigin).host
    return moved
  }
  const configure = async (node: TestService, appId: string) => {
    const document = `${node.httpsOrigin}/${node.tenantId}/v2.0/.well-known/openid-configuration`
    const metadata = (await (await fetch(document)).json()) as oidc.ServerMetadata
    return new oidc.Configuration(metadata, appId, undefined, oidc.None())
  }

  clause('TOK-59', 'All nodes issue tokens in the name of the public address.', async () => {
    for (const node of nodes) {
      const config = await configure(node, 'x')
      assert.equal(config.serverMetadata().issuer, `${publicUrl}/${node.tenantId}/v2.0`)
    }
  })

  clause(
    'TOK-108',
    'Every node hears of a revocation from the store, and refuses the token from then on: of a disabled or deleted account, …',
    async () => {
      const [one, other] = nodes
      const { sql } = one.database
      const statusOf = async (token: string) => (await other.request('GET', '/v1.0/me', { token })).status
      const ways: Record<string, (id: string) => Promise<unknown>> = {
        'a directory role, permission, consent or password': (id) =>
          one.database.transaction((tx) => voidTokens(tx, one.tenantId, id)),
        'a disabled account': (id) => sql`
          update directory_object set properties = properties || '{"accountEnabled": false}' where id = ${id}`,
        'a deleted account': (id) => sql`update directory_object set deleted_at = now() where id = ${id}`,
        'an ended sign-in': () => sql`delete from oidc_state where model = 'Grant' and id = 'a sign-in'`,
      }
      for (const [what, revoke] of Object.entries(ways)) {
        const { id } = await addPerson(one)
        await sql`
          insert into oidc_state (model, id, payload) values ('Grant', 'a sign-in', '{}') on conflict do nothing`
        const claims = other.tokens.claimsFor({ principal: id, permissions: ['User.Read'] })
        const token = other.tokens.signToken({
          ...claims,
          sid: 'a sign-in',
          ...issuedNow(),
        })
        assert.equal(await statusOf(token), 200, what)
        await revoke(id)
        await waitUntil(what, async () => (await statusOf(token)) === 401)
      }
    },
  )

  clause('TOK-60', 'A sign-in begun on one node goes on, is redeemed and refreshed on another.', async () => {
    const [one, other] = nodes
    const consented = ['openid', 'offline_access', 'User.Read']
    const { appId } = await addApplication(one, { properties: singlePage, consented })
    const [here, there] = [await configure(one, appId), await configure(other, appId)]
    const verifier = oidc.randomPKCECodeVerifier()
    const url = oidc.buildAuthorizationUrl(here, {
      redirect_uri: redirectUri,
      scope: 'openid offline_access User.Read',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const browser = new Browser('https://client.example')
    const page = await browser.open(url)
    const moved: Page = { ...page, url: onNode(other, page.url) }
    const done = await signIn(browser, moved, person)
    assert.equal(done.url.origin, 'https://client.example')
    const tokens = await oidc.authorizationCodeGrant(there, done.url, { pkceCodeVerifier: verifier })
    for (const node of nodes) {
      const caller = await node.auth.gatekeeper.authenticate(`Bearer ${tokens.access_token}`)
      assert.equal(caller.objectId, person.id)
    }
    const next = await oidc.refreshTokenGrant(here, tokens.refresh_token ?? '')
    assert.equal(claimsOf(next.access_token).oid, person.id)
    await endGrace(one)
    await assert.rejects(oidc.refreshTokenGrant(there, tokens.refresh_token ?? ''), {
      error: 'invalid_grant',
    })
  })

  clause('TOK-61', 'A device may ask any node, whichever the person signed in on.', async () => {
    const [one, other] = nodes
    const { appId } = firstPartyApplications.cli
    const started = await oidc.initiateDeviceAuthorization(await configure(one, appId), {
      scope: 'openid .default',
    })
    const browser = new Browser()
    const page = await browser.open(onNode(other, started.verification_uri))
    const confirmation = await browser.submit(page, { user_code: started.user_code })
    await signInDevice(browser, await browser.submit(confirmation, { confirm: 'yes' }), person)
    const config = await configure(other, appId)
    const tokens = await oidc.pollDeviceAuthorizationGrant(config, { ...started, interval: 0.01 })
    assert.equal(claimsOf(tokens.access_token).oid, person.id)
  })

  clause(
    'TOK-62',
    'A new signing key is used without a restart, and tokens of the old one still work; the published keys hold no private part.',
    async () => {
      const [one] = nodes
      const { appId, secret } = await addApplication(one)
      const ask = async () => {
        const response = await fetch(`${one.httpsOrigin}/common/oauth2/v2.0/token`, {
          method: 'POST',
          body: new URLSearchParams({
            grant_type: 'client_credentials',
            client_id: appId,
            client_secret: secret,
            scope: '.default',
          }),
        })
        return ((await response.json()) as { access_token: string }).access_token
      }
      const kidOf = (token: string) =>
        JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid as string
      const before = await ask()
      await one.auth.signingKeys.rotate(0)
      const after = await ask()
      assert.notEqual(kidOf(before), kidOf(after))
      for (const token of [before, after]) await one.auth.gatekeeper.authenticate(`Bearer ${token}`)
      const keys = await fetch(`${one.httpsOrigin}/${one.tenantId}/discovery/v2.0/keys`)
      const { keys: published } = (await keys.json()) as { keys: { kid: string; d?: string }[] }
      for (const token of [before, after]) assert.ok(published.some(({ kid }) => kid === kidOf(token)))
      assert.ok(published.every((key) => !('d' in key)))
    },
  )

  clause('TOK-63', 'Expired sessions, codes and tokens are deleted from the database.', async () => {
    const { sql } = nodes[0].database
    await sql`
      insert into oidc_state (model, id, payload, expires_at) values
        ('Session', 'long gone', '{}', now() - interval '1 hour'), ('Session', 'still good', '{}', now() + interval '1 hour')`
    await purgeState(sql)
    const rows = await sql`select id from oidc_state where id in ('long gone', 'still good')`
    assert.deepEqual(rows, [{ id: 'still good' }])
    await sql`delete from oidc_state where id = 'still good'`
  })

  clause('TOK-64', 'A copy of the database reveals no code, token, session or cookie key.', async () => {
    const rows = await nodes[0].database.sql<{ row: string }[]>`
      select (s.*)::text as row from oidc_state s`
    assert.ok(rows.length >= 3)
    for (const { row } of rows) assert.doesNotMatch(row, /"(accountId|jti|clientId)"|User\.Read/)
  })
})
