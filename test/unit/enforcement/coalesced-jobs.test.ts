import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CoalescedJobs } from '../../../src/enforcement/coalesced-jobs.ts'

const until = async (done: () => boolean) => {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 1))
}

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
  const work = async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, 20))
    running--
    ran++
  }
  turns.request('one', work)
  await until(() => running === 1)
  for (let round = 0; round < 100; round++) turns.request('one', work)
  await until(() => ran === 2)
  await new Promise((resolve) => setTimeout(resolve, 60))
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
