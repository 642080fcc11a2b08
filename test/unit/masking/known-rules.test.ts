import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noRules, RuleMemory } from '../../../src/masking/enforcement/known-rules.ts'

const fields = {
  ...{ aliasName: null, numberFrom: null, numberTo: null, prefixSize: null, suffixSize: null },
  ...{ replacementString: null, schemaName: 'public', tableName: 'person' },
}
const rule = (name: string, version: number, columnName = name) => ({
  ...{ ...fields, name, version, columnName, maskingFunction: 'Default' as const },
})
const columnsOf = (rules: readonly { readonly column: string }[] | undefined) =>
  rules?.map(({ column }) => column)

test('rules that were read are known, and those that changed take their place', () => {
  const memory = new RuleMemory()
  assert.deepEqual(memory.recall('a'), noRules)
  const first = memory.add('a', noRules, [rule('one', 4), rule('two', 7)], 2)
  assert.deepEqual(columnsOf(first), ['one', 'two'])
  assert.equal(memory.recall('a').version, 7)
  const second = memory.add('a', memory.recall('a'), [rule('ONE', 9, 'other')], 2)
  assert.deepEqual(columnsOf(second), ['other', 'two'])
  assert.equal(second?.[1], first?.[1], 'a rule that did not change is the same object')
  assert.deepEqual(columnsOf(memory.add('a', memory.recall('a'), [rule('three', 10)], 3)), [
    ...['other', 'two', 'three'],
  ])
  assert.equal(memory.recall('b'), noRules)
})

test('where a rule was deleted all are read', () => {
  const memory = new RuleMemory()
  memory.add('a', noRules, [rule('one', 1), rule('two', 2)], 2)
  assert.equal(memory.add('a', memory.recall('a'), [], 1), undefined)
  // One was deleted, and another one created.
  assert.equal(memory.add('a', memory.recall('a'), [rule('three', 3)], 2), undefined)
  assert.deepEqual(columnsOf(memory.add('a', noRules, [rule('two', 2), rule('three', 3)], 2)), [
    'two',
    'three',
  ])
  assert.deepEqual(columnsOf([...memory.recall('a').byName.values()]), ['two', 'three'])
})

test('a read that began earlier does not replace what a later one found', () => {
  const memory = new RuleMemory()
  memory.add('a', noRules, [rule('one', 1)], 1)
  const known = memory.recall('a')
  memory.add('a', known, [rule('one', 5, 'later')], 1)
  assert.deepEqual(columnsOf(memory.add('a', known, [rule('one', 3, 'earlier')], 1)), ['earlier'])
  assert.deepEqual(columnsOf([...memory.recall('a').byName.values()]), ['later'])
})
