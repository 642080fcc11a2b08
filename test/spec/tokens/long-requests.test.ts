import assert from 'node:assert/strict'
import { once } from 'node:events'
import http, { Agent } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { addApplication } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { redirectUri, singlePage } from '../../support/sign-in.ts'

describe('long requests of strangers', () => {
  let service: TestService
  let appId: string

  before(async () => {
    service = await startTestService()
    appId = (await addApplication(service, { properties: singlePage })).appId
  })
  after(() => service[Symbol.asyncDispose]())

  const send = (
    path: string,
    parameters: Record<string, string>,
    init: RequestInit & { duplex?: 'half' } = {},
  ) => {
    const url = `${service.origin}/common/oauth2/v2.0/${path}`
    const form = new URLSearchParams(parameters)
    return init.method === 'POST'
      ? fetch(url, { body: form, redirect: 'manual', ...init })
      : fetch(`${url}?${form}`, { redirect: 'manual', ...init })
  }
  const request = (more: Record<string, string> = {}) => ({
    client_id: appId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid',
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
    ...more,
  })
  const countState = async () => (await service.database.sql`select from oidc_state`).length
  const post = { method: 'POST' }

  clause(
    'TOK-126',
    'A request to authorize, to sign out, for a device code or with one, whose query or body is longer than 8 KB is 400 `invalid_request`, and so is one with a parameter longer than 2 KB other than `scope`, `id_token_hint` and `client_assertion`. Nothing of it is stored.…',
    async () => {
      const begun = [
        await send('authorize', request({ state: 's'.repeat(2048), nonce: 'n'.repeat(2048) })),
        await send('authorize', request({ scope: `openid ${'User.Read '.repeat(300)}` })),
      ]
      assert.deepEqual(
        begun.map(({ status, headers }) => [status, /\/sign-in\//.test(headers.get('location') ?? '')]),
        begun.map(() => [303, true]),
      )
      const stored = await countState()
      const long = 'x'.repeat(2049)
      const scope = `openid ${'User.Read '.repeat(900)}`
      const device = { client_id: appId, scope }
      const chunked = () => {
        const bytes = [new URLSearchParams(request({ scope })).toString()].map((text) => Buffer.from(text))
        const body = ReadableStream.from(bytes)
        const headers = { 'content-type': 'application/x-www-form-urlencoded' }
        return send('authorize', {}, { ...post, body, headers, duplex: 'half' })
      }
      const refused = [
        await send('authorize', request({ state: 's'.repeat(80_000) })),
        ...(await Promise.all(
          ['state', 'nonce', 'login_hint', 'acr_values', 'claims'].flatMap((name) => [
            send('authorize', request({ [name]: long })),
            send('authorize', request({ [name]: long }), post),
          ]),
        )),
        await send('authorize', request({ scope })),
        await send('authorize', request({ scope }), post),
        await chunked(),
        await send('logout', { client_id: appId, state: long }),
        await send('logout', { client_id: appId, state: long }, post),
        await send('logout/confirm', { xsrf: long }, post),
        await send('device', { user_code: long }),
        await send('device', { user_code: long }, post),
      ]
      for (const answer of refused) {
        assert.equal(answer.status, 400, answer.url.slice(0, 100))
        assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
        assert.match(answer.headers.get('content-security-policy') ?? '', /default-src 'none'/)
        assert.match(await answer.text(), /too long\. \(invalid_request\)/)
      }
      for (const form of [device, { client_id: appId, scope: 'openid', nonce: long }]) {
        const answer = await send('devicecode', form, post)
        assert.equal(answer.status, 400)
        assert.equal(((await answer.json()) as { error: string }).error, 'invalid_request')
      }
      assert.equal(await countState(), stored)
    },
  )

  clause(
    'TOK-126',
    'A request to authorize, to sign out, for a device code or with one, whose query or body is longer…',
    async () => {
      await service.database.sql`delete from oidc_state`
      assert.equal((await send('logout', {})).status, 200)
      const rows = await service.database.sql<{ model: string; minutes: number }[]>`
        select model, ceil(extract(epoch from expires_at - now()) / 60)::int as minutes from oidc_state`
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        [{ model: 'Session', minutes: 30 }],
      )
    },
  )

  clause(
    'SVC-133',
    'A body that the token service refuses before its end costs the next requests of the connection nothing: the rest is read and dropped…',
    async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const sockets = new Set<unknown>()
      const ask = (path: string, method: string, body = '') =>
        new Promise<number>((resolve, reject) => {
          const headers = {
            'content-type': 'application/x-www-form-urlencoded',
            'content-length': body.length,
          }
          const sent = http.request(
            service.origin + path,
            { agent, method, headers, signal: AbortSignal.timeout(20_000) },
            (response) => {
              sockets.add(response.socket)
              response.resume().on('end', () => resolve(response.statusCode ?? 0))
            },
          )
          sent.on('error', reject)
          sent.end(body)
        })
      try {
        for (const bytes of [20_000, 130_000, 900_000])
          for (const path of [
            'token',
            'authorize',
            'devicecode',
            'device',
            'revoke',
            'logout',
            'sign-in/none',
          ]) {
            const url = `/common/oauth2/v2.0/${path}`
            assert.ok((await ask(url, 'POST', 'x'.repeat(bytes))) >= 400, `${path}, ${bytes}`)
            assert.equal(await ask('/healthz', 'GET'), 200, `${path}, ${bytes}`)
          }
        assert.equal(sockets.size, 1, 'one connection')
      } finally {
        agent.destroy()
      }
      for (const path of ['/v1.0/users', '/common/oauth2/v2.0/token', '/healthz']) {
        const upgrade = `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`
        const behind = 'POST /v1.0/users HTTP/1.1\r\nhost: x\r\ncontent-length: 60\r\n\r\n'
        const socket = connect(service.listeners.httpPort, '127.0.0.1')
        socket.on('error', () => {})
        socket.write(upgrade + behind)
        const read = text(socket)
        await once(socket, 'data')
        socket.write('GET /v1.0/inner HTTP/1.1\r\nhost: x\r\n\r\n')
        const answers = await read
        assert.equal(answers.match(/^HTTP\/1\.1 /gm)?.length, 1, answers)
        assert.match(answers, /^connection: close\r$/im)
      }
    },
  )
})
