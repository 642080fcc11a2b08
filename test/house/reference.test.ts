import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderExposures } from '../../scripts/exposures-page.ts'
import { renderPermissions } from '../../src/auth/permissions-page.ts'
import { renderCommands } from '../../src/cli/commands-page.ts'
import { renderSettings } from '../../src/cli/settings-page.ts'
import { resources } from '../../src/directory/objects/kinds/resources.ts'
import { renderQueries } from '../../src/directory/objects/queries-page.ts'
import { fieldsOf } from '../../src/directory/odata/field.ts'
import { renderErrors } from '../../src/http/errors-page.ts'
import { problems } from '../../src/kernel/problem.ts'
import { dropPadding, findErrorFaults } from './reference.ts'
import { readText } from './tree.ts'

test('docs/errors.md lists every problem and nothing else', () => {
  const page = { path: 'docs/errors.md', text: readText('docs/errors.md') }
  assert.deepEqual(findErrorFaults(problems, page), [])
  assert.equal(dropPadding(page.text), dropPadding(renderErrors()))
})

test('docs/settings.md is what the schema of the settings says', () => {
  assert.equal(dropPadding(readText('docs/settings.md')), dropPadding(renderSettings()))
})

test('docs/permissions.md is what the table of implied permissions says', () => {
  assert.equal(dropPadding(readText('docs/permissions.md')), dropPadding(renderPermissions()))
})

test('docs/commands.md is what the commands say', async () => {
  assert.equal(dropPadding(readText('docs/commands.md')), dropPadding(await renderCommands()))
})

test('docs/exposures.md is what the kinds of exposures say', () => {
  assert.equal(dropPadding(readText('docs/exposures.md')), dropPadding(renderExposures()))
})

test('docs/queries.md is what the tables of properties say', () => {
  assert.equal(dropPadding(readText('docs/queries.md')), dropPadding(renderQueries()))
})

test('every property that is said to have an index has one', () => {
  const indexes = readText('sql/schema.sql')
    .split('\n')
    .filter((line) => /^CREATE (UNIQUE )?INDEX|PRIMARY KEY/i.test(line.trim()))
    .map((line) => line.replaceAll('::text', ''))
  for (const [kind, resource] of Object.entries(resources))
    for (const { name, index, sqlOf } of fieldsOf([resource]).values()) {
      if (index === undefined || name === 'id') continue
      const stored = sqlOf('o').replaceAll(/\bo\.|[()]|::jsonb|::boolean/g, '')
      const found = indexes.filter((line) => {
        const plain = line.replaceAll(/[()]|::jsonb|::boolean|::timestamp with time zone/g, '').toLowerCase()
        return (
          plain.includes(stored.toLowerCase()) &&
          (!/where.*kind/.test(plain) || plain.includes(`'${kind.toLowerCase()}'`))
        )
      })
      assert.ok(found.length > 0, `${kind}.${name}: ${stored}`)
      if (index === 'suffix')
        assert.ok(
          found.some((line) => line.includes('reverse(')),
          `${kind}.${name}`,
        )
      if (index === 'elements')
        assert.ok(
          found.some((line) => line.includes('gin')),
          `${kind}.${name}`,
        )
    }
})

test('a page of errors that is out of date is found', () => {
  const made = { Cold: { status: 404, code: 'NotWarm', masking: { code: 'Frost' } } }
  const faults = (text: string) => findErrorFaults(made, { path: 'made.md', text })
  assert.deepEqual(faults('| `Cold` | 404 | `NotWarm`, masking `Frost` | it is cold |'), [])
  assert.deepEqual(faults('Cold is 404 NotWarm'), ['Cold is not in made.md'])
  assert.deepEqual(faults('| `Cold` | 400 | `NotWarm` | |'), [
    'Cold: the row lacks 404',
    'Cold: the row lacks Frost',
  ])
  assert.equal(faults('| `Cold` | 404 | `NotWarm` `Frost` |\n| `Hot` | 404 | `Fire` |').length, 1)
  assert.equal(faults('| `Cold` | 404 | `NotWarm` `Frost` |\n| `Cold` | 404 | `NotWarm` `Frost` |').length, 1)
})

test('padding is not a difference, words are', () => {
  assert.equal(dropPadding('| a   | b |\n| --- | - |\n'), dropPadding('| a | b |\n|---|---|'))
  assert.notEqual(dropPadding('| a | b |'), dropPadding('| a | c |'))
})
