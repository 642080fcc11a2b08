import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeError } from '../../../../src/cli/prompt/describe-error.ts'
import { printTable } from '../../../../src/cli/prompt/print-table.ts'

const columns = [
  { name: 'id', isNumber: true },
  { name: 'name', isNumber: false },
]

test('numbers stand to the right, texts to the left, and NULL is written out', () => {
  const rows = [
    ['1', 'Ana'],
    ['12345', null],
    [null, '日本'],
  ]
  assert.equal(
    printTable({ columns, rows }),
    '  id   | name \n-------+------\n     1 | Ana\n 12345 | NULL\n  NULL | 日本\n(3 rows)\n\n',
  )
})

test('one row, no row, no column', () => {
  assert.match(printTable({ columns, rows: [['1', 'a']] }), /\(1 row\)\n\n$/)
  assert.equal(printTable({ columns, rows: [] }), ' id | name \n----+------\n(0 rows)\n\n')
  assert.equal(printTable({ columns: [], rows: [[]] }), '--\n(1 row)\n\n')
  assert.equal(printTable({ columns, rows: [] }, true), '(0 rows)\n\n')
})

test('a value of several lines goes on below', () => {
  assert.equal(
    printTable({ columns: [...columns].reverse(), rows: [['a\nlonger\n', '7']] }),
    '  name  | id \n--------+----\n a     +|  7\n longer+| \n        | \n(1 row)\n\n',
  )
})

test('the expanded display has a record for each row', () => {
  const rows = [
    ['1', 'first\nsecond'],
    ['2', null],
  ]
  assert.equal(
    printTable({ columns, rows }, true),
    [
      '-[ RECORD 1 ]',
      'id   | 1',
      'name | first +',
      '     | second',
      '-[ RECORD 2 ]',
      'id   | 2',
      'name | NULL',
      '',
      '',
    ].join('\n'),
  )
})

test('nothing in a row commands the terminal', () => {
  const text = printTable({ columns, rows: [['1', 'a\x1b[2J\x07\u009b\u202eb\tc\rd']] })
  assert.ok(text.includes('a\\x1B[2J\\x07\\u009B\\u202Eb'), text)
  assert.ok(text.includes('\\rd'))
  assert.doesNotMatch(text, /[^\n\P{Cc}]/u)
})

test('an error points into the statement', () => {
  const said = { severity: 'ERROR', message: 'no such thing', position: '13', hint: 'look\nelse\x1bwhere' }
  assert.equal(
    describeError(said, 'select\t1,\n日x, z'),
    `ERROR:  no such thing\nLINE 2: 日x, z\n${' '.repeat(11)}^\nHINT:  look\nelse\\x1Bwhere\n`,
  )
  assert.equal(describeError({ message: 'm', position: '99' }, 'select'), 'ERROR:  m\n')
  const long = describeError({ message: 'm', position: '101' }, `select ${'a'.repeat(93)}!${'b'.repeat(99)}`)
  const [, line = '', mark = ''] = long.split('\n')
  assert.equal(line[mark.indexOf('^')], '!')
  assert.match(line, /^LINE 1: \.\.\..{60}\.\.\.$/)
})
