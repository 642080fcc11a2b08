import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerCheck, guardValues } from '../../../src/db/guard-answers.ts'
import { message } from '../../../src/wire/messages.ts'
import { dataRow, welcome } from '../../support/hostile-server.ts'

test('an answer of more than 256 MB is not read to its end', () => {
  const megabyte = Buffer.concat(Array.from({ length: 1000 }, () => dataRow('x'.repeat(1036))))
  const read = (check: AnswerCheck, megabytes: number) => {
    for (let at = 0; at < megabytes; at++) check.push(megabyte)
  }
  const check = new AnswerCheck()
  read(check, 200)
  check.push(message('Z', 'I'))
  read(check, 200)
  assert.throws(() => read(check, 100), { code: 'EANSWER' })
})

test('an answer that comes byte by byte is the same answer', () => {
  const check = new AnswerCheck()
  const push = (bytes: Buffer) => {
    for (const byte of bytes) check.push(Buffer.from([byte]))
  }
  push(Buffer.concat([...welcome, message('E', 'SERROR\0Mgood\0\0'), message('N', '\0'), message('Z', 'I')]))
  assert.throws(() => push(message('E', 'SERROR\0Mbad\0')), { code: 'EANSWER' })
})

test('a value that no PostgreSQL sends is refused, in the text of JSON too', () => {
  const read = (text: string, isJson: boolean) => guardValues(() => (isJson ? JSON.parse : String))(0)(text)
  const deep = `${'['.repeat(100_000)}"\\u0000"${']'.repeat(100_000)}`
  for (const text of ['{"a":["\\u0000"]}', '{"\\u0000":1}', '"\\ud800"', '{"a":"x\\udc00"}', deep])
    assert.throws(() => read(text, true), { code: 'EANSWER' }, text.slice(0, 20))
  assert.throws(() => read('a\0b', false), { code: 'EANSWER' })
  for (const text of ['"\\ud83d\\ude00"', '"\\\\u0000"', '{"a":null,"b":[1,"\\u0001"]}'])
    assert.deepEqual(read(text, true), JSON.parse(text))
  assert.equal(read('\\u0000', false), '\\u0000')
})
