import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSql, type Query, render } from '../../../src/db/sql.ts'

const sql = createSql(() => assert.fail('nothing is to run'))
const of = (query: Query<object[]>) => {
  const { text, values } = render(query)
  return [text, values]
}

test('values become parameters', () => {
  assert.deepEqual(of(sql`select ${1}, ${"'; drop"}, ${null}`), ['select $1, $2, $3', [1, "'; drop", null]])
  assert.deepEqual(of(sql`select ${sql.json({ a: [1] })}, ${[1, 2]}`), [
    'select $1, $2',
    ['{"a":[1]}', [1, 2]],
  ])
})

test('pieces are put together and numbered through', () => {
  const inner = sql`and b = ${2} ${sql``}`
  assert.deepEqual(of(sql`select 1 where a = ${1} ${inner} and c = ${3}`), [
    'select 1 where a = $1 and b = $2  and c = $3',
    [1, 2, 3],
  ])
  assert.deepEqual(of(sql`select ${sql.unsafe('now()')}`), ['select now()', []])
})

test('identifiers are quoted', () => {
  assert.deepEqual(of(sql`table ${sql('we"ird.na me')}`), ['table "we""ird.na me"', []])
  assert.deepEqual(of(sql`select ${sql(['a', 'b'])} from t`), ['select "a", "b" from t', []])
  assert.throws(() => of(sql`table ${sql('a\0b')}`), /NUL/)
})

test('objects make inserts and updates', () => {
  assert.deepEqual(of(sql`insert into t ${sql({ a: 1, b: sql.json(null) })}`), [
    'insert into t ("a", "b") values ($1, $2)',
    [1, 'null'],
  ])
  const rows = [
    { a: 1, b: 2 },
    { a: 3, b: 4 },
  ]
  assert.deepEqual(of(sql`insert into t ${sql(rows, 'b')} returning a`), [
    'insert into t ("b") values ($1), ($2) returning a',
    [2, 4],
  ])
  assert.deepEqual(of(sql`update t set ${sql({ a: 1, b: new Date(0) })} where c = ${2}`), [
    'update t set "a" = $1, "b" = $2 where c = $3',
    [1, new Date(0), 2],
  ])
})

test('lists follow the word in', () => {
  assert.deepEqual(of(sql`select 1 where a in ${sql(['x', 'y'])}`), [
    'select 1 where a in ($1, $2)',
    ['x', 'y'],
  ])
  assert.deepEqual(of(sql`select 1 where a in ${sql([])}`), ['select 1 where a in (null)', []])
})

test('an undefined value is refused rather than taken for null', () => {
  assert.throws(() => of(sql`select ${undefined}`), /parameter 1 is undefined/)
  assert.throws(() => of(sql`insert into t ${sql([{ a: 1 }, {}])}`), /parameter 2 is undefined/)
})

test('a query runs when it is awaited, and once', async () => {
  const sent: string[] = []
  const running = createSql(async ({ text }) => {
    sent.push(text)
    return { rows: [{ a: 1 }], rowCount: 1, command: 'SELECT' }
  })
  const query = running`select 1`
  assert.deepEqual(sent, [])
  const [first, second] = [await query, await query]
  assert.deepEqual(sent, ['select 1'])
  assert.deepEqual(first, [{ a: 1 }])
  assert.equal(first, second)
  assert.equal(first.count, 1)
})
