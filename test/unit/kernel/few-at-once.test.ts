import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FewAtOnce } from '../../../src/kernel/few-at-once.ts'

const places = 22

/** Looks that end when they are told to. */
function openLooks(queue: FewAtOnce) {
  const open: (() => void)[] = []
  const look = (databaseId: string) =>
    queue.run(databaseId, () => new Promise<void>((resolve) => open.push(resolve)))
  return { open, look }
}

test('ENF-156: two looks run at a time, twenty wait, and further ones are refused', async () => {
  const { open, look } = openLooks(new FewAtOnce(2, 20))
  const looks = Array.from({ length: places }, () => look('a'))
  await assert.rejects(look('a'), { problem: 'TooManyRequests', retryAfterSeconds: 1 })
  assert.equal(open.length, 2)
  const other = look('b')
  assert.equal(open.length, 3, 'another database has places of its own')
  for (let ended = 0; ended < open.length; ended++) {
    open[ended]?.()
    await new Promise(setImmediate)
    const running = open.length - ended - 1
    assert.ok(running <= 3, `${running} run at a time`)
  }
  await Promise.all([...looks, other])
  assert.equal(open.length, places + 1)
})

test('ENF-156: a look that fails gives its place to the next', async () => {
  const queue = new FewAtOnce(2, 20)
  const failing = () => queue.run('a', async () => Promise.reject(new Error('gone')))
  for (let round = 0; round < places * 2; round++) await assert.rejects(failing(), /gone/)
  assert.equal(await queue.run('a', async () => 'seen'), 'seen')
})
