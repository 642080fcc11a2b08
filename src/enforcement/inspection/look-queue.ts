import { fail } from '../../kernel/problem.ts'

const running = 2
const waiting = 20
const retryAfterSeconds = 1

interface Queue {
  running: number
  readonly waiting: (() => void)[]
}

/**
 * Lets two looks into a database run at a time and the next ones wait in turn; beyond that they are refused. Enforcement
 * has connections to itself this way: a reader who looks again and again delays no rule and no withdrawn exemption.
 */
export class LookQueue {
  readonly #queues = new Map<string, Queue>()

  async run<T>(databaseId: string, look: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(databaseId) ?? { running: 0, waiting: [] }
    this.#queues.set(databaseId, queue)
    if (queue.running < running) queue.running++
    else await this.#wait(queue)
    try {
      return await look()
    } finally {
      this.#leave(databaseId, queue)
    }
  }

  async #wait(queue: Queue): Promise<void> {
    if (queue.waiting.length >= waiting)
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
