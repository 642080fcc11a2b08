import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import * as oidc from 'openid-client'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import {
  addApplication,
  addAssignment,
  addPerson,
  claimsOf,
  type Person,
  requireAssignments,
  trustService,
} from '../../support/issuer.ts'
import { startOtherNode } from '../../support/other-node.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, endGrace, redirectUri, signIn, singlePage } from '../../support/sign-in.ts'

describe('refresh tokens', () => {
  let nodes: [TestService, TestService]
  let person: Person

  before(async () => {
    const first = await startTestService()
    const second = await startOtherNode(first, { MASQUERADE_PUBLIC_URL: first.auth.identity.origin() })
    nodes = [first, second]
    for (const node of nodes) trustService(node)
    person = await addPerson(first)
  })
  after(async () => {
    for (const node of nodes.toReversed()) await node[Symbol.asyncDispose]()
  })

  const consented = ['openid', 'offline_access', 'User.Read', 'Group.Read.All', 'user_impersonation']

  /** A person signed in through a client of their own; the client asks for what the scope says. */
  const open = async (scope = 'openid offline_access User.Read') => {
    const { appId, servicePrincipalId } = await addApplication(nodes[0], {
      properties: singlePage,
      consented,
    })
    const browser = new Browser('https://client.example')
    const { url, exchange, config } = await beginSignIn(nodes[0], appId, scope)
    const tokens = await exchange(await signIn(browser, await browser.open(url), person))
    const refresh = (token = '') => oidc.refreshTokenGrant(config, token)
    return { browser, config, tokens, refresh, servicePrincipalId }
  }
  const isAccepted = (token: string, node = nodes[0]) =>
    Promise.resolve(node.auth.gatekeeper.authenticate(`Bearer ${token}`)).then(
      () => true,
      (error: { status?: number }) => (error.status === 401 ? false : Promise.reject(error)),
    )
  /** The form that a client posts to the token endpoint of a node, and what it answers. */
  const post = async (node: TestService, form: Record<string, string>) => {
    const address = `${node.httpsOrigin}/${node.tenantId}/oauth2/v2.0/token`
    const response = await fetch(address, { method: 'POST', body: new URLSearchParams(form) })
    return { status: response.status, body: (await response.json()) as Record<string, string> }
  }

  clause(
    'TOK-22',
    'Each use of a refresh token gives its successor. The same token again within 30 seconds gives another successor; later use is a replay, which ends the sign-in with all its refresh tokens and access tokens.',
    async () => {
      const { tokens, refresh } = await open()
      const second = await refresh(tokens.refresh_token)
      const third = await refresh(tokens.refresh_token)
      assert.equal(new Set([tokens, second, third].map((one) => one.refresh_token)).size, 3)
      const fourth = await refresh(third.refresh_token)
      const bystander = await open()

      await endGrace(nodes[0])
      await assert.rejects(refresh(tokens.refresh_token), { error: 'invalid_grant' })
      for (const { refresh_token, access_token } of [tokens, second, third, fourth]) {
        await assert.rejects(refresh(refresh_token), { error: 'invalid_grant' })
        for (const node of nodes) assert.equal(await isAccepted(access_token, node), false)
      }
      assert.ok(await isAccepted(bystander.tokens.access_token), 'another sign-in goes on')
      await bystander.refresh(bystander.tokens.refresh_token)
    },
  )

  clause(
    'TOK-67',
    'Requests that refresh with the same token at once, on one node or several, all get tokens that work.',
    async () => {
      const { tokens, config, refresh } = await open()
      const { client_id } = config.clientMetadata()
      const form = { grant_type: 'refresh_token', client_id, refresh_token: tokens.refresh_token ?? '' }
      const answers = await Promise.all(
        [0, 1, 0, 1, 0, 1, 0, 1].map((at) => post(nodes[at] ?? nodes[0], form)),
      )
      for (const { status, body } of answers) {
        assert.equal(status, 200, JSON.stringify(body))
        for (const node of nodes) assert.ok(await isAccepted(body.access_token ?? '', node))
        await refresh(body.refresh_token)
      }
      assert.equal(new Set(answers.map(({ body }) => body.refresh_token)).size, answers.length)
    },
  )

  clause(
    'TOK-68',
    'One sign-in serves both APIs: a refresh may ask for any permission of either API that was consented, whichever the sign-in asked for.',
    async () => {
      const { tokens, config } = await open('openid offline_access https://graph.microsoft.com/User.Read')
      assert.equal(claimsOf(tokens.access_token).scp, 'User.Read')
      let token = tokens.refresh_token ?? ''
      for (const [scope, expected] of [
        ['https://management.azure.com/user_impersonation', 'user_impersonation'],
        ['https://management.azure.com//user_impersonation offline_access', 'user_impersonation'],
        ['https://graph.microsoft.com/Group.Read.All openid', 'Group.Read.All'],
        ['https://management.azure.com/.default', 'Group.Read.All User.Read user_impersonation'],
        ['https://graph.microsoft.com/User.Read', 'User.Read'],
        ['User.Read', 'User.Read'],
      ] as const) {
        const next = await oidc.refreshTokenGrant(config, token, { scope })
        assert.equal(claimsOf(next.access_token).scp, expected, scope)
        const told = next.scope?.split(' ') ?? []
        const [asked = ''] = scope.split(' ')
        assert.ok(told.includes(asked), `${asked} in ${next.scope}`)
        const prefix = asked.slice(0, asked.lastIndexOf('/') + 1)
        for (const name of expected.split(' ')) assert.ok(told.includes(prefix + name), next.scope)
        assert.ok(await isAccepted(next.access_token))
        token = next.refresh_token ?? ''
      }
    },
  )

  clause('TOK-69', 'A refused refresh does not use up the refresh token.', async () => {
    const { tokens, config, refresh } = await open()
    const refused = [
      [{ scope: 'Directory.ReadWrite.All' }, 'invalid_scope'],
      [{ scope: 'User.Read RoleManagement.ReadWrite.Directory' }, 'invalid_scope'],
      [{ scope: 'Everything.ReadWrite' }, 'invalid_scope'],
      [{ scope: 'profile' }, 'invalid_scope'],
      [{ scope: 'https://elsewhere.example/User.Read' }, 'invalid_target'],
      [{ resource: 'https://elsewhere.example' }, 'invalid_target'],
    ] as const
    for (const [parameters, error] of refused)
      await assert.rejects(
        oidc.refreshTokenGrant(config, tokens.refresh_token ?? '', parameters),
        { error },
        JSON.stringify(parameters),
      )
    await endGrace(nodes[0])
    assert.equal(claimsOf((await refresh(tokens.refresh_token)).access_token).scp, 'User.Read')
  })

  clause(
    'TOK-184',
    'A refresh while the person lacks the assignment that the client requires (DIR-273) is 400 `access_denied` and does not use up the refresh token: …',
    async () => {
      const { tokens, refresh, servicePrincipalId } = await open()
      await requireAssignments(nodes[0], servicePrincipalId)
      for (const node of nodes) {
        const { status, body } = await post(node, {
          grant_type: 'refresh_token',
          client_id: String(claimsOf(tokens.access_token).appid),
          refresh_token: tokens.refresh_token ?? '',
        })
        assert.deepEqual([status, body.error], [400, 'access_denied'])
      }
      await addAssignment(nodes[0], person.id, servicePrincipalId)
      await endGrace(nodes[0])
      assert.equal(claimsOf((await refresh(tokens.refresh_token)).access_token).scp, 'User.Read')
    },
  )

  clause(
    'TOK-70',
    'Revoking a refresh token, and signing out of a session without `offline_access`, end the access tokens of the sign-in.',
    async () => {
      const revoked = await open()
      const { access_token } = await revoked.refresh(revoked.tokens.refresh_token)
      await oidc.tokenRevocation(revoked.config, revoked.tokens.refresh_token ?? '')
      for (const token of [access_token, revoked.tokens.access_token])
        assert.equal(await isAccepted(token), false)

      const left = await open('openid User.Read')
      const out = oidc.buildEndSessionUrl(left.config, {
        post_logout_redirect_uri: redirectUri,
        id_token_hint: left.tokens.id_token ?? '',
      })
      await left.browser.submit(await left.browser.open(out), { logout: 'yes' })
      assert.equal(await isAccepted(left.tokens.access_token), false)
    },
  )
})
