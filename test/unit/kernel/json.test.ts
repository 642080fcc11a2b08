import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { jsonLimits, parseJson } from '../../../src/kernel/json.ts'
import { Problem } from '../../../src/kernel/problem.ts'
import { runs } from '../../support/runs.ts'

const reason = (text: string): string => {
  try {
    parseJson(text)
  } catch (error) {
    assert.ok(error instanceof Problem)
    assert.equal(error.problem, 'MalformedJson')
    return String(error.parameters.reason)
  }
  return 'accepted'
}

describe('strict JSON', () => {
  test('reads what JSON.parse reads, when no key stands twice', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value)
        if (text.includes('__proto__')) return
        assert.deepEqual(parseJson(text), JSON.parse(text))
      }),
      { numRuns: runs(100) },
    )
  })

  test('refuses a key given twice, also when it is spelt differently', () => {
    assert.match(reason('{"a":1,"a":2}'), /'a' is given twice/)
    assert.match(reason('{"a":{"b":1,"b":2}}'), /'b' is given twice/)
    assert.match(reason('{"ab":1,"a\\u0062":2}'), /'ab' is given twice/)
    assert.match(reason('[{"x":1},{"x":1,"y":{},"x":2}]'), /'x' is given twice/)
  })

  test('lets the same key stand in different objects and in strings', () => {
    assert.equal(reason('{"a":{"a":{"a":"a:a"}},"b":[{"a":1},{"a":2}]}'), 'accepted')
  })

  test('refuses the key that reaches the prototype', () => {
    assert.match(reason('{"__proto__":{"x":1}}'), /__proto__/)
    assert.match(reason('{"a":[{"\\u005f_proto__":1}]}'), /__proto__/)
  })

  test('bounds the nesting, without running out of stack', () => {
    assert.equal(reason(`${'['.repeat(64)}${']'.repeat(64)}`), 'accepted')
    assert.match(reason(`${'['.repeat(65)}${']'.repeat(65)}`), /nested deeper than 64/)
    assert.match(reason('[{"a":'.repeat(100_000)), /nested deeper than 64/)
  })

  test('says of malformed text only that it is malformed', () => {
    for (const text of [
      '',
      '{',
      '{"a"}',
      '{a:1}',
      "{'a':1}",
      '[1,]',
      'nul',
      '"\u0001"',
      '{"a":1}}',
      '\u0000',
      '{"a":"',
    ])
      assert.notEqual(reason(text), 'accepted', JSON.stringify(text))
  })

  test('bounds keys and values, and reads no further', () => {
    const object = (count: number) => `{${Array.from({ length: count }, (_, n) => `"k${n}":1`).join()}}`
    const { keys, values } = jsonLimits
    assert.equal(reason(object(keys)), 'accepted')
    assert.match(reason(object(keys + 1)), /more than 5000 keys/)
    assert.equal(reason(`[${Array(values).fill('1').join()}]`), 'accepted')
    assert.match(
      reason(
        `[${Array(values + 1)
          .fill('1')
          .join()}]`,
      ),
      /more than 20000 values/,
    )
    assert.match(reason(`[${'[],'.repeat(values)}`), /more than 20000 values/)
    // What stands behind the limit is not looked at: it is no JSON.
    assert.match(reason(`${object(keys + 1).slice(0, -1)},}}}`), /more than 5000 keys/)
  })

  test('takes a string of a megabyte in its stride', () => {
    assert.equal(reason(JSON.stringify({ a: '\\"'.repeat(500_000) })), 'accepted')
  })
})
