import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeAddress, parseDatabaseUrl } from '../../../src/db/database-url.ts'
import { OperatorError } from '../../../src/kernel/operator-error.ts'

test('a URL is taken apart and decoded', () => {
  assert.deepEqual(parseDatabaseUrl('postgres://us%40er:p%3A%2Fw@db.example:6000/my%20db?sslmode=require'), {
    host: ['db.example'],
    port: [6000],
    database: 'my db',
    username: 'us@er',
    password: 'p:/w',
    ssl: 'require',
  })
})

test('several hosts, IPv6 and unix sockets are understood', () => {
  const many = parseDatabaseUrl('postgresql://u:p@a,b:5433,[::1]:5434/d?target_session_attrs=read-write')
  assert.deepEqual(
    [many.host, many.port],
    [
      ['a', 'b', '::1'],
      [5432, 5433, 5434],
    ],
  )
  assert.equal(many.target_session_attrs, 'read-write')
  assert.equal(parseDatabaseUrl('postgres://u:p@/d?host=/run/pg').path, '/run/pg/.s.PGSQL.5432')
})

test('a password with an unescaped @ is taken as psql takes it', () => {
  assert.equal(parseDatabaseUrl('postgres://u:p@ss@h/d').password, 'p@ss')
})

test('what is wrong is said in one line without the password', () => {
  const wrong = [
    'mysql://u:s3cret@h/d',
    'postgres://u:s3cret@h',
    'postgres://u:s3cret@h/',
    'postgres://:s3cret@h/d',
    'postgres://u:s3cret@/d',
    'postgres://u:s3cret@h:port/d',
    'postgres://u:s3cret%@h/d',
    'postgres://u:s3cret@h/d?sslmode=maybe',
    'postgres://u:s3cret@h/d?search_path=evil',
    'postgres://u:s3cret@h/d?sslrootcert=/no/such/file',
    'u:s3cret@h/d',
  ]
  for (const url of wrong) {
    assert.throws(
      () => parseDatabaseUrl(url),
      (error) => {
        assert.ok(error instanceof OperatorError, url)
        assert.doesNotMatch(error.message, /s3cret|\n/, url)
        return true
      },
    )
  }
  assert.equal(describeAddress(parseDatabaseUrl('postgres://u:s3cret@h/d')), 'u@h:5432/d')
})
