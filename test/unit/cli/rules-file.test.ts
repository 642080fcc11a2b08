import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitColumn } from '../../../src/cli/rules.ts'
import { diffRules, isEmpty } from '../../../src/cli/rules-diff.ts'
import { type FileRule, formatRulesFile, parseRulesFile } from '../../../src/cli/rules-file.ts'
import { OperatorError } from '../../../src/kernel/operator-error.ts'

const rule = (name: string, rest: Partial<FileRule> = {}): FileRule => ({
  name,
  schemaName: 'public',
  tableName: 'person',
  columnName: name,
  maskingFunction: 'Email',
  ...rest,
})
const nobody = { dataMaskingState: 'Enabled', exemptPrincipals: [] }

test('a file that is not right is refused by what is wrong with it', () => {
  const line = '{ name: MAIL, schemaName: a, tableName: b, columnName: c, maskingFunction: SSN }'
  const cases: [string, RegExp][] = [
    ['rules: [', /^f\.yaml: /],
    ['- a', /must be a mapping/],
    ['', /must be a mapping/],
    ['rules: text', /rules must be a list/],
    ['colour: red', /'colour'/],
    ['rules:\n  - { name: x }', /^f\.yaml:2: rule 1 has no schemaName/],
    [
      `rules:\n  - ${line.replace('maskingFunction', 'maskingFunktion')}`,
      /should perhaps be 'maskingFunction'/,
    ],
    [`rules:\n  - ${line.replace('a,', '[a],')}`, /rule 1: schemaName must be a single value/],
    [`rules:\n  - ${line.replace('name', 'title')}`, /'title'/],
    [`rules:\n  - ${line}\n  - ${line.replace('MAIL', 'mail')}`, /'mail' is there twice/],
    ['policy: { dataMaskingState: [] }', /single value/],
    ['rules:\n  - { name: a, name: b }', /unique/i],
  ]
  for (const [content, complaint] of cases)
    assert.throws(
      () => parseRulesFile(content, 'f.yaml'),
      (error) => error instanceof OperatorError && error.exitCode === 2 && complaint.test(error.message),
      content,
    )
})

test('values stay the text they are, there and back', () => {
  const values = [
    '0.10',
    '007',
    '1e3',
    'null',
    'yes',
    '~',
    '',
    ' a ',
    '- a: b',
    '#x',
    '"q"',
    "'",
    '🙂',
    'a\nb',
    '\\',
  ]
  const rules = values.map((value, at) => rule(`r${at}`, { replacementString: value }))
  const policy = { dataMaskingState: 'Disabled', exemptPrincipals: ['a b', "'c'", '1'] }
  const file = { database: 'a/b/c/d', policy, rules }
  const { lines, ...again } = parseRulesFile(formatRulesFile(file), 'f')
  assert.deepEqual(again, file)
  assert.equal(lines?.length, rules.length)
  const written = parseRulesFile(
    'rules: [{ name: 1, schemaName: no, tableName: 0x1, columnName: 1.50, maskingFunction: SSN }]',
    'f',
  )
  assert.deepEqual(written.rules[0], {
    name: '1',
    schemaName: 'no',
    tableName: '0x1',
    columnName: '1.50',
    maskingFunction: 'SSN',
  })
})

test('the difference is what has to be done, and nothing when it was done', () => {
  const there = [rule('Same'), rule('changed', { prefixSize: '1' }), rule('gone')]
  const file = { rules: [rule('same', { columnName: 'Same' }), rule('changed'), rule('new')] }
  const diff = diffRules(file, there, nobody)
  assert.deepEqual(
    [diff.create, diff.update, diff.absent].map((list) => list.length),
    [1, 1, 1],
  )
  assert.equal(diff.unchanged, 1)
  assert.equal(diff.policy, null)
  const after = [...file.rules, rule('gone')]
  assert.ok(isEmpty(diffRules(file, after, nobody), false))
  assert.ok(!isEmpty(diffRules(file, after, nobody), true))
})

test('the policy counts only where the file has one', () => {
  const exempt = { dataMaskingState: 'Enabled', exemptPrincipals: ['a', 'b'] }
  assert.equal(diffRules({ rules: [] }, [], exempt).policy, null)
  assert.equal(
    diffRules({ rules: [], policy: { ...exempt, exemptPrincipals: ['a ', 'b', 'a'] } }, [], exempt).policy,
    null,
  )
  assert.notEqual(diffRules({ rules: [], policy: nobody }, [], exempt).policy, null)
})

test('a column is split at its dots, but for those in quotes', () => {
  assert.deepEqual(splitColumn('public.person.email'), ['public', 'person', 'email'])
  assert.deepEqual(splitColumn('a."b.c"."d""e"'), ['a', 'b.c', 'd"e'])
  for (const wrong of ['', 'a..b', '.a', 'a.', 'a."b', 'a."".b', 'a"b".c'])
    assert.deepEqual(splitColumn(wrong), [], wrong)
})
