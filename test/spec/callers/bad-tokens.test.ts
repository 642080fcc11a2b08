import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import type { Claims } from '../../support/tokens.ts'

const now = () => Math.floor(Date.now() / 1000)
const encode = (part: unknown) =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')

describe('tokens that must not be trusted', () => {
  let service: TestService
  before(async () => {
    service = await startTestService()
  })
  after(() => service[Symbol.asyncDispose]())

  const surfaces = {
    directory: { method: 'POST', path: '/v1.0/me/getMemberGroups', body: { securityEnabledOnly: false } },
    masking: {
      method: 'GET',
      path: '/subscriptions/s/resourceGroups/g/providers/Vendor.Sql/servers/v/databases/d/dataMaskingPolicies/Default?api-version=2014-04-01',
      body: undefined,
    },
  } as const
  type SurfaceName = keyof typeof surfaces

  const good = () => service.tokens.claimsFor({ permissions: ['Directory.Read.All'] })
  const signed = (changes: Claims, header: Claims = {}) => {
    const claims = Object.entries({ ...good(), ...changes }).filter(([, value]) => value !== undefined)
    return service.tokens.signToken(Object.fromEntries(claims), header)
  }
  const signWith = (header: Claims, claims: unknown, make: (input: string) => Buffer) => {
    const input = `${encode(header)}.${encode(claims)}`
    return `${input}.${make(input).toString('base64url')}`
  }
  const ask = (surface: SurfaceName, authorization: string | undefined) => {
    const { method, path, body } = surfaces[surface]
    return service.request(method, path, {
      ...(body && { body }),
      ...(authorization !== undefined && { headers: { authorization } }),
    })
  }

  async function assertRefused(
    authorization: string | undefined,
    wanted: Record<SurfaceName, [string, string]>,
  ) {
    for (const surface of ['directory', 'masking'] as const) {
      const answer = await ask(surface, authorization)
      const [code, message] = wanted[surface]
      assert.equal(answer.status, 401, `${surface}: ${answer.text}`)
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/)
      assert.equal(answer.body.error.code, code)
      assert.equal(answer.body.error.message, message)
    }
  }
  const invalid: Record<SurfaceName, [string, string]> = {
    directory: ['InvalidAuthenticationToken', 'Access token validation failure.'],
    masking: ['InvalidAuthenticationToken', 'The access token is invalid.'],
  }
  const missing: Record<SurfaceName, [string, string]> = {
    directory: ['InvalidAuthenticationToken', 'Access token is empty.'],
    masking: ['AuthenticationFailed', "Authentication failed. The 'Authorization' header is missing."],
  }

  test('a good token gets in', async () => {
    const answer = await ask('directory', `Bearer ${signed({})}`)
    assert.equal(answer.status, 200, answer.text)
    const lower = await ask('directory', `bearer ${signed({})}`)
    assert.equal(lower.status, 200, 'the scheme has no case')
    assert.equal((await ask('masking', `Bearer ${signed({})}`)).status, 403)
  })

  clause(
    'DIR-63',
    'Every operation requires the header `Authorization: Bearer <ACCESS_TOKEN>`.',
    async () => {
      for (const authorization of [undefined, '', 'Bearer', 'Bearer '])
        await assertRefused(authorization, missing)
    },
  )
  clause(
    'DIR-86',
    'A request without a token is 401 `InvalidAuthenticationToken` with the message `Access token is empty.`',
    () => assertRefused(undefined, missing),
  )
  clause(
    'MASK-83',
    'Every operation needs `Authorization: Bearer`; without it the answer is 401 `AuthenticationFailed` with `WWW-Authenticate`.',
    () => assertRefused(undefined, missing),
  )

  const expired: Record<SurfaceName, [string, string]> = {
    directory: ['InvalidAuthenticationToken', 'Lifetime validation failed, the token is expired.'],
    masking: ['ExpiredAuthenticationToken', 'The access token has expired.'],
  }
  clause('DIR-87', 'A token past its lifetime is 401 `InvalidAuthenticationToken` with the message…', () =>
    assertRefused(`Bearer ${signed({ exp: now() - 60, iat: now() - 3600 })}`, expired),
  )
  clause(
    'MASK-85',
    'A token past its lifetime is 401 `ExpiredAuthenticationToken` with `WWW-Authenticate`.',
    () => assertRefused(`Bearer ${signed({ exp: now() - 60, iat: now() - 3600 })}`, expired),
  )

  const wrongAudience: Record<SurfaceName, [string, string]> = {
    directory: ['InvalidAuthenticationToken', 'Access token validation failure. Invalid audience.'],
    masking: ['InvalidAuthenticationToken', 'The access token was issued for another audience.'],
  }
  clause(
    'DIR-88',
    'A token for another audience is 401 `InvalidAuthenticationToken` with the message…',
    async () => {
      for (const aud of [
        'https://elsewhere.example',
        '',
        [],
        [3],
        { a: 1 },
        'https://graph.microsoft.com.evil.example',
      ])
        await assertRefused(`Bearer ${signed({ aud })}`, wrongAudience)
    },
  )

  /** Each is refused in the same words: the answer does not tell what was wrong. */
  const cases: Record<string, () => string> = {
    'another scheme': () => 'Basic YWRtaW46YWRtaW4=',
    'not a token': () => 'Bearer hello',
    'two tokens': () => `Bearer ${signed({})} ${signed({})}`,
    'characters that no token has': () => 'Bearer a.b.c\u00e9'.replace('\u00e9', '%00'),
    'no signature, alg none': () => `Bearer ${encode({ alg: 'none', typ: 'at+jwt' })}.${encode(good())}.`,
    'alg none with our kid': () =>
      `Bearer ${encode({ alg: 'none', typ: 'at+jwt', kid: service.auth.signingKeys.current().kid })}.${encode(good())}.`,
    'HS256 signed with the public key': () => {
      const { kid, publicKey } = service.auth.signingKeys.current()
      const secret = publicKey.export({ format: 'pem', type: 'spki' })
      return `Bearer ${signWith({ alg: 'HS256', typ: 'at+jwt', kid }, good(), (input) => createHmac('sha256', secret).update(input).digest())}`
    },
    'signed by a stranger under our kid': () => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const { kid } = service.auth.signingKeys.current()
      return `Bearer ${signWith({ alg: 'ES256', typ: 'at+jwt', kid }, good(), (input) => sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }))}`
    },
    'a key of its own in the header': () => {
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const jwk = pair.publicKey.export({ format: 'jwk' })
      return `Bearer ${signWith({ alg: 'ES256', typ: 'at+jwt', jwk, kid: 'mine' }, good(), (input) => sign('sha256', Buffer.from(input), { key: pair.privateKey, dsaEncoding: 'ieee-p1363' }))}`
    },
    'wrong issuer': () => `Bearer ${signed({ iss: 'https://issuer.example/v2.0' })}`,
    'issuer is not a string': () => `Bearer ${signed({ iss: { toString: 'x' } })}`,
    'wrong tenant': () => `Bearer ${signed({ tid: randomUUID() })}`,
    'an application of the consumer tenant': () =>
      `Bearer ${signed({ tid: '9188040d-6c67-4c5b-b112-36a304b66dad', scp: undefined, roles: ['Directory.Read.All'], idtyp: 'app' })}`,
    'not yet valid': () => `Bearer ${signed({ nbf: now() + 600 })}`,
    'no end': () => `Bearer ${signed({ exp: undefined })}`,
    'an end that is not a number': () => `Bearer ${signed({ exp: '9999999999' })}`,
    'no oid': () => `Bearer ${signed({ oid: undefined })}`,
    'an oid with SQL in it': () => `Bearer ${signed({ oid: "' or 1=1 --" })}`,
    'an oid that is nobody': () => `Bearer ${signed({ oid: randomUUID() })}`,
    'a client that is nobody': () => `Bearer ${signed({ azp: randomUUID() })}`,
    'no client': () => `Bearer ${signed({ azp: undefined })}`,
    'neither scp nor roles': () => `Bearer ${signed({ scp: undefined, idtyp: undefined })}`,
    'scp and idtyp app at once': () => `Bearer ${signed({ idtyp: 'app' })}`,
    'scp is an object': () => `Bearer ${signed({ scp: { 'Directory.Read.All': true } })}`,
    'unknown kid': () => `Bearer ${signed({}, { kid: 'nobody-knows-it' })}`,
    'no kid': () => `Bearer ${signed({}, { kid: undefined })}`,
    'kid with a path': () => `Bearer ${signed({}, { kid: '../../../../etc/passwd' })}`,
    'kid with SQL': () => `Bearer ${signed({}, { kid: "x' union select 'y' --" })}`,
    'kid of the prototype': () => `Bearer ${signed({}, { kid: '__proto__' })}`,
    'kid is an object': () => `Bearer ${signed({}, { kid: { a: 1 } })}`,
    'an id token': () => `Bearer ${signed({}, { typ: 'JWT' })}`,
    'critical header that we do not know': () => `Bearer ${signed({}, { crit: ['x'], x: 1 })}`,
    '64 KB': () => `Bearer ${signed({ padding: 'x'.repeat(64 * 1024) }).slice(0, 64 * 1024)}`,
    '17 KB': () => `Bearer ${signed({ padding: 'x'.repeat(13 * 1024) })}`,
    truncated: () => `Bearer ${signed({}).slice(0, -10)}`,
    'without its signature': () => `Bearer ${signed({}).replace(/\.[^.]*$/, '.')}`,
    'two parts': () => `Bearer ${signed({}).replace(/\.[^.]*$/, '')}`,
    'four parts': () => `Bearer ${signed({})}.x`,
    'empty parts': () => 'Bearer ..',
    'payload is not JSON': () => `Bearer ${encode({ alg: 'ES256', kid: 'x' })}.${encode('hello')}.AAAA`,
    'payload is null': () => `Bearer ${encode({ alg: 'ES256', kid: 'x' })}.${encode('null')}.AAAA`,
    'payload is not UTF-8': () =>
      `Bearer ${encode({ alg: 'ES256', kid: 'x' })}.${Buffer.from([0xff, 0xfe]).toString('base64url')}.AAAA`,
    'duplicate claims': () => {
      const { kid, privateKey } = service.auth.signingKeys.current()
      const text = JSON.stringify(good()).replace('{', `{"oid":"${randomUUID()}",`)
      return `Bearer ${signWith({ alg: 'ES256', typ: 'at+jwt', kid }, text, (input) => sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }))}`
    },
  }
  clause(
    'DIR-89',
    'Any other token that cannot be trusted is 401 `InvalidAuthenticationToken`…',
    async (t) => {
      for (const [name, make] of Object.entries(cases))
        await t.test(name, () => assertRefused(make(), invalid))
    },
  )
  clause(
    'MASK-84',
    'A token that is malformed, not signed by the issuer or not for this service is 401…',
    async () => {
      await assertRefused('Bearer hello', invalid)
      await assertRefused(cases['signed by a stranger under our kid']?.(), invalid)
      await assertRefused(`Bearer ${signed({ aud: 'https://elsewhere.example' })}`, wrongAudience)
    },
  )

  test('the audiences of the official clients are accepted, with and without a slash at the end', async () => {
    for (const aud of [
      'api://masquerade',
      'https://graph.microsoft.com',
      'https://graph.microsoft.com/',
      'https://management.azure.com/',
      'https://management.core.windows.net/',
    ])
      assert.equal((await ask('directory', `Bearer ${signed({ aud })}`)).status, 200, aud)
  })
})
