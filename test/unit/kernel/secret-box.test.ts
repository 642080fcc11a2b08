import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { createSecretBox, nameKey, SecretBoxError } from '../../../src/kernel/secret-box.ts'

describe('secret box', () => {
  const box = createSecretBox(randomBytes(32))

  test('opens what it sealed', () => {
    for (const plain of ['', 'pässword', 'x'.repeat(10_000)])
      assert.equal(box.open('place', box.seal('place', plain)), plain)
  })

  test('seals the same text differently each time, and never in the clear', () => {
    const [first, second] = [box.seal('place', 'secret text'), box.seal('place', 'secret text')]
    assert.notDeepEqual(first, second)
    assert.ok(!first.includes('secret text'))
  })

  test('does not open what was changed in any byte, cut, or moved to another place', () => {
    const sealed = box.seal('place', 'secret')
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      assert.throws(() => box.open('place', changed), SecretBoxError)
    }
    for (let length = 0; length < sealed.length; length++)
      assert.throws(() => box.open('place', sealed.subarray(0, length)))
    assert.throws(() => box.open('elsewhere', sealed), SecretBoxError)
  })

  test('derives the same bytes for a purpose, and others for another purpose or key', () => {
    const key = randomBytes(32)
    const [one, same, other] = [createSecretBox(key), createSecretBox(key), createSecretBox(randomBytes(32))]
    assert.equal(one.derive('a').length, 32)
    assert.deepEqual(one.derive('a'), same.derive('a'))
    assert.notDeepEqual(one.derive('a'), one.derive('b'))
    assert.notDeepEqual(one.derive('a'), other.derive('a'))
    assert.ok(!one.derive('a').equals(key))
  })

  test('says when another key sealed it', () => {
    const other = createSecretBox(randomBytes(32))
    assert.throws(() => other.open('place', box.seal('place', 'secret')), /another key/)
  })

  test('opens with each of two keys, and seals with the one that it is told', () => {
    const [old, fresh] = [randomBytes(32), randomBytes(32)]
    const ring = createSecretBox([old, fresh])
    const before = ring.seal('place', 'secret')
    assert.equal(createSecretBox(old).open('place', before), 'secret')
    ring.use([old, fresh], nameKey(fresh))
    assert.equal(createSecretBox(fresh).open('place', ring.seal('place', 'secret')), 'secret')
    assert.equal(ring.open('place', before), 'secret')
    assert.deepEqual(ring.deriveOthers('a'), { older: [createSecretBox(old).derive('a')], newer: [] })
    assert.throws(() => ring.use([old], nameKey(fresh)), SecretBoxError)
    ring.use([fresh], nameKey(fresh))
    assert.throws(() => ring.open('place', before), /another key/)
  })
})
