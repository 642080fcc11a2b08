import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  fatal,
  findText,
  int32,
  message,
  query,
  readFields,
  readFirstResponse,
  readMechanisms,
  writeFields,
  writeMechanisms,
} from '../../../src/wire/messages.ts'
import { Refusal } from '../../../src/wire/refusal.ts'

const isViolation = (error: unknown) => error instanceof Refusal && error.sqlstate === '08P01'

describe('messages', () => {
  test('the text of a statement is found, wherever its message stands', () => {
    const simple = query('select é')
    const { from, to } = findText(simple)
    assert.equal(simple.toString('utf8', from, to), 'select é')

    const types = Buffer.concat([Buffer.from([0, 1]), int32(25)])
    const parse = message('P', 'name\0select $1\0', types)
    const found = findText(parse)
    assert.deepEqual(found, { from: 10, to: 19, name: 'name' })
    const amid = Buffer.concat([simple, parse, simple])
    const { length } = simple
    assert.deepEqual(findText(amid, length, length + parse.length), {
      from: length + 10,
      to: length + 19,
      name: 'name',
    })
  })

  const hostile: Record<string, Buffer> = {
    'a query with a NUL inside': message('Q', 'select 1\0; drop\0'),
    'a query without an end': message('Q', 'select 1'),
    'an empty query message': message('Q'),
    'a parse message with a NUL inside': message('P', '\0select 1\0; drop\0', Buffer.alloc(2)),
    'a parse message without types': message('P', '\0select 1\0'),
    'a parse message with fewer types than it says': message('P', '\0select 1\0', Buffer.from([0, 9])),
    'a parse message of a name alone': message('P', 'name\0'),
    'an empty parse message': message('P'),
  }
  for (const [name, frame] of Object.entries(hostile))
    test(`${name} is refused, whatever stands around it`, () => {
      assert.throws(() => findText(frame), isViolation)
      for (const next of [query('select 1'), Buffer.alloc(20)]) {
        const amid = Buffer.concat([next, frame, next])
        assert.throws(() => findText(amid, next.length, next.length + frame.length), isViolation)
      }
    })

  test('fields of errors keep bytes of every encoding', () => {
    const frame = message('E', 'SERROR\0C42P01\0M', Buffer.from([0xe9, 0xff]), '\0P9\0\0')
    const fields = readFields(frame)
    assert.deepEqual(
      fields.map(([code]) => code),
      ['S', 'C', 'M', 'P'],
    )
    assert.deepEqual(writeFields('E', fields), frame)
    assert.throws(() => readFields(message('E', 'Scut')), isViolation)
  })

  test('a refusal is an error that clients know', () => {
    const fields = new Map(readFields(fatal(new Refusal('UnknownDatabase', { name: 'x' }))))
    assert.equal(fields.get('C'), '3D000')
    assert.equal(fields.get('S'), 'FATAL')
    assert.match(fields.get('M') ?? '', /"x"/)
  })

  test('login mechanisms', () => {
    const frame = writeMechanisms(['SCRAM-SHA-256-PLUS', 'SCRAM-SHA-256'])
    assert.deepEqual(readMechanisms(frame), ['SCRAM-SHA-256-PLUS', 'SCRAM-SHA-256'])
    const first = message('p', 'SCRAM-SHA-256\0', int32(9), 'y,,n=,r=x')
    const expected = { mechanism: 'SCRAM-SHA-256', binding: 'y', data: 'y,,n=,r=x' }
    assert.deepEqual(readFirstResponse(first), expected)
    for (const frame of [message('p', 'x'), message('p', 'x\0'), message('p', 'x\0', int32(5), 'abc')])
      assert.throws(() => readFirstResponse(frame), isViolation)
  })
})
