import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readProxyAddress, readProxyLength } from '../../../src/wire/proxy-header.ts'
import { Refusal } from '../../../src/wire/refusal.ts'
import { writeProxyHeader } from '../../support/proxy-header.ts'
import { runs } from '../../support/runs.ts'

function read(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 16)
  return readProxyAddress(head, bytes.subarray(16, 16 + readProxyLength(head)))
}

test('the client of a PROXY header is its source address', () => {
  assert.equal(read(writeProxyHeader('203.0.113.7')), '203.0.113.7')
  assert.equal(read(writeProxyHeader('2001:db8:0:0:0:0:0:9')), '2001:db8::9')
  assert.equal(
    read(writeProxyHeader('203.0.113.7', { more: Buffer.from('0400010055', 'hex') })),
    '203.0.113.7',
  )
  assert.equal(
    read(writeProxyHeader('203.0.113.7', { command: 0x20 })),
    undefined,
    'a check of the proxy itself',
  )
})

const hostile: Record<string, Buffer> = {
  'no header': Buffer.from('\0\0\0\x08\x04\xd2\x16\x2f01234567', 'latin1'),
  'version 1': Buffer.from('PROXY TCP4 203.0.113.7 127.0.0.1 1 2\r\n'),
  'another version': writeProxyHeader('203.0.113.7', { command: 0x31 }),
  'an unknown command': writeProxyHeader('203.0.113.7', { command: 0x22 }),
  'an unknown client': writeProxyHeader('203.0.113.7', { family: 0x00 }),
  UDP: writeProxyHeader('203.0.113.7', { family: 0x12 }),
  'a Unix socket': writeProxyHeader('203.0.113.7', { family: 0x31 }),
  'IPv6 with the bytes of IPv4': writeProxyHeader('203.0.113.7', { family: 0x21 }),
  'a length beyond the limit': writeProxyHeader('203.0.113.7', { more: Buffer.alloc(4096) }),
}
for (const [what, bytes] of Object.entries(hostile))
  test(`a PROXY header with ${what} is refused`, () => {
    assert.throws(() => read(bytes), Refusal)
  })

test('random bytes after the signature are an address or a refusal', () => {
  const signature = writeProxyHeader('203.0.113.7').subarray(0, 12)
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 4, maxLength: 80 }), (bytes) => {
      try {
        const address = read(Buffer.concat([signature, bytes]))
        assert.ok(address === undefined || /^[\da-f.:]+$/.test(address))
      } catch (error) {
        assert.ok(error instanceof Refusal)
      }
    }),
    { numRuns: runs(500) },
  )
})
