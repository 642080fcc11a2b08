import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { StatementSplitter } from '../../../../src/cli/prompt/split-statements.ts'

function split(script: string, standardStrings = true): { done: string[]; rest: string; open: string } {
  const splitter = new StatementSplitter()
  splitter.standardStrings = standardStrings
  const lines = script.split('\n')
  const done = lines.flatMap((line, at) => splitter.push(at < lines.length - 1 ? `${line}\n` : line))
  return { done, open: splitter.open, rest: splitter.rest() }
}

const whole = [
  "select ';'",
  "select 'it''s; ' || ';'",
  "select E'it\\'s; \\\\'",
  "select E'one'\n'two\\';'",
  "select 'no escape\\'",
  "select U&'\\0041;\\'",
  'select ";" as "a"";b"',
  'select $$;$$, $a$;$$;$b$;$a$, $ä$;$ä$',
  'select $1, a$b$c',
  'select 1 -- ; not yet\n, 2',
  'select 1 /* ; /* ; */ ; */ + 2',
  'select 1 --/*\n+ 2',
  'select (1;2)',
  'select 1e5, 2.5e-3, 1',
  'create function f() returns int language sql begin atomic select 1; select case when true then 2 end; end',
  'create or replace procedure p() begin atomic select 1; end',
  'create function f(begin int) returns int as $$ begin; $$ language sql',
  'begin',
  'select 1 as "begin" -- create function begin\n',
  "do $$ begin raise notice 'x;'; end $$",
]

test('a semicolon ends a statement where it is one', () => {
  for (const text of whole) {
    const found = split(`${text};\nselect 'next';`)
    assert.deepEqual(found, { done: [`${text};`, "select 'next';"], rest: '', open: '=' }, text)
  }
})

test('two statements on a line, empty ones, and one without an end', () => {
  assert.deepEqual(split('select 1; ; select 2;\n\n;select\n3'), {
    done: ['select 1;', 'select 2;'],
    rest: 'select\n3',
    open: '-',
  })
})

test('what is open is told', () => {
  const cases: [string, string][] = [
    ['', '='],
    ['  \n', '='],
    ['select', '-'],
    ["select 'a\n", "'"],
    ['select "a\n', '"'],
    ['select $x$ $$\n', '$'],
    ['/* /* */\n', '*'],
    ['select (1\n', '('],
  ]
  for (const [text, open] of cases) assert.equal(split(text).open, open, text)
})

test('with standard_conforming_strings off a backslash escapes in every string', () => {
  assert.deepEqual(split("select 'a\\';' ;", false).done, ["select 'a\\';' ;"])
  assert.deepEqual(split("select 'a\\'; select 2;").done, ["select 'a\\';", 'select 2;'])
})

test('nothing is lost and nothing is added, however the text is cut into lines', () => {
  const piece = fc.constantFrom(
    "'",
    '"',
    '$$',
    '$a$',
    '--',
    '/*',
    '*/',
    ';',
    '\n',
    '\\',
    'E',
    'x',
    '(',
    ')',
    ' ',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const script = pieces.join('')
      const { done, rest } = split(script)
      const squeeze = (text: string) => text.replaceAll(/[\s;]/g, '')
      assert.equal(squeeze([...done, rest].join('')), squeeze(script))
    }),
  )
})
