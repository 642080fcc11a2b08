import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeAddress, parseDatabaseUrl } from '../../../src/db/database-url.ts'
import { OperatorError } from '../../../src/kernel/operator-error.ts'

test('a URL is taken apart and decoded', () => {
  assert.deepEqual(parseDatabaseUrl('postgres://us%40er:p%3A%2Fw@db.example:6000/my%20db?sslmode=require'), {
    host: 'db.example',
    port: 6000,
    database: 'my db',
    user: 'us@er',
    password: 'p:/w',
    ssl: { rejectUnauthorized: false },
    weakestPassword: 'md5',
  })
})

test('a server elsewhere gets no password in the clear unless its certificate is checked or the URL says so', () => {
  const weakestOf = (url: string) => {
    const { weakestPassword, requiresProof } = parseDatabaseUrl(url)
    return [weakestPassword, requiresProof]
  }
  for (const url of [
    'postgres://u:p@h/d',
    'postgres://u:p@localhost,h/d',
    'postgres://u:p@h/d?sslmode=require',
  ])
    assert.deepEqual(weakestOf(url), ['md5', undefined], url)
  const certain = [
    'localhost/d',
    '[::1]/d',
    '/d?host=/run/pg',
    'h/d?sslmode=verify-full',
    'h/d?sslmode=verify-ca',
  ]
  for (const rest of certain)
    assert.deepEqual(weakestOf(`postgres://u:p@${rest}`), [undefined, undefined], rest)
  assert.deepEqual(weakestOf('postgres://u:p@h/d?require_auth=password'), ['password', undefined])
  assert.deepEqual(weakestOf('postgres://u:p@h/d?require_auth=md5,scram-sha-256'), ['md5', undefined])
  assert.deepEqual(weakestOf('postgres://u:p@localhost/d?require_auth=scram-sha-256'), [
    'scram-sha-256',
    true,
  ])
})

test('IPv6 addresses and unix sockets are understood', () => {
  const { host, port } = parseDatabaseUrl('postgresql://u:p@[::1]:5434/d')
  assert.deepEqual([host, port], ['::1', 5434])
  const socket = parseDatabaseUrl('postgres://u:p@/d?host=/run/pg&port=5433')
  assert.deepEqual([socket.host, socket.port], ['/run/pg', 5433])
})

test('several hosts have a port each, or one for all', () => {
  const url = 'postgres://u:p@one:5433,[::1],three/d?target_session_attrs=read-write'
  const address = parseDatabaseUrl(url)
  assert.deepEqual([address.host, address.port], ['one', 5433])
  assert.deepEqual(address.others, [
    { host: '::1', port: 5432 },
    { host: 'three', port: 5432 },
  ])
  assert.equal(describeAddress(address), 'u@one:5433,::1:5432,three:5432/d')
  const sockets = parseDatabaseUrl('postgres://u:p@/d?host=/run/a,/run/b&port=5433')
  assert.deepEqual([sockets.port, sockets.others], [5433, [{ host: '/run/b', port: 5433 }]])
})

test('a root certificate or verify mode makes the certificate count', () => {
  const modes = [
    'sslmode=verify-full',
    'sslmode=verify-ca',
    'sslrootcert=system',
    `sslrootcert=${import.meta.filename}`,
  ]
  for (const mode of modes) {
    assert.equal(parseDatabaseUrl(`postgres://u:p@h/d?${mode}`).ssl?.rejectUnauthorized, true, mode)
  }
  assert.equal(parseDatabaseUrl('postgres://u:p@h/d').ssl, undefined)
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
    'postgres://u:s3cret@h,/d',
    'postgres://u:s3cret@h,i,j/d?port=1,2',
    'postgres://u:s3cret@h,i/d?target_session_attrs=any',
    'postgres://u:s3cret@h:70000/d',
    'postgres://u:s3cret@h/d?require_auth=',
    'postgres://u:s3cret@h/d?require_auth=md5,none',
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
