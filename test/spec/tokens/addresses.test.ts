import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('the addresses of the token service', () => {
  let service: TestService

  before(async () => {
    service = await startTestService({ MASQUERADE_TLS_HOST_NAMES: 'login.example,*.apps.example' })
  })
  after(() => service[Symbol.asyncDispose]())

  /** Headers as they are: fetch would not send another Host. */
  const ask = (path: string, headers: Record<string, string>, method = 'GET') =>
    new Promise<{ status: number; headers: Record<string, unknown>; body: Record<string, string> }>(
      (resolve, reject) => {
        const { httpPort } = service.listeners
        const sent = request({ host: '127.0.0.1', port: httpPort, path, method, headers }, (response) => {
          let text = ''
          response.on('data', (chunk) => {
            text += chunk
          })
          response.on('end', () => {
            const isJson = text !== '' && /json/.test(response.headers['content-type'] ?? '')
            const body = isJson ? JSON.parse(text) : {}
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body })
          })
        })
        sent.on('error', reject)
        sent.end()
      },
    )

  clause(
    'TOK-01',
    'The discovery document is at `/{tenant}/v2.0/.well-known/openid-configuration`, and the same without a tenant and under the name of RFC 8414; its issuer is one string, its endpoints follow the address that the client used.',
    async () => {
      const { tenantId } = service
      const documents = [
        `/${tenantId}/v2.0/.well-known/openid-configuration`,
        '/common/v2.0/.well-known/openid-configuration',
        '/.well-known/openid-configuration',
        `/.well-known/oauth-authorization-server/${tenantId}/v2.0`,
        `/${tenantId}/v2.0/.well-known/oauth-authorization-server`,
      ]
      for (const path of documents) {
        const { body } = await ask(path, { host: '127.0.0.1:9999' })
        const base = `http://127.0.0.1:9999/${tenantId}`
        assert.equal(body.issuer, service.auth.identity.issuer(), path)
        assert.equal(body.token_endpoint, `${base}/oauth2/v2.0/token`, path)
        assert.equal(body.authorization_endpoint, `${base}/oauth2/v2.0/authorize`)
        assert.equal(body.device_authorization_endpoint, `${base}/oauth2/v2.0/devicecode`)
        assert.equal(body.jwks_uri, `${base}/discovery/v2.0/keys`)
      }
    },
  )

  clause(
    'TOK-02',
    'Only host names of the service itself are repeated in an answer; under any other, endpoints are those of the public address, whatever headers a client sends.',
    async () => {
      const path = `/${service.tenantId}/v2.0/.well-known/openid-configuration`
      const ours = service.auth.identity.origin()
      const refused = [
        { host: 'evil.example' },
        { host: 'login.example.evil.example' },
        { host: 'user@localhost' },
        { host: 'localhost/evil' },
        { host: 'deep.down.apps.example' },
        { host: '.apps.example' },
        { host: 'evil.example', 'x-forwarded-host': 'localhost' },
      ]
      for (const headers of refused) {
        const { body } = await ask(path, headers)
        assert.ok(body.token_endpoint?.startsWith(`${ours}/`), JSON.stringify(headers))
      }
      const forwarded = {
        host: 'localhost:1',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
      }
      assert.ok((await ask(path, forwarded)).body.token_endpoint?.startsWith('http://localhost:1/'))
    },
  )

  clause(
    'TOK-03',
    'Over plain HTTP the token service works on loopback addresses alone, unless the public address is an `http` one.',
    async () => {
      const paths = [
        `/${service.tenantId}/oauth2/v2.0/token`,
        `/${service.tenantId}/oauth2/v2.0/authorize`,
        `/${service.tenantId}/oauth2/v2.0/device`,
      ]
      for (const path of paths)
        for (const host of ['login.example', 'portal.apps.example:8080']) {
          const { status, body } = await ask(path, { host })
          assert.equal(status, 400)
          assert.match(body.error_description ?? '', /HTTPS/)
        }
    },
  )

  clause('TOK-04', 'A request line with an absolute address does not reach the token service.', async () => {
    const { status } = await ask(`http://evil.example/${service.tenantId}/oauth2/v2.0/token`, {
      host: 'localhost',
    })
    assert.equal(status, 404)
  })

  clause(
    'TOK-05',
    'Paths beside the endpoints are 400 or 404. A method that an endpoint does not have is 405 with `Allow`, and one of SVC-03 is 501…',
    async () => {
      for (const path of ['/oauth2/v2.0/nothing', '/oauth2/v2.0/sign-in/x', '/oauth2/v2.0/authorize/x/y']) {
        const { status } = await ask(`/${service.tenantId}${path}`, { host: 'localhost' })
        assert.ok(status === 404 || status === 400, `${path}: ${status}`)
      }
      const endpoints = {
        '/oauth2/v2.0/token': 'POST',
        '/oauth2/v2.0/devicecode': 'POST',
        '/oauth2/v2.0/revoke': 'POST',
        '/oauth2/v2.0/authorize': 'GET, HEAD, POST',
        '/oauth2/v2.0/logout': 'GET, HEAD, POST',
        '/discovery/v2.0/keys': 'GET, HEAD',
        '/v2.0/.well-known/openid-configuration': 'GET, HEAD',
      }
      for (const [path, allowed] of Object.entries(endpoints)) {
        const send = (method: string) => ask(`/${service.tenantId}${path}`, { host: 'localhost' }, method)
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
          if (!allowed.split(', ').includes(method)) {
            const { status, headers, body } = await send(method)
            assert.equal(status, 405, `${method} ${path}`)
            assert.equal(headers.allow, allowed)
            assert.equal(body.error, 'invalid_request')
          }
        for (const method of ['QUERY', 'TRACE', 'PROPFIND']) assert.equal((await send(method)).status, 501)
        if (allowed.startsWith('GET')) assert.notEqual((await send('HEAD')).status, 405)
      }
    },
  )
})
