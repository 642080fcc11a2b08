import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Lexer } from '../../../src/sql/lexer.ts'
import { checkText, statementLimits } from '../../../src/sql/limits.ts'
import { maskEscapes } from '../../../src/sql/mask-escapes.ts'
import { shorten } from '../../../src/sql/shorten.ts'
import { clause } from '../../support/clause.ts'
import { runs } from '../../support/runs.ts'
import { anyText, bomb } from './sql-grammar.ts'

function lex(
  text: string,
  hasEscapes = false,
): { tokens: (readonly [string, number, number])[]; isCertain: boolean } {
  const lexer = new Lexer(text, { hasEscapes })
  const tokens: (readonly [string, number, number])[] = []
  while (lexer.next()) tokens.push([lexer.kind, lexer.from, lexer.to])
  return { tokens, isCertain: lexer.isCertain }
}

describe('the lexer', () => {
  const texts: Record<string, string> = {
    'select "a b".c$1, $2::int': 'word name sign word sign parameter sign sign word',
    "E'\\'' 'it''s' $a$'$a$ $$ $a$ $$": 'string plain string string string',
    "x'ff' B'1' n'x' U&'\\0061' u&\"a\"": 'string string word plain string string name',
    "E'a'\n'b\\'c' E'd' -- e\n 'f'": 'string string',
    '1.5e10 .5 1_000 0xff': 'number sign number number number',
    '1.5e-10+1. 0b1_0 0o7 $1.a': 'number sign number number number parameter sign word',
    'a/* b /* c */ d */e--f\n+-1': 'word word sign sign number',
    'größe 😀': 'word word',
  }
  for (const [text, kinds] of Object.entries(texts))
    test(text.replaceAll('\n', ' '), () => {
      assert.equal(
        lex(text)
          .tokens.map(([kind]) => kind)
          .join(' '),
        kinds,
      )
    })
  clause(
    'GATE-213',
    'A text with a letter right behind a number or a parameter, as in `1from`, is not looked into…',
    () => {
      for (const number of ['1', '1.', '1.5', '1e5', '1e', '1e+', '0x', '0x1', '0o', '1_', '$1'])
        assert.ok(!lex(`select a, ${number}grom t`).isCertain, number)
      const long = `select ${'1,'.repeat(3_000)}'a',1from t`
      assert.equal(shorten(long), undefined)
      assert.throws(() => checkText('select 1from t', statementLimits), /does not accept/)
    },
  )
  for (const text of ["'a", '"a', '/* a', '$a$ b', '$', "E'a\\'"])
    test(`${text} has no end`, () => assert.ok(!lex(text).isCertain))
  test('where backslashes count it knows when it cannot tell', () => {
    for (const text of ["b'1'\n'\\'", "U&'\\'", "1e'\\''"]) assert.ok(!lex(text, true).isCertain)
    assert.deepEqual(lex("'\\''", true).tokens, [['plain string', 0, 4]])
  })

  test('cuts any text into tokens in order, with spaces and comments between them', () => {
    fc.assert(
      fc.property(anyText, fc.boolean(), (text, hasEscapes) => {
        const { tokens, isCertain } = lex(text, hasEscapes)
        let end = 0
        for (const [, from, to] of tokens) {
          assert.ok(from >= end && to > from && to <= text.length)
          assert.match(text.slice(end, from), /^(?:\s|--|\/\*|$)/)
          end = to
        }
        if (isCertain) assert.match(text.slice(end), /^(?:\s|--|\/\*|$)/)
      }),
      { numRuns: runs(200) },
    )
  })

  test('cuts bytes of UTF-8 at the same places as letters', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const letters = lex(text)
        const bytes = lex(Buffer.from(text).toString('latin1'))
        const placed = letters.tokens.map(
          ([kind, from, to]) =>
            [kind, Buffer.byteLength(text.slice(0, from)), Buffer.byteLength(text.slice(0, to))] as const,
        )
        assert.deepEqual(bytes, { ...letters, tokens: placed })
      }),
      { numRuns: runs(100) },
    )
  })

  test('what is made of its tokens keeps the length, or is shorter', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, bomb), (text) => {
        const masked = maskEscapes(text)
        if (masked !== undefined) assert.equal(masked.length, text.length)
        const short = shorten(text)
        if (short) assert.ok(short.text.length < text.length)
      }),
      { numRuns: runs(50) },
    )
  })
})
