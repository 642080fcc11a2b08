import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { ownProcess, slowest, sortByDuration } from '../../../scripts/test/plan.ts'

test('the plan of a test run names files that exist', () => {
  assert.deepEqual(
    [...Object.keys(ownProcess), ...slowest].filter((file) => !existsSync(file)),
    [],
  )
})

test('the slowest files start first, the others in their order', () => {
  const [first = '', second = ''] = slowest
  assert.deepEqual(sortByDuration(['b', second, 'a', first]), [first, second, 'b', 'a'])
})
