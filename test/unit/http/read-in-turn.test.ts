import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readInTurn } from '../../../src/http/read-in-turn.ts'

const beBusy = (ms: number) => {
  const startedAt = performance.now()
  while (performance.now() - startedAt < ms);
  return { startedAt, endedAt: performance.now() }
}

test('large bodies are read one after the other, with four times the rest in between', async () => {
  const failing = readInTurn('a caller', 0, () => {
    beBusy(5)
    throw new Error('not a body')
  })
  const [first, second] = [
    readInTurn('a caller', 0, () => beBusy(10)),
    readInTurn('a caller', 0, () => beBusy(10)),
  ]
  await assert.rejects(failing, /not a body/)
  const [one, other] = [await first, await second]
  assert.ok(other.startedAt - one.endedAt >= 35, `${other.startedAt - one.endedAt} ms`)
  // What was received counts as well.
  const { endedAt } = await readInTurn('a caller', 1_000_000, () => beBusy(0))
  const { startedAt } = await readInTurn('a caller', 0, () => beBusy(0))
  assert.ok(startedAt - endedAt >= 35, `${startedAt - endedAt} ms`)
})

test('a caller has four large bodies waiting at most, and all have 32', async () => {
  const wait = (caller: string) => readInTurn(caller, 0, () => beBusy(0))
  const refused = { problem: 'TooManyRequests' }
  const own = Array.from({ length: 4 }, () => wait('a caller'))
  assert.throws(() => wait('a caller'), refused)
  const others = Array.from({ length: 28 }, (_, n) => wait(`caller ${n >> 2}`))
  assert.throws(() => wait('one more'), refused)
  await Promise.all([...own, ...others])
  await wait('one more')
})
