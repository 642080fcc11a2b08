import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerCheck } from '../../../src/db/guard-answers.ts'
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
