import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { findContractions } from './released-schema.ts'
import { atTop, readText } from './tree.ts'

const released = readText('test/house/released-schema.sql')
const { version } = JSON.parse(readText('package.json')) as { version: string }
const releases = [...readText('CHANGELOG.md').matchAll(/^## (\d+\.\d+\.\d+), \d{4}-\d\d-\d\d$/gm)].map(
  ([, name = '']) => name,
)

/**
 * Changes that the last release survives all the same, each with the reason. Emptied when the next one is made:
 * CONTRIBUTING.md tells how.
 */
const excused: Readonly<Record<string, string>> = {
  'the table closed_relation is gone': 'nodes of 0.2 are stopped before the first of 0.3 starts',
  'the table copied_record is gone': 'nodes of 0.2 are stopped before the first of 0.3 starts',
  'the table enforcement_lease is gone': 'nodes of 0.2 are stopped before the first of 0.3 starts',
  'masked_database has the new rule masked_database_not_contained_check':
    'it is about a new column, which keeps its default there',
}

test('nodes of the last release can work over the present schema', () => {
  assert.deepEqual(
    findContractions(released, readText('sql/schema.sql')).filter((found) => !(found in excused)),
    [],
  )
})

test('the kept schema is that of the last release, where the checkout has its tag', (t) => {
  const tagged = `v${releases[0]}:sql/schema.sql`
  const { status, stdout } = spawnSync('git', ['-C', atTop('.'), 'show', tagged], { encoding: 'utf8' })
  if (status === 0) assert.equal(stdout, released)
  else t.diagnostic(`the tag v${releases[0]} is not in this checkout`)
  assert.match(released, /^create table instance \(/m)
})

test('versions follow semantic versioning, and each release has its section in the changelog', () => {
  assert.match(version, /^\d+\.\d+\.\d+(-[0-9a-z.-]+)?$/)
  assert.ok(releases.length > 0)
  const numbers = [version, ...releases].map((name) => name.replace(/-.*/, '').split('.').map(Number))
  const isBelow = ([a = 0, b = 0, c = 0]: number[], [x = 0, y = 0, z = 0]: number[]) =>
    a < x || (a === x && (b < y || (b === y && c < z)))
  for (const [at, number] of numbers.slice(1).entries())
    assert.ok(isBelow(number, numbers[at] ?? []) || (at === 0 && version === releases[0]), number.join('.'))
})

const table = (body: string) => `create table t (\n${body}\n);\n`
const kept = table('  a integer not null,\n  b text,\n  constraint t_pkey PRIMARY KEY (a)')
for (const [change, present, finding] of [
  ['a dropped table', '', 'the table t is gone'],
  ['a renamed column', kept.replace('b text', 'c text'), 't.b is gone'],
  ['another type', kept.replace('b text', 'b jsonb'), 't.b was text and is jsonb'],
  ['SET NOT NULL', kept.replace('b text', 'b text not null'), 't.b must have a value now'],
  [
    'a new column that is required',
    kept.replace('b text', 'b text,\n  c text not null'),
    't.c is new and has no default',
  ],
  [
    'a new check',
    kept.replace('(a)', "(a),\n  constraint t_check CHECK ((b <> ''::text))"),
    't has the new rule t_check',
  ],
  ['a new unique index', `${kept}CREATE UNIQUE INDEX t_b ON t USING btree (b);\n`, 't has the new rule t_b'],
] as const)
  test(`${change} is found`, () => assert.deepEqual(findContractions(kept, present), [finding]))

test('what the last release does not see is allowed', () => {
  const present = kept
    .replace('b text', 'b text,\n  c text,\n  d boolean default false not null')
    .replace('integer not null', 'integer default 7 not null')
  assert.deepEqual(
    findContractions(kept, `${present}${table('  e text not null').replace(' t ', ' u ')}`),
    [],
  )
})
