import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLocalJWKSet, jwtVerify } from 'jose'
import pino from 'pino'
import { loadSecretKeys } from '../../../src/auth/secret-key.ts'
import { openSigningKeys } from '../../../src/auth/signing-keys.ts'
import type { Database } from '../../../src/db/database.ts'
import { OperatorError } from '../../../src/kernel/operator-error.ts'
import { createSecretBox } from '../../../src/kernel/secret-box.ts'
import { createTestDatabase } from '../../support/postgres.ts'

const secretBox = createSecretBox(randomBytes(32))
const log = pino({ level: 'silent' })
const open = (database: Database, box = secretBox) =>
  openSigningKeys({ database, secretBox: box, rotationDays: 30, log })

test('nodes that start together share one key, and it is not readable in the database', async () => {
  await using made = await createTestDatabase()
  const nodes = await Promise.all([1, 2, 3].map(() => open(made.database)))
  for (const node of nodes) node.close()
  assert.equal(new Set(nodes.map((node) => node.current().kid)).size, 1)
  const rows = await made.database.sql<{ private_key: Uint8Array }[]>`select private_key from signing_key`
  assert.equal(rows.length, 1)
  assert.doesNotMatch(Buffer.from(rows[0]?.private_key ?? []).toString('latin1'), /PRIVATE KEY/)
  assert.ok(nodes[0]?.jwks().keys.every((key) => !('d' in key)))
})

test('a rotation publishes the next key before it signs, and the old one verifies on', async () => {
  await using made = await createTestDatabase()
  const keys = await open(made.database)
  const other = await open(made.database)
  try {
    const first = keys.current().kid
    const early = await keys.sign({ sub: 'early' })
    const next = await keys.rotate()
    assert.equal(keys.current().kid, first)
    assert.deepEqual(
      keys
        .jwks()
        .keys.map(({ kid }) => kid)
        .sort(),
      [first, next.kid].sort(),
    )
    assert.equal((await keys.rotate()).kid, next.kid, 'a second rotation waits for the one under way')

    await keys.rotate(0)
    assert.equal(keys.current().kid, next.kid)
    const late = await keys.sign({ sub: 'late' })
    for (const token of [early, late])
      await jwtVerify(token, createLocalJWKSet({ keys: [...keys.jwks().keys] }))
    assert.ok(keys.find(first))

    await made.database.sql`update signing_key set expires_at = now() where kid = ${first}`
    const third = await open(made.database)
    third.close()
    assert.equal(third.find(first), undefined)
    assert.ok(third.find(next.kid))
    assert.equal(other.find(next.kid), undefined, 'not read yet')
  } finally {
    keys.close()
    other.close()
  }
})

test('a database whose secrets were sealed with another key is refused in one line', async () => {
  await using made = await createTestDatabase()
  ;(await open(made.database)).close()
  await assert.rejects(
    open(made.database, createSecretBox(randomBytes(32))),
    (error) => error instanceof OperatorError && error.message.includes('MASQUERADE_SECRET_KEY_FILE'),
  )
})

test('the secret key is made once, private, and taken from a file where one is named', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'masquerade-test-'))
  t.after(() => rm(dataDir, { recursive: true, force: true }))
  const [made = Buffer.alloc(0), ...more] = loadSecretKeys(dataDir, undefined)
  assert.equal(made.length, 32)
  assert.deepEqual(more, [])
  assert.deepEqual(loadSecretKeys(dataDir, undefined), [made])
  assert.equal((await stat(join(dataDir, 'secret.key'))).mode & 0o777, 0o600)
  assert.deepEqual((await readFile(join(dataDir, 'secret.key'), 'utf8')).trim(), made.toString('base64'))

  const file = join(dataDir, 'own.key')
  await writeFile(file, Buffer.alloc(32, 7))
  assert.deepEqual(loadSecretKeys(dataDir, file), [Buffer.alloc(32, 7)])
  await writeFile(file, 'short')
  assert.throws(() => loadSecretKeys(dataDir, file), OperatorError)
  assert.throws(() => loadSecretKeys(dataDir, join(dataDir, 'absent')), OperatorError)
})
