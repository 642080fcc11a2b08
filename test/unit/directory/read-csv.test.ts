import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readHeader, readRecord, splitRecords } from '../../../src/directory/transfer/read-csv.ts'
import { LineError } from '../../../src/directory/transfer/split-lines.ts'

async function collect(chunks: AsyncIterable<Uint8Array>) {
  const records = []
  for await (const record of splitRecords(chunks)) records.push(record)
  return records
}

async function split(text: string, chunkLength = 1) {
  const bytes = Buffer.from(text)
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunkLength) yield bytes.subarray(at, at + chunkLength)
  }
  return collect(chunks())
}

test('fields in quotes hold commas, line breaks and quotes, wherever the pieces of a file end', async () => {
  const text = 'a,b\r\n"x, ""y""","é\n2"\r\n\r\n,\nlast,line'
  const expected = [
    { number: 1, fields: ['a', 'b'] },
    { number: 2, fields: ['x, "y"', 'é\n2'] },
    { number: 5, fields: ['', ''] },
    { number: 6, fields: ['last', 'line'] },
  ]
  for (const length of [1, 2, 3, 100]) assert.deepEqual(await split(text, length), expected)
})

test('a file that is broken says where', async () => {
  const isAt = (line: number) => (error: unknown) => error instanceof LineError && error.line === line
  await assert.rejects(split('a\n"b'), isAt(2))
  await assert.rejects(split('a\n"b"c\n'), isAt(2))
  const latin = Buffer.from([0x61, 0x0a, 0xe9, 0x0a])
  async function* chunks() {
    yield latin
  }
  await assert.rejects(collect(chunks()), LineError)
})

test('the header tells the kind of the rows, and properties their types', () => {
  const header = readHeader({
    number: 1,
    fields: ['\uFEFFuserPrincipalName', 'accountEnabled', 'otherMails'],
  })
  const record = { number: 2, fields: ['a@b.c', 'No', 'x@y.z; u@v.w'] }
  assert.deepEqual(readRecord(header, record), {
    type: 'user',
    userPrincipalName: 'a@b.c',
    accountEnabled: false,
    otherMails: ['x@y.z', 'u@v.w'],
  })
  assert.equal(readRecord(['group', 'member'], { number: 2, fields: ['g', 'm'] }).type, 'member')
  assert.equal(readRecord(['displayName', 'type'], { number: 2, fields: ['g', 'device'] }).type, 'device')
  assert.throws(() => readHeader({ number: 1, fields: ['mail'] }))
  assert.throws(() => readHeader({ number: 1, fields: ['type', 'type'] }))
  assert.throws(() => readRecord(['displayName'], { number: 2, fields: ['a', 'b'] }))
})
