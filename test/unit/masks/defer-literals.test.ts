import assert from 'node:assert/strict'
import { test } from 'node:test'
import { moveRelations } from '../../../src/masks/plan/move-relations.ts'

const defer = (condition: string) => moveRelations(`SELECT ${condition}`, () => undefined).slice(7)

test('literals of types that roles made become casts of text', () => {
  assert.equal(defer("(a = 'é{x}'::s.word[])"), "(a = 'é{x}'::text::s.word[])")
  assert.equal(defer("(a = 'x'::text)"), "(a = 'x'::text)")
})

test('a literal without a type stays where all that could give it one is built in', () => {
  for (const kept of [
    "(concat('a', x, 'b') <> ''::text)",
    "(pg_catalog.concat(ROW('a')) IS NOT NULL)",
    '(EXTRACT(year FROM x) > 1)',
    '(JSON_VALUE(x, \'$."a"\') IS NULL)',
    "concat('a', x.mood::s.mood)",
  ])
    assert.equal(defer(kept), kept)
  for (const refused of [
    "s.f('x', NULL::s.word[])",
    "s.f(ROW('x'), NULL::s.pair)",
    "('x' OPERATOR(s.@) NULL::s.word[])",
    "COALESCE('x', NULL::s.word[])",
    "concat(ROW('x')::s.pair)",
    "s.f('x'::unknown)",
    "JSON_VALUE(x, '$.m' RETURNING s.mood DEFAULT 'a' ON EMPTY)",
  ])
    assert.throws(() => defer(refused), /does not accept/, refused)
})
