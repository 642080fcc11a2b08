import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listImports } from './imports.ts'
import { readTree, type SourceFile } from './tree.ts'

/** Files that could make a caller without a verified token, or reach what does. */
function findIntruders(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const emulator = listImports(text).some(({ specifier }) => specifier.endsWith('/emulator.ts'))
    const makes = /\bmakeCaller\b/.test(text) && !path.startsWith('src/auth/')
    const casts = /\bas (unknown as )?Caller\b/.test(text) && path !== 'src/auth/caller.ts'
    return [
      ...(emulator && path !== 'src/main.ts' ? [`${path} reaches the emulator`] : []),
      ...(makes ? [`${path} makes a caller`] : []),
      ...(casts ? [`${path} calls something a caller`] : []),
    ]
  })
}

test('only src/auth/ makes callers, and only main.ts reaches the emulator, when the setting says so', () => {
  const files = readTree('src', /\.ts$/)
  assert.ok(files.length > 0)
  assert.deepEqual(findIntruders(files), [])
  const main = files.find(({ path }) => path === 'src/main.ts')?.text ?? ''
  assert.match(main, /settings\.emulator \? await import\('\.\/auth\/emulator\.ts'\) : undefined/)
  assert.doesNotMatch(main, /^import .*emulator/m)
})

test('an intruder is found', () => {
  const made = (path: string, text: string) => findIntruders([{ path, text }]).length
  assert.equal(made('src/masking/x.ts', "import { makeCaller } from '../auth/caller.ts'"), 1)
  assert.equal(made('src/http/x.ts', 'const caller = request as unknown as Caller'), 1)
  assert.equal(made('src/auth/gatekeeper.ts', "import { emulate } from './emulator.ts'"), 1)
  assert.equal(made('src/auth/gatekeeper.ts', "import { makeCaller } from './caller.ts'"), 0)
})
