import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import * as oidc from 'openid-client'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { addApplication, addPerson, type Person, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, signIn, singlePage } from '../../support/sign-in.ts'

const client = 'https://client.example'

describe('principals that were shut out', () => {
  let service: TestService
  let appId: string
  let clientId: string

  before(async () => {
    service = await startTestService()
    trustService(service)
    const consented = ['openid', 'offline_access', 'User.Read', 'user_impersonation']
    const registered = await addApplication(service, { properties: singlePage, consented })
    appId = registered.appId
    clientId = registered.servicePrincipalId
  })
  after(() => service[Symbol.asyncDispose]())

  const administer = async (method: string, path: string, body?: unknown) => {
    const permissions = ['AppRoleAssignment.ReadWrite.All', 'Application.ReadWrite.All', 'User.ReadWrite.All']
    const token = service.tokenFor({
      kind: 'application',
      permissions: [...permissions, 'DelegatedPermissionGrant.ReadWrite.All', 'Directory.ReadWrite.All'],
    })
    const answer = await service.request(method, `/v1.0${path}`, { token, ...(body ? { body } : {}) })
    assert.ok(answer.status < 300, answer.text)
  }
  const enable = (path: string, accountEnabled: boolean) => administer('PATCH', path, { accountEnabled })
  const restore = (id: string) => administer('POST', `/directory/deletedItems/${id}/restore`)
  const shutOutAndBack: Readonly<Record<string, (set: string, id: string) => Promise<unknown>>> = {
    'disabled and enabled': async (set, id) => {
      await enable(`/${set}/${id}`, false)
      await enable(`/${set}/${id}`, true)
    },
    'deleted and restored': async (set, id) => {
      await administer('DELETE', `/${set}/${id}`)
      await restore(id)
    },
  }

  const statusOf = async (token: string, path = '/v1.0/me') =>
    (await service.request('GET', path, { token })).status
  const open = async (person: Person) => {
    const browser = new Browser(client)
    const scope = 'openid offline_access User.Read user_impersonation'
    const { url, exchange, config } = await beginSignIn(service, appId, scope)
    const tokens = await exchange(await signIn(browser, await browser.open(url), person))
    assert.equal(await statusOf(tokens.access_token), 200)
    return { browser, config, tokens }
  }
  const assertEnded = async ({ browser, config, tokens }: Awaited<ReturnType<typeof open>>) => {
    assert.equal(await statusOf(tokens.access_token), 401)
    const refused = { error: 'invalid_grant' }
    await assert.rejects(oidc.refreshTokenGrant(config, tokens.refresh_token ?? ''), refused)
    const page = await browser.open((await beginSignIn(service, appId, 'openid User.Read')).url)
    assert.match(page.html, /<label for="password">/)
  }

  for (const [what, happens] of Object.entries(shutOutAndBack)) {
    clause(
      'TOK-121',
      'Disabling or deleting a user ends access and refresh tokens, browser sessions and credentials for tools for good; of…',
      async (t) => {
        t.diagnostic(`a person, ${what}`)
        const person = await addPerson(service)
        const before = await open(person)
        const credentials = '/providers/Vendor.Sql/databaseCredentials'
        const made = await service.request('PUT', `${credentials}/tool?api-version=2026-11-01`, {
          token: before.tokens.access_token,
          body: { properties: { currentPassword: person.password } },
        })
        assert.equal(made.status, 201, made.text)
        await happens('users', person.id)
        await assertEnded(before)
        const later = await open(person)
        const listed = await service.request('GET', `${credentials}?api-version=2026-11-01`, {
          token: later.tokens.access_token,
        })
        assert.deepEqual(listed.body.value, [], 'the password stays, credentials of before it do not')
      },
    )

    clause(
      'TOK-121',
      'Disabling or deleting a user ends access and refresh tokens, browser sessions and credentials for tools for good; of…',
      async (t) => {
        t.diagnostic(`an application, ${what}`)
        const one = await addApplication(service, { permissions: ['User.Read.All'] })
        const getToken = async () => {
          const form = { grant_type: 'client_credentials', client_id: one.appId, client_secret: one.secret }
          const url = `${service.origin}/common/oauth2/v2.0/token`
          const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form) })
          return ((await answer.json()) as { access_token: string }).access_token
        }
        const token = await getToken()
        assert.equal(await statusOf(token, '/v1.0/users?$top=1'), 200)
        const { tokens, config } = await open(await addPerson(service))
        await happens('servicePrincipals', one.servicePrincipalId)
        await happens('servicePrincipals', clientId)
        assert.equal(await statusOf(token, '/v1.0/users?$top=1'), 401)
        assert.equal(await statusOf(await getToken(), '/v1.0/users?$top=1'), 200, 'the secret stays')
        assert.equal(await statusOf(tokens.access_token), 401)
        const renewed = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')
        assert.equal(
          await statusOf(renewed.access_token),
          200,
          'sign-ins are of the person, who is as before',
        )
      },
    )
  }

  clause(
    'TOK-121',
    'Disabling or deleting a user ends access and refresh tokens, browser sessions and credentials for tools for good; of…',
    async (t) => {
      t.diagnostic('a service principal with its application')
      const one = await addApplication(service, { permissions: ['User.Read.All'] })
      const token = service.tokenFor({
        kind: 'application',
        principal: one.servicePrincipalId,
        applicationId: one.appId,
        permissions: ['User.Read.All'],
      })
      // The token tells its time in whole seconds: those of the second of a revocation pass.
      await service.database.sql`
        update directory_object set created_at = created_at - interval '1 hour' where id = ${one.servicePrincipalId}`
      await administer('DELETE', `/applications/${one.applicationId}`)
      await service.database.sql`
        update token_cutoff set valid_from = valid_from + interval '1 second' where principal_id = ${one.servicePrincipalId}`
      await restore(one.applicationId)
      assert.equal(await statusOf(token, '/v1.0/users?$top=1'), 401)
    },
  )
})
