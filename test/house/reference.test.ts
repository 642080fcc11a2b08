import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderPermissions } from '../../src/auth/permissions-page.ts'
import { renderErrors } from '../../src/http/errors-page.ts'
import { problems } from '../../src/kernel/problem.ts'
import { renderSettings } from '../../src/settings.ts'
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
