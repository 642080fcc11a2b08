import assert from 'node:assert/strict'
import { test } from 'node:test'
import { advisoryLocks } from '../../src/db/advisory-locks.ts'
import { findForeignSql, listTables, owners } from './tables.ts'
import { readText, readTree } from './tree.ts'

test('every table has one owner', () => {
  const owned = Object.values(owners).flat()
  assert.deepEqual(owned.toSorted(), listTables(readText('sql/schema.sql')).toSorted())
})

test('every advisory lock has a number of its own, and stands in one table', () => {
  const numbers = Object.values(advisoryLocks)
  assert.equal(new Set(numbers).size, numbers.length)
  const elsewhere = readTree('src', /\.ts$/).filter(
    ({ path, text }) => path !== 'src/db/advisory-locks.ts' && /pg_(try_)?advisory_/.test(text),
  )
  assert.deepEqual(
    elsewhere.map(({ path }) => path),
    [],
  )
})

test('no room names a table of another in SQL', () => {
  assert.deepEqual(findForeignSql(readTree('src', /\.ts$/)), [])
})

for (const [path, text] of [
  ['src/auth/principals.ts', 'await sql`select 1 from directory_object`'],
  ['src/issuer/issuer.ts', 'await sql`select 1 from a, masquerade.directory_object o`'],
  ['src/cli/status.ts', "const table = sql('masked_database')"],
  ['src/sample/shop.ts', 'await sql`update only instance set sampled_at = null`'],
  ['src/masking/rules/rule.ts', 'await sql`select 1 from a\n  join item on true`'],
  ['src/main.ts', 'const tables = ["user_password"]'],
] as const)
  test(`${path} is told off for ${text}`, () => assert.equal(findForeignSql([{ path, text }]).length, 1))

for (const [path, text] of [
  ['src/directory/objects/deletion.ts', 'await sql`delete from directory_object`'],
  ['src/gateway/workers/pack.ts', 'const item = list.item'],
  ['src/cli/help.ts', '// rows of directory_object\nimport server from "./server.ts"'],
] as const)
  test(`${path} may have ${text}`, () => assert.deepEqual(findForeignSql([{ path, text }]), []))
