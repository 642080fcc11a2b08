import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { OperatorError } from '../../src/kernel/operator-error.ts'
import { readSettings } from '../../src/settings.ts'

function refusal(environment: NodeJS.ProcessEnv): string {
  try {
    readSettings(environment)
  } catch (error) {
    assert.ok(error instanceof OperatorError)
    assert.equal(error.exitCode, 2)
    return error.message
  }
  return 'accepted'
}

describe('settings', () => {
  test('have defaults that listen on this machine alone', () => {
    const settings = readSettings({})
    assert.equal(settings.host, '127.0.0.1')
    assert.equal(settings.httpPort, 8080)
    assert.equal(settings.httpsPort, 8443)
    assert.equal(settings.gatewayPort, 6432)
    assert.equal(settings.databaseUrl, undefined)
    assert.equal(settings.demo, true)
  })

  test('an empty value is an unset one', () => {
    assert.equal(readSettings({ MASQUERADE_HTTP_PORT: '' }).httpPort, 8080)
  })

  const wrong: [string, string, RegExp][] = [
    ['HTTP_PORT', '80a', /MASQUERADE_HTTP_PORT: '80a' is not allowed\. Allowed: a number from 0 to 65535/],
    ['HTTP_PORT', '65536', /'65536'/],
    ['HTTP_PORT', '-1', /'-1'/],
    ['DEMO', 'yes', /Allowed: 0 or 1/],
    ['LOG_LEVEL', 'loud', /one of fatal, error, warn/],
    ['HOST', 'a b', /an IP address or host name/],
    ['PUBLIC_URL', 'https://x/y', /without a path/],
    ['SHUTDOWN_TIMEOUT_SECONDS', '0', /from 1 to 600/],
  ]
  for (const [name, value, message] of wrong)
    test(`${name}=${value} is refused, with its name, value and what is allowed`, () => {
      assert.match(refusal({ [`MASQUERADE_${name}`]: value }), message)
    })

  test('a wrong database URL is refused without being shown', () => {
    const message = refusal({ MASQUERADE_DATABASE_URL: 'mysql://u:hunter2@h/d' })
    assert.match(message, /MASQUERADE_DATABASE_URL/)
    assert.ok(!message.includes('hunter2'))
  })

  test('a misspelt setting is refused, not ignored', () => {
    assert.match(refusal({ MASQUERADE_HTTPPORT: '1' }), /MASQUERADE_HTTPPORT is not a setting/)
  })

  test('everything wrong is said at once, a line each', () => {
    assert.equal(refusal({ MASQUERADE_DEMO: '2', MASQUERADE_HTTP_PORT: 'x' }).split('\n').length, 2)
  })

  test('certificate and key come together', () => {
    assert.match(refusal({ MASQUERADE_TLS_CERT_FILE: 'x.pem' }), /must be set together/)
  })
})
