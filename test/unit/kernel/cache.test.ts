import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedCache } from '../../../src/kernel/cache.ts'

test('what is used stays, what is not is forgotten, and it never holds more than its limit', () => {
  const cache = new BoundedCache<number>(100)
  cache.set('used', -1, Number.POSITIVE_INFINITY)
  for (let n = 0; n < 1_000; n++) {
    cache.set(`k${n}`, n, Number.POSITIVE_INFINITY)
    assert.equal(cache.get('used'), -1)
  }
  assert.equal(cache.get('k999'), 999)
  assert.equal(cache.get('k0'), undefined)
  let held = 0
  for (let n = 0; n < 1_000; n++) if (cache.get(`k${n}`) !== undefined) held++
  assert.ok(held > 0 && held <= 100, `${held}`)
})

test('what is past its time is not given, nor what was deleted or replaced', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000 })
  const cache = new BoundedCache<number>(10)
  cache.set('a', 1, 2_000)
  cache.set('b', 2, 5_000)
  assert.equal(cache.get('a'), 1)
  t.mock.timers.tick(1_000)
  assert.equal(cache.get('a'), undefined)
  cache.set('b', 3, 5_000)
  assert.equal(cache.get('b'), 3)
  cache.delete('b')
  assert.equal(cache.get('b'), undefined)
})
