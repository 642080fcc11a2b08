import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layOutSql } from '../../../portal/src/change/lay-out-sql.ts'

const view =
  'CREATE OR REPLACE VIEW "masked_public"."a, b" ("id", "x") AS SELECT "t"."id", (CASE WHEN "t"."x" IS NULL THEN \'it\'\', FROM \' ELSE concat("t"."x", \'y\') END) FROM "public"."a, b" "t"'

test('a long statement is laid out by its outermost list, and means the same', () => {
  const laidOut = layOutSql(view)
  assert.deepEqual(
    laidOut.split('\n').map((line) => line.trim().slice(0, 24)),
    [
      'CREATE OR REPLACE VIEW "',
      'AS SELECT',
      '"t"."id",',
      '(CASE WHEN "t"."x" IS NU',
      'FROM "public"."a, b" "t"',
    ],
  )
  assert.equal(laidOut.replaceAll(/\n */g, ' '), view)
})

test('short statements, and those with quotes of another kind, stay as they are', () => {
  const filler = '"column", '.repeat(20)
  for (const statement of [
    'GRANT SELECT ON "a", "b" TO "c"',
    `SELECT ${filler} $$ a, b $$`,
    `SELECT ${filler} E'a\\', b'`,
  ])
    assert.equal(layOutSql(statement), statement)
})
