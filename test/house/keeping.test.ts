import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  findForeignNames,
  findHeldBackTests,
  findLongFiles,
  findMigrationFaults,
  longestFileLines,
} from './keeping.ts'
import { readText, readTree } from './tree.ts'

const textFile = /(\.(ts|tsx|js|mjs|css|html|json|md|sql|ya?ml|sh)|(^|\/)(run|LICENSE|\.npmrc|\.gitignore))$/

function make(text: string) {
  return [{ path: 'made.ts', text }]
}

test('no test is held back', () => {
  const files = readTree('test', /\.ts$/)
  assert.ok(files.length > 0)
  assert.deepEqual(findHeldBackTests(files), [])
})

test('a test that is held back is found', () => {
  for (const word of ['only', 'skip', 'todo']) {
    assert.equal(findHeldBackTests(make(`test.${word}('x', run)`)).length, 1)
    assert.equal(findHeldBackTests(make(`test('x', { ${word}${': '}true }, run)`)).length, 1)
  }
  assert.equal(findHeldBackTests(make(`const rows = list.skip + only`)).length, 0)
})

test('no file of src/ is long', () => assert.deepEqual(findLongFiles(readTree('src', /\.ts$/)), []))

test('a long file is found', () => {
  assert.equal(findLongFiles(make('x\n'.repeat(longestFileLines))).length, 0)
  assert.equal(findLongFiles(make('x\n'.repeat(longestFileLines + 1))).length, 1)
})

test('the lock file says what is installed, not from where', () => {
  assert.doesNotMatch(readText('package-lock.json'), /"resolved"/)
})

test('no file names a machine or a registry', () =>
  assert.deepEqual(findForeignNames(readTree('.', textFile)), []))

test('a name of a machine or a registry is found', () => {
  for (const name of [
    ['/work', 'main'],
    ['/home', 'someone'],
    ['/tmp', 'wt'],
    ['..', 'shared', 'spec'],
    ['registry.npmjs', 'org'],
  ])
    assert.equal(
      findForeignNames(make(`see ${name.join(name[0]?.includes('registry') ? '.' : '/')}/x`)).length,
      1,
    )
  assert.equal(findForeignNames(make('/v1.0/groups src/work/queue.ts /tmp/ca.pem example.org')).length, 0)
})

test('migrations are numbered without gaps', () => {
  const names = readTree('sql', /\.sql$/).map(({ path }) => path.replace(/^sql\//, ''))
  assert.ok(names.includes('schema.sql') && names.length > 1)
  assert.deepEqual(findMigrationFaults(names), [])
})

test('a gap between migrations is found', () => {
  assert.deepEqual(findMigrationFaults(['0001-a.sql', '0002-b.sql', 'schema.sql']), [])
  assert.equal(findMigrationFaults(['0001-a.sql', '0003-b.sql']).length, 1)
  assert.equal(findMigrationFaults(['0001-a.sql', '0001-b.sql']).length, 1)
  assert.equal(findMigrationFaults(['fix.sql']).length, 1)
})
