import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, test } from 'node:test'
import { createIdentity } from '../../../src/auth/identity.ts'
import { isSafeOrigin, originOf, readHostNames } from '../../../src/issuer/address.ts'
import { normalizeParameters } from '../../../src/issuer/normalize-request.ts'
import { escapeHtml, renderPage } from '../../../src/issuer/page.ts'
import { readScopes } from '../../../src/issuer/read-scopes.ts'
import { readTarget } from '../../../src/issuer/route.ts'

const origin = 'https://localhost:8443'
const identity = createIdentity('11111111-2222-3333-4444-555555555555', () => origin, [
  'https://graph.microsoft.com',
])
const hostNames = readHostNames('::1', ['login.example', '*.apps.example'])

describe('which requests are the token service’s', () => {
  const ours: [string, string | undefined, string][] = [
    ['/t/oauth2/v2.0/token', 't', '/oauth2/v2.0/token'],
    ['/oauth2/v2.0/token?x=1', undefined, '/oauth2/v2.0/token?x=1'],
    ['/t/discovery/v2.0/keys', 't', '/discovery/v2.0/keys'],
    ['/t/v2.0/.well-known/openid-configuration', 't', '/.well-known/openid-configuration'],
    ['/common/discovery/instance?x', 'common', '/discovery/instance?x'],
    ['/.well-known/openid-configuration', undefined, '/.well-known/openid-configuration'],
    ['/.well-known/oauth-authorization-server/t/v2.0', 't', '/.well-known/oauth-authorization-server'],
  ]
  for (const [url, tenant, inside] of ours)
    test(url, () => assert.deepEqual(readTarget(url), { tenant, url: inside, isFirstVersion: false }))
  test('/t/oauth2/token', () =>
    assert.deepEqual(readTarget('/t/oauth2/token?x'), {
      tenant: 't',
      url: '/oauth2/v2.0/token?x',
      isFirstVersion: true,
    }))

  const others = [
    '/v1.0/oauth2PermissionGrants',
    '/v1.0/me',
    '/subscriptions/x/oauth2/v2.0/token',
    '/a/b/oauth2/v2.0/token',
    '/oauth2/token',
    '/discovery/instance',
    'http://evil.example/oauth2/v2.0/token',
    '//evil.example/oauth2/v2.0/token',
    '/.well-known/security.txt',
    '/',
    '',
  ]
  for (const url of others) test(`not ${url}`, () => assert.equal(readTarget(url), null))
})

describe('scopes', () => {
  const cases: [string, string[], string[]][] = [
    ['', [], []],
    ['openid User.Read', ['openid', 'User.Read'], []],
    ['https://graph.microsoft.com/User.Read', ['User.Read'], ['https://graph.microsoft.com']],
    ['https://management.azure.com//.default', ['.default'], ['https://management.azure.com']],
    ['api://a/b api://c/d', ['b', 'd'], ['api://a', 'api://c']],
    ['x x', ['x'], []],
  ]
  for (const [scope, names, resources] of cases)
    test(`'${scope}'`, () => assert.deepEqual(readScopes(scope), { names, resources }))

  const normal = (text: string, grant?: string) => {
    const parameters = new URLSearchParams(text)
    normalizeParameters(parameters, { identity, hostNames }, grant)
    return [parameters.get('scope'), parameters.getAll('resource')]
  }
  test('every name of ours is one resource', () => {
    for (const resource of [
      'https://graph.microsoft.com',
      origin,
      'https://127.0.0.1:1',
      'https://login.example',
      'https://portal.apps.example',
    ])
      assert.deepEqual(normal(`scope=${resource}/User.Read`), ['User.Read', [origin]], resource)
  })
  test('a name that is not ours stays, and takes the place of ours', () => {
    assert.deepEqual(normal('scope=https://other.example/x https://graph.microsoft.com/y'), [
      'x y',
      ['https://other.example'],
    ])
    assert.deepEqual(normal('scope=x&resource=https://other.example'), ['x', ['https://other.example']])
  })
  test('an application that says nothing asks for what it was granted', () => {
    assert.deepEqual(normal('', 'client_credentials'), ['.default', [origin]])
  })
  test('a scope given twice is left for the library to refuse', () => {
    const parameters = new URLSearchParams('scope=a&scope=b')
    normalizeParameters(parameters, { identity, hostNames })
    assert.deepEqual(parameters.getAll('scope'), ['a', 'b'])
  })
})

describe('addresses', () => {
  const from = (host: string | undefined, encrypted = true) => {
    const request = { headers: { host }, socket: encrypted ? { encrypted } : {} }
    return originOf(request as unknown as IncomingMessage, 'https://id.example', hostNames)
  }
  test('our own host names are taken as the client used them', () => {
    assert.equal(from('localhost:9443'), 'https://localhost:9443')
    assert.equal(from('LOCALHOST:9443', false), 'http://localhost:9443')
    assert.equal(from('[::1]:80', false), 'http://[::1]')
    assert.equal(from('x.apps.example'), 'https://x.apps.example')
    assert.equal(from('id.example', false), 'https://id.example')
  })
  test('anything else is answered with the public address', () => {
    for (const host of [
      undefined,
      '',
      'evil.example',
      'localhost.evil.example',
      'a@localhost',
      'localhost/x',
      'a.b.apps.example',
      'localhost?x',
      '%',
    ])
      assert.equal(from(host), 'https://id.example', String(host))
  })
  test('passwords go in the clear on this machine alone', () => {
    assert.equal(isSafeOrigin('https://x.example', origin), true)
    assert.equal(isSafeOrigin('http://127.0.0.1:80', origin), true)
    assert.equal(isSafeOrigin('http://login.example', origin), false)
    assert.equal(isSafeOrigin('http://login.example', 'http://login.example'), true)
  })
})

test('pages show markup as text', () => {
  assert.equal(escapeHtml(`<a href="x" title='y'>&`), '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;')
  assert.doesNotMatch(renderPage('<script>', ''), /<script>/)
})
