import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Refusal } from '../../../src/wire/refusal.ts'
import {
  maxStartupBytes,
  readStartup,
  readStartupLength,
  sslRequest,
  writeCancel,
  writeStartup,
} from '../../../src/wire/startup.ts'

const bytes = (...parts: (number | string)[]) => {
  const body = Buffer.concat(
    parts.map((part) => {
      if (typeof part === 'string') return Buffer.from(part)
      const number = Buffer.alloc(4)
      number.writeUInt32BE(part)
      return number
    }),
  )
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length + 4)
  return Buffer.concat([length, body])
}

describe('startup packets', () => {
  test('what is written is read', () => {
    const parameters = [
      ['user', 'ann'],
      ['database', 'srv/süß'],
      ['options', ''],
    ] as const
    const packet = readStartup(writeStartup(parameters))
    assert.deepEqual(packet, { kind: 'startup', major: 3, minor: 0, parameters: new Map(parameters) })
    assert.deepEqual(readStartup(sslRequest), { kind: 'ssl' })
    assert.deepEqual(readStartup(bytes(80877104)), { kind: 'gss' })
    assert.deepEqual(readStartup(writeCancel(7, Buffer.from('abcd'))), {
      kind: 'cancel',
      processId: 7,
      secret: Buffer.from('abcd'),
    })
  })

  test('a later minor version is told apart', () => {
    const packet = readStartup(bytes((3 << 16) + 2, 'user\0a\0\0'))
    assert.equal(packet.kind === 'startup' && packet.minor, 2)
  })

  const malformed: Record<string, Buffer> = {
    'no terminator': bytes(3 << 16, 'user\0a\0'),
    'no body at all': bytes(3 << 16),
    'a name without value': bytes(3 << 16, 'user\0\0'),
    'a value cut off': bytes(3 << 16, 'user\0a'),
    'data after the terminator': bytes(3 << 16, 'user\0a\0\0more\0b\0\0'),
    'an encryption request with a tail': bytes(80877103, 'x'),
    'a cancel request without a key': bytes(80877102, 1),
    'a cancel request with an endless key': bytes(80877102, 1, 'x'.repeat(300)),
    'a length that lies': Buffer.concat([writeStartup([['user', 'a']]), Buffer.from('x')]),
    nothing: Buffer.alloc(0),
  }
  for (const [name, packet] of Object.entries(malformed))
    test(`${name} is refused`, () => assert.throws(() => readStartup(packet), isViolation))

  for (const length of [0, 1, 7, maxStartupBytes + 1, 0x7fffffff, 0xffffffff])
    test(`a length of ${length} is refused`, () => {
      const head = Buffer.alloc(4)
      head.writeUInt32BE(length)
      assert.throws(() => readStartupLength(head), isViolation)
    })
})

function isViolation(error: unknown): boolean {
  return error instanceof Refusal && error.sqlstate === '08P01'
}
