import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearestNames } from '../../../src/kernel/nearest-names.ts'

test('the names that may have been meant, nearest first', () => {
  const names = ['email', 'e_mail', 'mail', 'phone', 'Email', 'emails', 'salary', 'x']
  assert.deepEqual(nearestNames('EMAIL', names), ['Email', 'email', 'e_mail'])
  assert.deepEqual(nearestNames('emial', names), ['Email', 'email'])
  assert.deepEqual(nearestNames('y', names), [])
  assert.deepEqual(nearestNames('completely_other', names), [])
})
