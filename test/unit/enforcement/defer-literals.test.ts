import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deferInCondition } from '../../../src/enforcement/twins/defer-literals.ts'

test('literals of types that roles made become casts of text', () => {
  assert.equal(deferInCondition("(a = 'é{x}'::s.word[])"), "(a = 'é{x}'::text::s.word[])")
  assert.equal(deferInCondition("(a = 'x'::text)"), "(a = 'x'::text)")
})

test('a literal without a type stays where a built-in function takes every type', () => {
  for (const kept of [
    "(concat('a', x, 'b') <> ''::text)",
    "(pg_catalog.concat(ROW('a')) IS NOT NULL)",
    '(EXTRACT(year FROM x) > 1)',
    '(JSON_VALUE(x, \'$."a"\') IS NULL)',
  ])
    assert.equal(deferInCondition(kept), kept)
})

test('a literal without a type is refused where another function or operator may give it one', () => {
  for (const refused of [
    "s.f('x', NULL::s.word[])",
    "s.f(ROW('x'), NULL::s.pair)",
    "s.f(ARRAY['x'])",
    "s.f(n => 'x')",
    "('x' OPERATOR(s.@) NULL::s.word[])",
    "('x' = NULL::s.word[])",
    "COALESCE('x', NULL::s.word[])",
    "concat(s.f('x'))",
    "concat(ROW('x')::s.pair)",
    "s.f('x'::unknown)",
    "s.f(ROW('x')::record)",
  ])
    assert.match(deferInCondition(refused), /^false$|::text::unknown/, refused)
})
