import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findCircles, findUpwardImports, findWrongImports, listImports } from './imports.ts'
import { readTree } from './tree.ts'

test('imports of src/ and portal/ point one way', () => {
  const files = [...readTree('src', /\.ts$/), ...readTree('portal', /\.(ts|tsx|js|jsx|mjs)$/)]
  assert.ok(files.length > 0)
  assert.deepEqual(findWrongImports(files), [])
})

test('the sub-rooms of src/masks import downward', () => {
  const files = readTree('src', /\.ts$/)
  assert.ok(files.some(({ path }) => path.startsWith('src/masks/control/')))
  assert.deepEqual(findUpwardImports(files), [])
  const upward = { path: 'src/masks/plan/plan.ts', text: "import { apply } from '../apply/apply.ts'" }
  assert.equal(findUpwardImports([upward]).length, 1)
})

test('no files of src/ import each other in a circle', () => {
  assert.deepEqual(findCircles(readTree('src', /\.ts$/)), [])
})

test('circles are found through any number of files and any form of import', () => {
  const files = [
    { path: 'src/a/one.ts', text: "import { two } from './two.ts'" },
    { path: 'src/a/two.ts', text: "import type { Three } from '../b/three.ts'" },
    { path: 'src/b/three.ts', text: "const one = await import('../a/one.ts')" },
    { path: 'src/b/four.ts', text: "import { one } from '../a/one.ts'\nexport * from './five.ts'" },
    { path: 'src/b/five.ts', text: "import { three } from './three.ts'" },
  ]
  assert.deepEqual(findCircles(files), ['src/a/one.ts → src/a/two.ts → src/b/three.ts → src/a/one.ts'])
  assert.deepEqual(findCircles(files.slice(1)), [])
})

test('every form of import is seen', () => {
  const text = `
import a from './a.ts'
import type { B } from './b.ts'
import {
  c,
  type D,
} from './c.ts'
export * from './e.ts'
import './f.ts'
import * as g from "./g.ts"
const h = await import('./h.ts')
export const name = './not-an-import.ts'
`
  const seen = listImports(text).map((one) => `${one.specifier}${one.typeOnly ? ' (type)' : ''}`)
  assert.deepEqual(seen.sort(), ['./a.ts', './b.ts (type)', './c.ts', './e.ts', './f.ts', './g.ts', './h.ts'])
})

function wrongImport(path: string, text: string): string | undefined {
  return findWrongImports([{ path, text }])[0]
}

for (const [path, text] of [
  ['src/kernel/problem.ts', "import { query } from '../db/pool.ts'"],
  ['src/db/pool.ts', "import type { Caller } from '../auth/caller.ts'"],
  ['src/masking/put-rule.ts', "import { walk } from '../directory/walk.ts'"],
  ['src/directory/walk.ts', "import { rule } from '../masking/rule.ts'"],
  ['src/api/operation.ts', "import { reply } from '../http/reply.ts'"],
  ['src/http/server.ts', "import { putRule } from '../masking/put-rule.ts'"],
  ['src/masks/diff.ts', "const { verify } = await import('../auth/verify.ts')"],
  ['src/wire/frame.ts', "export * from '../db/pool.ts'"],
  ['src/gateway/session/session.ts', "import { putRule } from '../../masking/put-rule.ts'"],
  ['src/http/server.ts', "import { readSettings } from '../settings.ts'"],
  ['src/kernel/clock.ts', "import { start } from '../main.ts'"],
  ['src/misc/thing.ts', "import { now } from '../kernel/clock.ts'"],
  ['src/db/pool.ts', "import { fixture } from '../../test/support/fixture.ts'"],
  ['portal/src/app.tsx', "import type { Rule } from '../../src/masking/rule.ts'"],
] as const)
  test(`${path} is told off for ${text}`, () => assert.ok(wrongImport(path, text)))

for (const [path, text] of [
  ['src/masking/put-rule.ts', "import { fail } from '../kernel/problem.ts'"],
  ['src/http/server.ts', "import type { Settings } from '../settings.ts'"],
  ['src/cli/serve.ts', "import { readSettings } from '../settings.ts'"],
  ['src/main.ts', "import { putRule } from './masking/put-rule.ts'"],
  ['src/db/pool.ts', "import postgres from 'postgres'"],
  ['src/gateway/session/session.ts', "import { frame } from '../../wire/frame.ts'"],
] as const)
  test(`${path} may have ${text}`, () => assert.equal(wrongImport(path, text), undefined))
