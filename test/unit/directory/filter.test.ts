import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createSql, render } from '../../../src/db/sql.ts'
import { group } from '../../../src/directory/objects/kinds/group.ts'
import { user } from '../../../src/directory/objects/kinds/user.ts'
import { fieldsOf } from '../../../src/directory/odata/field.ts'
import { compileFilter } from '../../../src/directory/odata/filter.ts'
import { parseFilter } from '../../../src/directory/odata/filter-parser.ts'
import { compileSearch } from '../../../src/directory/odata/search.ts'
import { Problem } from '../../../src/kernel/problem.ts'
import { runs } from '../../support/runs.ts'

const sql = createSql(async () => assert.fail('nothing is run here'))
const scope = { row: 'o', fields: fieldsOf([user, group]), type: 'vendor.graph.user' }

test('and binds tighter than or, not tighter than both, parentheses before all', () => {
  const term = (property: string) => ({ op: 'eq', property, value: 1 })
  const [a, b, c] = [term('a'), term('b'), term('c')]
  const cases: [string, unknown][] = [
    ['a eq 1', a],
    ['a eq 1 or b eq 1 and c eq 1', { op: 'or', left: a, right: { op: 'and', left: b, right: c } }],
    ['(a eq 1 or b eq 1) and c eq 1', { op: 'and', left: { op: 'or', left: a, right: b }, right: c }],
    ['not a eq 1 and b eq 1', { op: 'and', left: { op: 'not', inner: a }, right: b }],
    ["startswith(a,'x''y')", { op: 'startswith', property: 'a', value: "x'y" }],
    ["a in ('x',null,true,-1.5)", { op: 'in', property: 'a', values: ['x', null, true, -1.5] }],
    [
      "a/any(x:x eq 'y')",
      { op: 'any', property: 'a', variable: 'x', inner: { op: 'eq', property: 'x', value: 'y' } },
    ],
    [
      "a/all(x:x/b eq 'y' or endswith(x/c,'z'))",
      {
        op: 'all',
        property: 'a',
        variable: 'x',
        inner: {
          op: 'or',
          left: { op: 'eq', property: 'x/b', value: 'y' },
          right: { op: 'endswith', property: 'x/c', value: 'z' },
        },
      },
    ],
    ['a/any()', { op: 'any', property: 'a' }],
    ['a/b/$count gt 5', { op: 'gt', property: 'a/b/$count', value: 5 }],
    ['a ge 2026-01-02T03:04:05Z', { op: 'ge', property: 'a', value: '2026-01-02T03:04:05Z' }],
  ]
  for (const [text, expected] of cases) assert.deepEqual(parseFilter(text), expected, text)
})

const word = fc.constantFrom(
  'displayName',
  'eq',
  'ne',
  'and',
  'or',
  'not',
  'in',
  '(',
  ')',
  ',',
  "'",
  "''",
  "'x'",
  'null',
  'true',
  '1',
  'startswith',
  'startswith(',
  'groupTypes/any(',
  'assignedLabels/all(l:l/labelId',
  'proxyAddresses/$count',
  'endswith(mail,',
  'ge',
  'c:c',
  'securityEnabled',
  'createdDateTime',
  '2026-01-01T00:00:00Z',
  'id',
  '/',
  ':',
  '--',
  ';',
  '$1',
  '\\',
  '"',
  '\0',
  '\ud800',
)

test('whatever is sent, a filter is compiled or refused, and no value of it becomes SQL', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'grapheme' }),
        fc.array(word).map((words) => words.join(' ')),
      ),
      (text) => {
        try {
          render(compileFilter(sql, text, scope).sql)
        } catch (error) {
          assert.ok(error instanceof Problem, String(error))
        }
      },
    ),
    { numRuns: runs(3000) },
  )
})

test('the text of a value never shows in the statement', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 3 }), (value) => {
      const marked = `zq${value}qz`
      const quoted = `'${marked.replaceAll("'", "''")}'`
      for (const filter of [
        `displayName eq ${quoted}`,
        `startswith(mail,${quoted})`,
        `city in (${quoted},'b')`,
      ]) {
        const { text } = render(compileFilter(sql, filter, scope).sql)
        assert.ok(!text.includes('zq'), text)
      }
    }),
    { numRuns: runs(100) },
  )
})

test('whatever is sent, a search is compiled or refused', () => {
  const piece = fc.constantFrom(
    '"displayName:a"',
    '"mail:b"',
    'AND',
    'OR',
    '"',
    ':',
    '\\',
    '"displayName:',
    '&|!',
    ' ',
    '\0',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'grapheme' }),
        fc.array(piece).map((pieces) => pieces.join(' ')),
      ),
      (text) => {
        try {
          const { values } = render(compileSearch(sql, text, scope).sql)
          for (const value of values)
            if (String(value).includes(':*'))
              assert.match(String(value), /^[\p{L}\p{N}]+:\*( & [\p{L}\p{N}]+:\*)*$/u)
        } catch (error) {
          assert.ok(error instanceof Problem, String(error))
        }
      },
    ),
    { numRuns: runs(3000) },
  )
})
