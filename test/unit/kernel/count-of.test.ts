import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countOf } from '../../../src/kernel/count-of.ts'

test('one thing is counted in the singular', () => {
  assert.equal(countOf(1, 'session'), '1 session')
  assert.equal(countOf(0, 'session'), '0 sessions')
  assert.equal(countOf(10_000, 'rule is', 'rules are'), '10,000 rules are')
})
