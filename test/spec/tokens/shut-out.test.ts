import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import * as oidc from 'openid-client'
import { migrationDirectory } from '../../../src/db/migrate.ts'
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

  const administer = async (method: string, at: string, body?: unknown) => {
    const permissions = ['AppRoleAssignment.ReadWrite.All', 'Application.ReadWrite.All', 'User.ReadWrite.All']
    const token = service.tokenFor({
      kind: 'application',
      permissions: [...permissions, 'DelegatedPermissionGrant.ReadWrite.All', 'Directory.ReadWrite.All'],
    })
    const answer = await service.request(method, `/v1.0${at}`, { token, ...(body ? { body } : {}) })
    assert.ok(answer.status < 300, answer.text)
  }
  const enable = (at: string, accountEnabled: boolean) => administer('PATCH', at, { accountEnabled })
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

  const statusOf = async (token: string, at = '/v1.0/me') =>
    (await service.request('GET', at, { token })).status
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

  const credentials = '/providers/Vendor.Sql/databaseCredentials'
  const makeCredential = async (token: string, currentPassword: string) => {
    const made = await service.request('PUT', `${credentials}/tool?api-version=2026-11-01`, {
      token,
      body: { properties: { currentPassword } },
    })
    assert.equal(made.status, 201, made.text)
  }
  const listCredentials = async (token: string) =>
    (await service.request('GET', `${credentials}?api-version=2026-11-01`, { token })).body.value

  for (const [what, happens] of Object.entries(shutOutAndBack)) {
    clause(
      'TOK-121',
      'Disabling or deleting a user ends access and refresh tokens, browser sessions and credentials for tools for good; of…',
      async (t) => {
        t.diagnostic(`a person, ${what}`)
        const person = await addPerson(service)
        const before = await open(person)
        await makeCredential(before.tokens.access_token, person.password)
        await happens('users', person.id)
        await assertEnded(before)
        const later = await open(person)
        const left = await listCredentials(later.tokens.access_token)
        assert.deepEqual(left, [], 'the password stays, credentials of before it do not')
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
        await makeCredential(token, one.secret)
        const { tokens, config } = await open(await addPerson(service))
        await happens('servicePrincipals', one.servicePrincipalId)
        await happens('servicePrincipals', clientId)
        assert.equal(await statusOf(token, '/v1.0/users?$top=1'), 401)
        const later = await getToken()
        assert.equal(await statusOf(later, '/v1.0/users?$top=1'), 200, 'the secret stays')
        assert.deepEqual(await listCredentials(later), [])
        assert.equal(await statusOf(tokens.access_token), 401)
        const refresh = oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')
        await assert.rejects(refresh, { error: 'invalid_grant' })
        await open(await addPerson(service))
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
      await makeCredential(token, one.secret)
      await administer('DELETE', `/applications/${one.applicationId}`)
      await service.database.sql`
        update token_cutoff set valid_from = valid_from + interval '1 second' where principal_id = ${one.servicePrincipalId}`
      await restore(one.applicationId)
      assert.equal(await statusOf(token, '/v1.0/users?$top=1'), 401)
      const left = await service.database.sql`
        select from database_credential where principal_id = ${one.servicePrincipalId}`
      assert.equal(left.count, 0)
    },
  )

  test('the upgrade ends credentials of applications that are shut out, and bounds the others by their secrets', async () => {
    const { sql } = service.database
    const applications = await Promise.all(['gone', 'kept'].map(() => addApplication(service)))
    const [gone = '', kept = ''] = applications.map(({ servicePrincipalId }) => servicePrincipalId)
    await enable(`/servicePrincipals/${gone}`, false)
    for (const id of [gone, kept])
      await sql`
        insert into database_credential (tenant_id, principal_id, name, verifier, expires_at)
        values (${service.tenantId}, ${id}, 'old', 'none', now() + interval '10 years')`
    const migration = path.join(migrationDirectory, '0049-credentials-of-shut-out-applications.sql')
    await sql.unsafe(readFileSync(migration, 'utf8'))
    const left = await sql`
      select principal_id as id, expires_at = (
        select ends_at from application_secret where application_id = ${applications[1]?.applicationId ?? ''}) as "isBounded"
      from database_credential where principal_id in (${gone}, ${kept})`
    assert.deepEqual([...left], [{ id: kept, isBounded: true }])
  })
})
