import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { CoalescedJobs } from '../../../src/kernel/jobs.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'

const until = (done: () => boolean) => waitUntil('the job', done, { everyMs: 1 })

test('what hangs keeps no other waiting, and closing does not wait for it for ever', async () => {
  const turns = new CoalescedJobs(1, () => {})
  let ran = 0
  turns.request('stuck', () => new Promise(() => {}))
  turns.request('other', async () => void ran++)
  await until(() => ran === 1)
  await turns.close()
})

test('however often it is asked for, it runs once at a time and once more', async () => {
  const turns = new CoalescedJobs(1, () => {})
  let [ran, running, most] = [0, 0, 0]
  const asked = Promise.withResolvers<void>()
  const work = async () => {
    most = Math.max(most, ++running)
    await asked.promise
    await setImmediate()
    running--
    ran++
  }
  turns.request('one', work)
  await until(() => running === 1)
  for (let round = 0; round < 100; round++) turns.request('one', work)
  asked.resolve()
  await until(() => ran === 2)
  await holdsFor(60, 'it runs no third time', () => ran === 2)
  assert.deepEqual([ran, most], [2, 1])
  await turns.close()
})

test('a failure is told, and the next one runs', async () => {
  const told: string[] = []
  const turns = new CoalescedJobs(1, (key) => void told.push(key))
  let ran = 0
  turns.request('one', async () => {
    throw new Error('no')
  })
  await until(() => told.length === 1)
  turns.request('one', async () => void ran++)
  await until(() => ran === 1)
  await turns.close()
})
