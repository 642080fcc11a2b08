import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { SignJWT } from 'jose'
import * as oidc from 'openid-client'
import { removeSecret } from '../../../src/directory/applications/application-secret.ts'
import { revokeApplicationPermissions } from '../../../src/directory/applications/granted-permissions.ts'
import { clause } from '../../support/clause.ts'
import { addApplication, claimsOf, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('client credentials', () => {
  let service: TestService

  before(async () => {
    service = await startTestService()
    trustService(service)
  })
  after(() => service[Symbol.asyncDispose]())

  const tokenUrl = (tenant = service.tenantId) => `${service.origin}/${tenant}/oauth2/v2.0/token`
  const ask = async (parameters: Record<string, string>, tenant?: string) => {
    const response = await fetch(tokenUrl(tenant), {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', ...parameters }),
    })
    return { status: response.status, body: (await response.json()) as Record<string, string> }
  }

  clause(
    'TOK-132',
    'Access tokens are bearer tokens: the service announces no DPoP and no pushed authorization requests, and a token request with a `DPoP` header gets a `Bearer` token.',
    async () => {
      const found = await fetch(`${service.origin}/${service.tenantId}/v2.0/.well-known/openid-configuration`)
      const announced = Object.keys((await found.json()) as object)
      assert.deepEqual(
        announced.filter((name) => /dpop|pushed/.test(name)),
        [],
      )
      const { appId, secret } = await addApplication(service)
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const proof = await new SignJWT({ htm: 'POST', htu: tokenUrl(), jti: randomUUID() })
        .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: publicKey.export({ format: 'jwk' }) })
        .setIssuedAt()
        .sign(privateKey)
      const answer = await fetch(tokenUrl(), {
        method: 'POST',
        headers: { DPoP: proof },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: appId,
          client_secret: secret,
          scope: 'https://graph.microsoft.com/.default',
        }),
      })
      const body = (await answer.json()) as Record<string, string>
      assert.equal(answer.status, 200, JSON.stringify(body))
      assert.equal(body.token_type, 'Bearer')
    },
  )

  clause(
    'TOK-09',
    'An application with a secret gets an access token for itself (client credentials): a JWT with `idtyp` `app`, its service principal as `oid` and `sub`, its application permissions as `roles`, and no `scp`; it lives 60 minutes.',
    async () => {
      const { appId, secret, servicePrincipalId } = await addApplication(service, {
        permissions: ['Group.Read.All', 'User.Read.All'],
      })
      const issuer = new URL(service.auth.identity.issuer())
      const config = await oidc.discovery(issuer, appId, secret)
      const scope = 'https://graph.microsoft.com/.default'
      const granted = await oidc.clientCredentialsGrant(config, { scope })
      const claims = claimsOf(granted.access_token)
      assert.equal(claims.iss, service.auth.identity.issuer())
      assert.equal(claims.tid, service.tenantId)
      assert.equal(claims.appid, appId)
      assert.equal(claims.azp, appId)
      assert.equal(claims.oid, servicePrincipalId)
      assert.equal(claims.sub, servicePrincipalId)
      assert.equal(claims.idtyp, 'app')
      assert.equal(claims.ver, '2.0')
      assert.deepEqual(claims.roles, ['Group.Read.All', 'User.Read.All'])
      assert.equal('scp' in claims || 'scope' in claims, false)
      assert.equal(Number(claims.exp) - Number(claims.iat), 3600)
      assert.equal(claims.nbf, claims.iat)
      const caller = await service.auth.gatekeeper.authenticate(`Bearer ${granted.access_token}`)
      assert.equal(caller.kind, 'application')
      assert.equal(caller.objectId, servicePrincipalId)
      assert.deepEqual([...caller.permissions], ['Group.Read.All', 'User.Read.All'])
    },
  )

  clause(
    'TOK-90',
    'The answer to an application names no `scope`, as the official clients expect; the answer to a person names…',
    async () => {
      const { appId, secret } = await addApplication(service, { permissions: ['User.Read.All'] })
      const scope = 'https://graph.microsoft.com/.default'
      const { status, body } = await ask({ client_id: appId, client_secret: secret, scope })
      assert.equal(status, 200)
      assert.deepEqual(Object.keys(body).sort(), ['access_token', 'expires_in', 'token_type'])
    },
  )

  clause(
    'TOK-91',
    'The token endpoint of older clients, `/{tenant}/oauth2/token`, takes a `resource` in place of scopes, and its answer…',
    async () => {
      const { appId, secret } = await addApplication(service, { permissions: ['User.Read.All'] })
      const send = async (resource: string) => {
        const response = await fetch(`${service.origin}/${service.tenantId}/oauth2/token`, {
          method: 'POST',
          body: new URLSearchParams({
            grant_type: 'client_credentials',
            client_id: appId,
            client_secret: secret,
            resource,
          }),
        })
        return { status: response.status, body: (await response.json()) as Record<string, string> }
      }
      const resource = 'https://management.core.windows.net/'
      const { status, body } = await send(resource)
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body.resource, resource)
      assert.equal(body.expires_in, '3600')
      const { exp, roles } = claimsOf(body.access_token ?? '')
      assert.ok(Math.abs(Number(body.expires_on) - Number(exp)) <= 2)
      assert.deepEqual(roles, ['User.Read.All'])
      assert.equal((await send('https://vault.example.net')).body.error, 'invalid_target')
    },
  )

  clause(
    'TOK-92',
    'Instance discovery, `/{tenant}/discovery/instance`, names this service as the one host of its authority, and refuses…',
    async () => {
      const find = async (endpoint: string) => {
        const query = new URLSearchParams({ 'api-version': '1.1', authorization_endpoint: endpoint })
        const response = await fetch(`${service.origin}/common/discovery/instance?${query}`)
        return { status: response.status, body: (await response.json()) as Record<string, unknown> }
      }
      const { host } = new URL(service.origin)
      const own = await find(`${service.origin}/${service.tenantId}/oauth2/v2.0/authorize`)
      assert.equal(own.status, 200)
      assert.deepEqual(own.body.metadata, [
        { preferred_network: host, preferred_cache: host, aliases: [host] },
      ])
      const document = await fetch(String(own.body.tenant_discovery_endpoint))
      assert.equal(document.status, 200)
      for (const endpoint of ['https://login.example/x/oauth2/v2.0/authorize', 'nonsense', ''])
        assert.deepEqual([(await find(endpoint)).body.error], ['invalid_instance'], endpoint)
    },
  )

  clause(
    'TOK-10',
    'A token carries the permissions granted at the time it is issued, not earlier ones.',
    async () => {
      const { appId, secret, servicePrincipalId } = await addApplication(service, {
        permissions: ['Group.Read.All', 'User.Read.All'],
      })
      await revokeApplicationPermissions(service.database.sql, service.tenantId, servicePrincipalId, [
        'User.Read.All',
      ])
      const { body } = await ask({ client_id: appId, client_secret: secret })
      assert.deepEqual(claimsOf(body.access_token ?? '').roles, ['Group.Read.All'])
    },
  )

  clause(
    'TOK-11',
    'An application that was granted nothing gets a token without a role, whatever it asks for.',
    async () => {
      const { appId, secret } = await addApplication(service)
      const { body } = await ask({
        client_id: appId,
        client_secret: secret,
        scope: 'Directory.ReadWrite.All',
      })
      assert.deepEqual(claimsOf(body.access_token ?? '').roles, [])
    },
  )

  clause(
    'TOK-06',
    "`{tenant}` is the tenant's id, `common` or `organizations`; any other is 400 `invalid_tenant`.",
    async () => {
      const { appId, secret } = await addApplication(service)
      const parameters = { client_id: appId, client_secret: secret }
      for (const tenant of [service.tenantId, 'common', 'organizations'])
        assert.equal((await ask(parameters, tenant)).status, 200, tenant)
      for (const tenant of ['11111111-1111-1111-1111-111111111111', 'example.org', "x'--"]) {
        const { status, body } = await ask(parameters, encodeURIComponent(tenant))
        assert.equal(status, 400, tenant)
        assert.equal(body.error, 'invalid_tenant')
      }
    },
  )

  clause('TOK-07', '`{tenant}` may be a verified domain of the tenant.', async () => {
    const { appId, secret } = await addApplication(service)
    const { database, tenantId } = service
    const properties = { displayName: 'Example', verifiedDomains: [{ name: 'Example.com', isDefault: true }] }
    await database.sql`
      insert into directory_object (tenant_id, id, kind, properties)
      values (${tenantId}, ${tenantId}, 'organization', ${database.sql.json(properties)})
      on conflict (tenant_id, id) do update set properties = excluded.properties`
    const { status } = await ask({ client_id: appId, client_secret: secret }, 'example.com')
    assert.equal(status, 200)
  })

  clause(
    'TOK-08',
    'The accepted audiences and every address of the service name one resource; scopes for…',
    async () => {
      const { appId, secret } = await addApplication(service)
      const parameters = { client_id: appId, client_secret: secret }
      const ours = [
        'https://graph.microsoft.com/.default',
        'https://management.azure.com/.default',
        'https://management.azure.com//.default',
        `https://localhost:${service.listeners.httpsPort}/.default`,
        `https://127.0.0.1:${service.listeners.httpsPort}/.default`,
        '.default',
      ]
      for (const scope of ours) assert.equal((await ask({ ...parameters, scope })).status, 200, scope)
      for (const scope of ['https://vault.example.net/.default', 'api://something/.default']) {
        const { status, body } = await ask({ ...parameters, scope })
        assert.equal(status, 400, scope)
        assert.equal(body.error, 'invalid_target')
      }
    },
  )

  clause(
    'TOK-12',
    "A wrong secret, another application's secret and an unknown client are the same 401 `invalid_client`.",
    async () => {
      const [one, other] = [await addApplication(service), await addApplication(service)]
      const attempts = [
        { client_id: one.appId, client_secret: other.secret },
        { client_id: one.appId, client_secret: '' },
        { client_id: one.appId, client_secret: `${one.secret}x` },
        { client_id: '22222222-2222-2222-2222-222222222222', client_secret: one.secret },
        { client_id: "' or 1=1 --", client_secret: one.secret },
      ]
      for (const attempt of attempts) {
        const { status, body } = await ask(attempt)
        assert.equal(status, 401, JSON.stringify(attempt))
        assert.deepEqual(body, { error: 'invalid_client', error_description: 'client authentication failed' })
      }
    },
  )

  clause(
    'TOK-13',
    'A removed or expired secret, a disabled service principal and a deleted application get no token, from then on.',
    async () => {
      const { database, tenantId } = service
      const { sql } = database
      const cases: [
        string,
        (registration: Awaited<ReturnType<typeof addApplication>>) => Promise<unknown>,
      ][] = [
        [
          'removed',
          async ({ applicationId }) => {
            const [row] = await sql<{ key_id: string }[]>`
            select key_id from application_secret where application_id = ${applicationId}`
            await removeSecret(sql, tenantId, applicationId, row?.key_id ?? '')
          },
        ],
        [
          'expired',
          async ({ applicationId }) => {
            await sql`
            update application_secret set starts_at = now() - interval '2 days', ends_at = now() - interval '1 day'
            where application_id = ${applicationId}`
          },
        ],
        [
          'disabled',
          async ({ servicePrincipalId }) => {
            await sql`
            update directory_object set properties = properties || '{"accountEnabled":false}'
            where id = ${servicePrincipalId}`
          },
        ],
        [
          'deleted',
          async ({ applicationId }) => {
            await sql`update directory_object set deleted_at = now() where id = ${applicationId}`
          },
        ],
      ]
      for (const [name, change] of cases) {
        const registration = await addApplication(service)
        const parameters = { client_id: registration.appId, client_secret: registration.secret }
        assert.equal((await ask(parameters)).status, 200, name)
        await change(registration)
        assert.equal((await ask(parameters)).status, 401, name)
      }
    },
  )

  clause('TOK-14', 'A public client gets no token for itself, with or without a secret.', async () => {
    const properties = { isFallbackPublicClient: true, publicClient: { redirectUris: ['http://localhost'] } }
    const { appId, secret } = await addApplication(service, { properties, permissions: ['User.Read.All'] })
    for (const more of [{}, { client_secret: secret }]) {
      const { status, body } = await ask({ client_id: appId, ...more })
      assert.ok([400, 401].includes(status))
      assert.equal(body.access_token, undefined)
    }
  })

  clause(
    'TOK-15',
    'A token request that is too long, has a parameter twice or is not a form is 400 `invalid_request`.',
    async () => {
      const { appId, secret } = await addApplication(service)
      const valid = `grant_type=client_credentials&client_id=${appId}&client_secret=${secret}`
      const attempts: [string, string][] = [
        [`${valid}&x=${'y'.repeat(100_000)}`, 'application/x-www-form-urlencoded'],
        [`${valid}&client_secret=other`, 'application/x-www-form-urlencoded'],
        [`${valid}&scope=a&scope=b`, 'application/x-www-form-urlencoded'],
        [JSON.stringify(Object.fromEntries(new URLSearchParams(valid))), 'application/json'],
        ['', 'application/x-www-form-urlencoded'],
        ['%', 'application/x-www-form-urlencoded'],
      ]
      for (const [body, type] of attempts) {
        const response = await fetch(tokenUrl(), { method: 'POST', body, headers: { 'content-type': type } })
        assert.equal(response.status, 400, body.slice(0, 80))
        assert.match(await response.text(), /invalid_request/)
      }
    },
  )

  clause('TOK-16', 'Of a secret only a hash is stored.', async () => {
    const { secret, applicationId } = await addApplication(service)
    const rows = await service.database.sql`
      select (s.*)::text || o.properties::text as text from application_secret s
      join directory_object o on o.id = s.application_id where s.application_id = ${applicationId}`
    assert.equal(rows.length, 1)
    assert.equal(String(rows[0]?.text).includes(secret), false)
    assert.match(String(rows[0]?.text), /passwordCredentials/)
  })
})
