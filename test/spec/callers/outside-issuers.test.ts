import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type JWK, SignJWT } from 'jose'
import pino from 'pino'
import { loadTrustedIssuers } from '../../../src/auth/trusted-issuers.ts'
import { OperatorError } from '../../../src/kernel/operator-error.ts'
import { fillDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const audience = 'https://masking.example'

describe('tokens of outside issuers', () => {
  const published: JWK[] = []
  let requests = 0
  let down = false
  let keyServer: Server
  let issuer: string
  let directory: string
  let service: TestService

  before(async () => {
    keyServer = createServer((request, response) => {
      requests++
      if (down) return void response.writeHead(500).end()
      const body = request.url?.endsWith('/keys')
        ? { keys: published }
        : { issuer, jwks_uri: `${issuer}/keys` }
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    })
    await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve))
    issuer = `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}`
    directory = await mkdtemp(join(tmpdir(), 'masquerade-test-'))
    const file = join(directory, 'issuers.json')
    const claims = { oid: 'uid', tid: null, scp: 'scope', appid: 'client_id' }
    await writeFile(file, JSON.stringify([{ issuer, audiences: [audience], claims }]))
    service = await startTestService({ MASQUERADE_TRUSTED_ISSUERS_FILE: file })
  })
  after(async () => {
    await service[Symbol.asyncDispose]()
    keyServer.close()
    await rm(directory, { recursive: true, force: true })
  })

  function makeKey(alg: 'ES256' | 'RS256', kid: string) {
    const pair =
      alg === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('rsa', { modulusLength: 2048 })
    return {
      alg,
      kid,
      privateKey: pair.privateKey,
      jwk: { ...pair.publicKey.export({ format: 'jwk' }), kid, alg },
    }
  }
  type Key = ReturnType<typeof makeKey>
  const tokenBy = ({ alg, kid, privateKey }: Key, changes: Record<string, unknown> = {}) =>
    new SignJWT({
      iss: issuer,
      aud: audience,
      uid: service.tokens.shared.user,
      scope: 'Directory.Read.All',
      client_id: 'their-app',
      iat: Math.floor(Date.now() / 1000),
      exp: Math.floor(Date.now() / 1000) + 600,
      ...changes,
    })
      .setProtectedHeader({ alg, kid })
      .sign(privateKey)
  const ask = async (token: string) =>
    service.request('POST', '/v1.0/me/getMemberGroups', { token, body: { securityEnabledOnly: false } })

  test('a published key lets in; one that appears later does so after the pause', async (t) => {
    const first = makeKey('RS256', 'first')
    published.push(first.jwk)
    const answer = await ask(await tokenBy(first))
    assert.equal(answer.status, 200, answer.text)

    const asked = requests
    const later = makeKey('ES256', 'later')
    published.push(later.jwk)
    for (let i = 0; i < 5; i++) assert.equal((await ask(await tokenBy(later, { i }))).status, 401)
    assert.equal(requests, asked, 'unknown keys are not asked for within the pause')
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 31_000 })
    assert.equal((await ask(await tokenBy(later))).status, 200)
    assert.equal(requests, asked + 1)
  })

  test('wrong audience, unknown principal, our own tenant rules and weak algorithms are refused', async () => {
    const key = makeKey('RS256', 'first')
    published.splice(0, published.length, key.jwk)
    await using other = await startTestService({
      MASQUERADE_TRUSTED_ISSUERS_FILE: join(directory, 'issuers.json'),
    })
    const statusOf = async (token: string) =>
      (
        await other.request('POST', '/v1.0/me/getMemberGroups', {
          token,
          body: { securityEnabledOnly: false },
        })
      ).status
    const uid = other.tokens.shared.user
    assert.equal(await statusOf(await tokenBy(key, { uid })), 200)
    assert.equal(await statusOf(await tokenBy(key, { uid, aud: 'https://graph.microsoft.com' })), 401)
    assert.equal(await statusOf(await tokenBy(key, { uid: randomUUID() })), 401)
    assert.equal(
      await statusOf(await tokenBy(makeKey('RS256', 'first'), { uid })),
      401,
      'a stranger under the same kid',
    )

    down = true
    const answer = await other.request('POST', '/v1.0/me/getMemberGroups', {
      token: await tokenBy(key, { uid, jti: 'while down' }),
      body: { securityEnabledOnly: false },
    })
    assert.equal(answer.status, 200, 'keys that were read before still count')
    await using third = await startTestService({
      MASQUERADE_TRUSTED_ISSUERS_FILE: join(directory, 'issuers.json'),
    })
    const unavailable = await third.request('POST', '/v1.0/me/getMemberGroups', {
      token: await tokenBy(key, { uid: third.tokens.shared.user }),
      body: { securityEnabledOnly: false },
    })
    assert.equal(unavailable.status, 503)
    down = false
  })

  test('keys by their own address, another tenant’s id, and principals that the directory does not hold', async () => {
    const key = makeKey('ES256', 'other')
    published.push(key.jwk)
    const file = join(directory, 'any.json')
    const entry = {
      issuer,
      jwksUri: `${issuer}/keys`,
      audiences: [audience],
      principals: 'any',
      tenantId: 'theirs',
    }
    await writeFile(file, JSON.stringify([entry]))
    await using other = await startTestService({ MASQUERADE_TRUSTED_ISSUERS_FILE: file })
    const disabled = await fillDirectory(other).user()
    await other.database.sql`
      update directory_object set properties = properties || '{"accountEnabled": false}' where id = ${disabled}`
    const claims = { oid: randomUUID(), tid: 'theirs', azp: 'their-app', scp: 'User.Read.All' }
    const statusOf = async (changes: Record<string, unknown>) =>
      (await other.request('GET', '/v1.0/users', { token: await tokenBy(key, { ...claims, ...changes }) }))
        .status
    assert.equal(await statusOf({}), 200)
    assert.equal(await statusOf({ tid: other.tenantId }), 401)
    assert.equal(await statusOf({ oid: disabled }), 401, 'one whom the directory knows, and shut out')
    assert.equal(await statusOf({ oid: other.tokens.shared.user }), 200)
    assert.equal(await statusOf({ scp: undefined, roles: ['User.Read.All'] }), 200)
    assert.equal(await statusOf({ scp: undefined }), 401)
  })

  test('a discovery document of another issuer counts for nothing', async () => {
    const file = join(directory, 'mistaken.json')
    const mistaken = `${issuer}/other`
    await writeFile(
      file,
      JSON.stringify([{ issuer: mistaken, audiences: [audience], claims: { tid: null } }]),
    )
    await using other = await startTestService({ MASQUERADE_TRUSTED_ISSUERS_FILE: file })
    const key = makeKey('ES256', 'other')
    const token = await tokenBy(key, { iss: mistaken, oid: other.tokens.shared.user, scp: 'User.Read.All' })
    assert.equal((await other.request('GET', '/v1.0/users', { token })).status, 503)
  })

  test('a list that is wrong is refused in one line', async () => {
    const file = join(directory, 'wrong.json')
    const wrong: unknown[] = [
      'no list',
      [{ issuer: 'https://a.example' }],
      [{ issuer: 'https://a.example', audiences: [] }],
      [{ issuer: 'https://a.example', audiences: ['x'], jwksUri: 'http://a.example/keys' }],
      [{ issuer: 'https://a.example', audiences: ['x'], algorithms: ['HS256'] }],
      [{ issuer: 'https://a.example', audiences: ['x'], unknown: 1 }],
      [
        { issuer: 'https://a.example', audiences: ['x'] },
        { issuer: 'https://a.example', audiences: ['y'] },
      ],
    ]
    for (const list of wrong) {
      await writeFile(file, JSON.stringify(list))
      assert.throws(
        () => loadTrustedIssuers(file, randomUUID(), pino({ level: 'silent' })),
        (error) => error instanceof OperatorError && !error.message.includes('\n'),
        JSON.stringify(list),
      )
    }
    await writeFile(file, '{')
    assert.throws(() => loadTrustedIssuers(file, randomUUID(), pino({ level: 'silent' })), OperatorError)
  })
})
