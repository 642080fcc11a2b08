import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const entry = fileURLToPath(new URL('../../../scripts/test.mjs', import.meta.url))

let folder: string
before(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'masquerade-runner-'))
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
})
after(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the test command on one file with this content. */
function runTests(source: string, ...args: string[]): Promise<{ code: number; lines: string[] }> {
  return runFiles([source], ...args)
}

/** Runs the test command on files with these contents. */
async function runFiles(sources: string[], ...args: string[]): Promise<{ code: number; lines: string[] }> {
  const files = sources.map((source, at) => {
    const file = path.join(folder, `sample${at || ''}.test.ts`)
    writeFileSync(file, `import { after, before, describe, test } from 'node:test'\n${source}\n`)
    return file
  })
  const child = spawn(process.execPath, [entry, ...args, ...files], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const [code] = await once(child, 'close')
  return { code, lines: output.trimEnd().split('\n') }
}

const fine = `test('fine', () => {})`

describe('the last line and the exit code of a test run', () => {
  const samples: [string, string, number, string][] = [
    [
      'count tests and not the groups they are in',
      `describe('a', () => { describe('b', () => { ${fine} }) ; ${fine} })`,
      0,
      '2 passed, 0 failed',
    ],
    [
      'count the parts of a test instead of the whole',
      `test('t', async (t) => { await t.test('1', () => {}); await t.test('2', () => {}) })`,
      0,
      '2 passed, 0 failed',
    ],
    [
      'count a failed part once',
      `describe('d', () => { test('t', async (t) => { await t.test('1', () => { throw new Error('x') }) }) }); ${fine}`,
      1,
      '1 passed, 1 failed',
    ],
    [
      'count a test that fails after its parts',
      `test('t', async (t) => { await t.test('1', () => {}); throw new Error('x') })`,
      1,
      '1 passed, 1 failed',
    ],
    [
      'count what is skipped',
      `${fine}; test('s', { ['sk' + 'ip']: true }, () => {})`,
      0,
      '1 passed, 0 failed, 1 skipped',
    ],
    [
      'tell of a hook that failed, with the tests it kept from running',
      `describe('d', () => { before(() => { throw new Error('x') }); ${fine} })`,
      1,
      '0 passed, 2 failed',
    ],
    ['tell of a file that cannot be loaded', `throw new Error('x')`, 1, '0 passed, 1 failed'],
    ['tell of a file without a test', '', 1, '0 passed, 1 failed'],
    [
      'tell of a rejection that nobody handled',
      `${fine}; setTimeout(() => Promise.reject(new Error('x')), 20)`,
      1,
      '1 passed, 1 failed',
    ],
    [
      'tell of a process that ends badly after good tests',
      `${fine}; process.exitCode = 3`,
      1,
      '1 passed, 1 failed',
    ],
  ]
  for (const [what, source, code, lastLine] of samples)
    test(what, async () => {
      const outcome = await runTests(source)
      assert.equal(outcome.lines.at(-1), lastLine)
      assert.equal(outcome.code, code)
    })

  test('are those of a failure when no test has the name', async () => {
    const outcome = await runTests(fine, '--name', 'nonexistent')
    assert.equal(outcome.lines.at(-1), '0 passed, 1 failed')
    assert.equal(outcome.code, 1)
  })

  test('are those of a failure when there is no such file', async () => {
    const outcome = await runTests(fine, 'test/nonexistent.test.ts')
    assert.match(outcome.lines[0] ?? '', /There is no file or folder test\/nonexistent\.test\.ts/)
    assert.equal(outcome.lines.at(-1), '0 passed, 1 failed')
    assert.equal(outcome.code, 1)
  })
})

test('a failure is shown with its place, its error and what the file printed', async () => {
  const { lines } = await runTests(
    `console.log('a trace'); test('t', () => { throw new TypeError('the reason') })`,
  )
  const text = lines.join('\n')
  assert.match(text, /✗ t \(.*sample\.test\.ts:2:\d+\)/)
  assert.match(text, /TypeError: the reason/)
  assert.match(text, /a trace/)
})

test('a failure among other files is shown again before the tally, a long one in part', async () => {
  const failing = `console.log('a trace\\n'.repeat(100)); test('f', () => { throw new Error('the reason') })`
  const { lines } = await runFiles([failing, ...Array.from({ length: 5 }, () => fine)])
  const again = lines.findLastIndex((line) => /^✗ \S*sample\.test\.ts/.test(line))
  const end = lines.slice(again).join('\n')
  assert.equal(lines.filter((line) => /^✗ \S*sample\.test\.ts/.test(line)).length, 2)
  assert.match(end, /the reason/)
  assert.match(end, /… \d+ lines more, above\n5 passed, 1 failed$/)
  assert.ok(lines.length - again < 50)
})

test('a good file takes one line', async () => {
  const { lines } = await runTests(`console.log('a trace'); ${fine}`)
  assert.equal(lines.length, 2)
  assert.match(lines[0] ?? '', /^✓ .*sample\.test\.ts · 1 passed, 0 failed · \d/)
})

describe('files that share a process', () => {
  // More files than processes, on every machine.
  const many = 2 * availableParallelism() + 4

  test('are reported each by itself when one of them ends the process', async () => {
    const good = Array.from({ length: many }, () => fine)
    const { lines } = await runFiles([`${fine}; test('exit', () => process.exit(7))`, ...good])
    assert.equal(lines.at(-1), `${many} passed, 1 failed`)
    assert.match(lines.join('\n'), /✗ \S*sample\.test\.ts: its process ended with exit code 7/)
  })

  test('are reported each by itself when one of them kills the process', async () => {
    const good = Array.from({ length: many }, () => fine)
    const { lines } = await runFiles([`test('k', () => process.kill(process.pid, 'SIGKILL'))`, ...good])
    assert.equal(lines.at(-1), `${many} passed, 1 failed`)
    assert.match(lines.join('\n'), /✗ \S*sample\.test\.ts: its process was ended by SIGKILL/)
  })

  test('run their hooks for themselves alone', async () => {
    const counting = `before(() => { globalThis.open = (globalThis.open ?? 0) + 1 }); after(() => globalThis.open--)
      test('t', () => { if (globalThis.open !== 1) throw new Error(String(globalThis.open)) })`
    const { lines } = await runFiles(Array.from({ length: many }, () => counting))
    assert.equal(lines.at(-1), `${many} passed, 0 failed`)
  })

  test('do not follow a file that failed into its process', async () => {
    const failing = `globalThis.left = true; test('f', () => { throw new Error('x') })`
    const careful = `test('t', () => { if (globalThis.left) throw new Error('left behind') })`
    const { lines } = await runFiles([failing, failing, ...Array.from({ length: many }, () => careful)])
    assert.equal(lines.at(-1), `${many} passed, 2 failed`)
  })
})
