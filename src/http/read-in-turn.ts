import { setTimeout } from 'node:timers/promises'

/** Text from here on is read in turn: below, no body within the usual limits takes long. */
export const largeTextLength = 256 * 1024

/** After a large text, so many times what it took passes before the next. */
const restShare = 4
/** What it took to receive and meter a text, before its turn: a text that is refused at once must not come back at once. */
const receiptMsPerCharacter = 1 / 100_000

let turn: Promise<unknown> = Promise.resolve()

/**
 * Reads large texts one after the other, with a rest in between: reading one is a single step that no other request can
 * interrupt, and together they take at most a fifth of the process.
 */
export function readInTurn<T>(length: number, read: () => T): Promise<T> {
  let restMs = 0
  const result = turn.then(() => {
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
