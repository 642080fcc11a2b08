import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { after, before, describe, test } from 'node:test'
import pino from 'pino'
import { OperatorError } from '../../../src/kernel/operator-error.ts'
import { startService } from '../../../src/main.ts'
import { readSettings } from '../../../src/settings.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')
const unsigned = (claims: unknown, header: unknown = { alg: 'none' }) =>
  `${encode(header)}.${encode(claims)}.`
const policy =
  '/subscriptions/s/resourceGroups/g/providers/Vendor.Sql/servers/v/databases/d/dataMaskingPolicies/Default?api-version=2014-04-01'

describe('emulator mode', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({ MASQUERADE_EMULATOR: '1' })
  })
  after(() => service[Symbol.asyncDispose]())
  const get = (path: string, token?: string) =>
    service.request('GET', path, token === undefined ? {} : { token })

  test('a request without a token is the administrator’s, in both APIs', async () => {
    assert.equal((await get('/v1.0/me')).body.userPrincipalName, 'admin@masquerade.local')
    assert.equal((await get(policy)).status, 200)
    const made = await service.request('POST', '/v1.0/groups', {
      body: { displayName: 'g', mailNickname: 'g', mailEnabled: false, securityEnabled: true },
    })
    assert.equal(made.status, 201, made.text)
  })

  test('an unsigned token is taken at its word', async () => {
    assert.equal((await get('/v1.0/users', unsigned({ scp: 'User.Read.All' }))).status, 200)
    assert.equal((await get('/v1.0/users', unsigned({ scp: 'Mail.Read' }))).status, 403)
    assert.equal((await get('/v1.0/users', unsigned({}))).status, 403)
    const application = {
      oid: randomUUID(),
      appid: randomUUID(),
      roles: ['User.Read.All'],
      exp: 1,
      tid: 'any',
    }
    assert.equal((await get('/v1.0/users', unsigned(application))).status, 200)
    assert.equal((await get('/v1.0/me', unsigned(application))).status, 400)
    const personal = { scp: 'User.Read.All', tid: '9188040d-6c67-4c5b-b112-36a304b66dad' }
    assert.equal((await get('/v1.0/users', unsigned(personal))).status, 403)
  })

  test('what is neither unsigned nor good is refused', async () => {
    const good = service.tokenFor({ permissions: ['User.Read.All'] })
    assert.equal((await get('/v1.0/users', good)).status, 200)
    for (const bad of [
      'hello',
      `${good.slice(0, -4)}AAAA`,
      unsigned({ scp: 'x' }, { alg: 'HS256' }),
      'a.b.',
      '...',
    ])
      assert.equal((await get('/v1.0/users', bad)).status, 401, bad)
    assert.equal((await get('/v1.0/users', unsigned({ oid: "' or 1=1", scp: 'User.Read.All' }))).status, 401)
  })

  test('every answer says it', async () => {
    for (const path of ['/v1.0/me', '/nowhere', '/readyz', '/.well-known/openid-configuration', policy]) {
      const answer = await get(path)
      assert.equal(answer.headers.get('x-masquerade-emulator'), 'tokens are not verified', path)
    }
  })

  test('another site’s page in a browser on this machine does not get in', async () => {
    const ask = (headers: Record<string, string>) =>
      new Promise<number>((resolve, reject) => {
        const { port } = new URL(service.origin)
        httpRequest({ host: '127.0.0.1', port, path: '/v1.0/me', headers }, (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
          .on('error', reject)
          .end()
      })
    assert.equal(await ask({ host: 'localhost' }), 200)
    assert.equal(await ask({ host: 'rebound.example' }), 403)
    assert.equal(await ask({ host: 'localhost', origin: 'https://evil.example' }), 403)
    assert.equal(await ask({ host: 'localhost', origin: 'null' }), 403)
    const form = { host: 'localhost', origin: 'null', 'sec-fetch-site': 'same-origin' }
    assert.equal(await ask(form), 200, 'forms of the sign-in come so')
    assert.equal(await ask({ ...form, 'sec-fetch-site': 'cross-site' }), 403, 'a frame in a sandbox')
    assert.equal(await ask({ ...form, host: 'evil.example' }), 403, 'a name that was rebound')
    assert.equal(await ask({ host: 'localhost', origin: 'http://localhost:3000' }), 200)
  })
})

test('the emulator does not start on an address that others can reach', async () => {
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com', '127.0.0.1.example.com']) {
    const settings = readSettings({
      MASQUERADE_EMULATOR: '1',
      MASQUERADE_HOST: host,
      MASQUERADE_DATA_DIR: '/nonexistent/never-made',
    })
    await assert.rejects(startService({ settings, log: pino({ level: 'silent' }) }), OperatorError, host)
  }
})

test('without the setting, there is no trace of it', async () => {
  await using service = await startTestService()
  const token = unsigned({ scp: 'User.Read.All' })
  for (const answer of [
    await service.request('GET', '/v1.0/users', { token }),
    await service.request('GET', '/v1.0/users'),
  ]) {
    assert.equal(answer.status, 401)
    assert.equal(answer.headers.get('x-masquerade-emulator'), null)
  }
})
