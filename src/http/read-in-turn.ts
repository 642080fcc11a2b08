import { setTimeout } from 'node:timers/promises'
import { fail } from '../kernel/problem.ts'

/** Text from here on is read in turn: below, no body within the usual limits takes long. */
export const largeTextLength = 256 * 1024

/** After a large text, so many times what it took passes before the next. */
const restShare = 4
/** The time to receive and meter a text, before its turn: a text that is refused at once must not come back at once. */
const receiptMsPerCharacter = 1 / 100_000

/** Texts that wait are in memory: so many of one caller, and of all. */
const maxOfCaller = 4
const maxWaiting = 32
const retryAfterSeconds = 5

const waiting = new Map<string, number>()
let turn: Promise<unknown> = Promise.resolve()

/**
 * Reads large texts one after the other, with a rest in between: reading one is a single step that no other request can
 * interrupt, and together they take at most a fifth of the process. Callers with too many of them are refused.
 */
export function readInTurn<T>(callerId: string, length: number, read: () => T): Promise<T> {
  const own = waiting.get(callerId) ?? 0
  const all = [...waiting.values()].reduce((sum, count) => sum + count, 0)
  if (own >= maxOfCaller || all >= maxWaiting)
    fail('TooManyRequests', { seconds: retryAfterSeconds }, { retryAfterSeconds })
  waiting.set(callerId, own + 1)
  let restMs = 0
  const result = turn.then(() => {
    leave(callerId)
    const startedAt = performance.now()
    try {
      return read()
    } finally {
      restMs = (performance.now() - startedAt + length * receiptMsPerCharacter) * restShare
    }
  })
  turn = result.then(
    () => setTimeout(restMs),
    () => setTimeout(restMs),
  )
  return result
}

function leave(callerId: string): void {
  const left = (waiting.get(callerId) ?? 1) - 1
  if (left > 0) waiting.set(callerId, left)
  else waiting.delete(callerId)
}
