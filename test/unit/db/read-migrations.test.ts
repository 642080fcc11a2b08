import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { readMigrations } from '../../../src/db/migrate.ts'

function read(files: Record<string, string>) {
  const directory = mkdtempSync(path.join(tmpdir(), 'masquerade-sql-'))
  try {
    for (const [name, text] of Object.entries({ 'locks.json': '{}', ...files }))
      writeFileSync(path.join(directory, name), text)
    return readMigrations(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

test('files are read in order and other files are left alone', () => {
  const found = read({ '0002-b.sql': 'b', '0001-a.sql': 'a', 'schema.sql': 'x', 'README.md': 'y' })
  assert.deepEqual(
    found.map(({ number, name, text }) => [number, name, text]),
    [
      [1, 'a', 'a'],
      [2, 'b', 'b'],
    ],
  )
})

test('a gap, a number used twice and a bad name are refused', () => {
  assert.throws(
    () => read({ '0001-a.sql': '', '0003-c.sql': '' }),
    /'0003-c.sql' is out of order: the next number is 0002/,
  )
  assert.throws(() => read({ '0001-a.sql': '', '0001-b.sql': '' }), /'0001-b.sql' is out of order/)
  assert.throws(() => read({ '1-a.sql': '' }), /'1-a.sql' is out of order/)
})

test('the checksum ignores how lines end and nothing else', () => {
  const [unix, windows, other] = ['a\nb\n', 'a\r\nb\r\n', 'a\nb'].map(
    (text) => read({ '0001-a.sql': text })[0]?.checksum,
  )
  assert.equal(unix, windows)
  assert.notEqual(unix, other)
})
