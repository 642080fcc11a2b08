import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLoopbackAddress, isLoopbackHost, isSafeUrl, nameNetwork } from '../../../src/kernel/network.ts'
import { isDirectoryName, isUuid } from '../../../src/kernel/uuid.ts'

test('loopback is 127.0.0.0/8 and ::1, mapped into IPv6 or not, and no name that begins so', () => {
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '::FFFF:127.0.0.1'])
    assert.equal(isLoopbackAddress(address), true, address)
  for (const address of ['127.0.0.1.example.org', '127.1', '10.0.0.1', '::2', 'localhost', ''])
    assert.equal(isLoopbackAddress(address), false, address)
  for (const host of ['localhost', 'LOCALHOST', '[::1]', '127.0.0.1'])
    assert.equal(isLoopbackHost(host), true, host)
  assert.equal(isLoopbackHost('localhost.example.org'), false)
})

test('a URL is safe with https, or with http on this machine', () => {
  for (const url of ['https://example.org/a', 'http://localhost:8080', 'http://127.0.0.2/x', 'http://[::1]'])
    assert.equal(isSafeUrl(url), true, url)
  for (const url of ['http://example.org', 'http://127.0.0.1.example.org', 'ftp://localhost', 'nothing'])
    assert.equal(isSafeUrl(url), false, url)
})

test('clients of one /64 are one network, however the address is written', () => {
  assert.equal(nameNetwork('2001:DB8::1'), nameNetwork('2001:db8:0:0:ffff::9%eth0'))
  assert.equal(nameNetwork('::FFFF:10.0.0.1'), '10.0.0.1')
})

test('an account is a name with an @, or a UUID alone or before a slash', () => {
  const id = '11111111-2222-3333-4444-55555555555A'
  for (const name of ['a@b', id, `${id}/x`]) assert.equal(isDirectoryName(name), true, name)
  for (const name of ['analyst', `x${id}`, `${id}0`]) assert.equal(isDirectoryName(name), false, name)
  assert.deepEqual([isUuid(id), isUuid(`${id}\n`), isUuid(`${id}/x`)], [true, false, false])
})
