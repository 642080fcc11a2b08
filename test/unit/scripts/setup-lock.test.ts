import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { holdsFor } from '../../support/wait-until.ts'

const module = new URL('../../../scripts/setup-lock.mjs', import.meta.url).href

let folder: string
let lock: string
let journal: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'masquerade-lock-'))
  lock = path.join(folder, 'lock')
  journal = path.join(folder, 'journal')
  writeFileSync(journal, '')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A process that writes down when it gets the lock and when it gives it back. */
async function work(name: string): Promise<void> {
  const program = `
    import { appendFileSync } from 'node:fs'
    import { setTimeout } from 'node:timers/promises'
    import { withSetupLock } from ${JSON.stringify(module)}
    await withSetupLock(${JSON.stringify(lock)}, false, async () => {
      appendFileSync(${JSON.stringify(journal)}, '+${name}')
      await setTimeout(50)
      appendFileSync(${JSON.stringify(journal)}, '-${name} ')
    })`
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
}

async function workAtOnce(): Promise<void> {
  await Promise.all(['a', 'b', 'c', 'd'].map(work))
  const turns = readFileSync(journal, 'utf8').trim().split(' ').sort()
  assert.deepEqual(turns, ['+a-a', '+b-b', '+c-c', '+d-d'])
  assert.ok(!existsSync(lock), 'the lock is gone')
}

/** Process ids end far below this one. */
const nobody = 2 ** 30

describe('the lock of the set-up', () => {
  test('is held by one process at a time', workAtOnce)

  test('passes from holders that died to one of those who wait', async () => {
    mkdirSync(lock)
    writeFileSync(path.join(lock, 'holders'), `${nobody} ${nobody + 1}`)
    await workAtOnce()
  })

  test('passes on when its holder has been silent for too long', async () => {
    mkdirSync(lock)
    writeFileSync(path.join(lock, 'holders'), String(process.pid))
    const longAgo = new Date(Date.now() - 120_000)
    utimesSync(lock, longAgo, longAgo)
    await workAtOnce()
  })

  test('stays with holders of which one is alive', async () => {
    mkdirSync(lock)
    writeFileSync(path.join(lock, 'holders'), `${nobody} ${process.pid}`)
    const waiting = work('a')
    await holdsFor(700, 'the lock stays', () => readFileSync(journal, 'utf8') === '')
    rmSync(lock, { recursive: true })
    await waiting
    assert.equal(readFileSync(journal, 'utf8'), '+a-a ')
  })
})
