import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameAttempts, readServed, twinOwnerName } from '../../../src/enforcement/names.ts'

test('a later name of the owner of schemas is not read as one that serves a role', () => {
  // The hash of its second name is 23732244.
  const database = 'test_7b8658590b217c1c'
  assert.match(nameAttempts(database)[1] ?? '', /^masquerade_twins_[0-9]+_test/)
  for (const name of nameAttempts(database)) assert.equal(readServed(database, name), undefined, name)
  for (const name of nameAttempts(database, 16_384)) assert.equal(readServed(database, name), 16_384, name)
  assert.equal(readServed('sales', twinOwnerName('sales', 0, 23_732_244)), 23_732_244)
})
