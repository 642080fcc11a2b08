import { fail } from './problem.ts'

const retryAfterSeconds = 1

interface Queue {
  running: number
  readonly waiting: (() => void)[]
}

/**
 * Lets few pieces of work on a database run at a time and the next ones wait in turn; beyond `mostWaiting` they are
 * refused. What holds a connection goes through one, so that turns of the controller always find another one: a
 * reader who looks again and again, or people who log in, delay no rule and no withdrawn exemption.
 */
export class FewAtOnce {
  readonly #mostRunning: number
  readonly #mostWaiting: number
  readonly #queues = new Map<string, Queue>()

  constructor(mostRunning: number, mostWaiting = Number.POSITIVE_INFINITY) {
    this.#mostRunning = mostRunning
    this.#mostWaiting = mostWaiting
  }

  async run<T>(databaseId: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(databaseId) ?? { running: 0, waiting: [] }
    this.#queues.set(databaseId, queue)
    if (queue.running < this.#mostRunning) queue.running++
    else await this.#wait(queue)
    try {
      return await work()
    } finally {
      this.#leave(databaseId, queue)
    }
  }

  async #wait(queue: Queue): Promise<void> {
    if (queue.waiting.length >= this.#mostWaiting)
      fail('TooManyRequests', { seconds: retryAfterSeconds }, { retryAfterSeconds })
    await new Promise<void>((resolve) => queue.waiting.push(resolve))
  }

  /** The place goes to the next one that waits, so that none that comes later takes it. */
  #leave(databaseId: string, queue: Queue): void {
    const next = queue.waiting.shift()
    if (next) next()
    else if (--queue.running === 0) this.#queues.delete(databaseId)
  }
}
