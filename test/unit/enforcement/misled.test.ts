import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMisled } from '../../../src/enforcement/twins/select-misled.ts'

const judge = (uses: readonly number[] | null, known: readonly number[] | null) =>
  isMisled({ name: '', used: null, replaced: null, types: null, uses, known })

test('a twin may use less than its relation, in the same order, and nothing else', () => {
  assert.equal(judge([], [1, 2]), false)
  assert.equal(judge([1, 3], [1, 2, 3]), false)
  assert.equal(judge([1, 1], [1, 2, 1]), false)
  assert.equal(judge([1, 1], [1, 2]), true)
  assert.equal(judge([3, 1], [1, 2, 3]), true)
  assert.equal(judge([4], [1, 2, 3]), true)
  assert.equal(judge(null, null), true)
})

test('lists of any length are compared', () => {
  const known = Array.from({ length: 200_000 }, (_, at) => at % 7)
  const lacking = known.filter((_, at) => at !== 100_000)
  assert.equal(judge(lacking, known), false)
  assert.equal(judge(known, lacking), true)
})
