import { within } from '../../kernel/jobs.ts'

/** The server does not answer in time. */
export const silence = Symbol('silence')

const limitMs = 2_000
const restMs = 5_000

/**
 * Waits for the answers of one server. Once it has left a question without an answer, it is not asked for a while:
 * callers do not wait.
 */
export class AwaitedAnswers {
  #silentUntil = 0

  get isSilent(): boolean {
    return performance.now() < this.#silentUntil
  }

  /** Rejects as the question does. */
  async ask<T>(question: () => Promise<T>, waitMs = limitMs): Promise<T | typeof silence> {
    if (this.isSilent) return silence
    const answer = question().then((value) => ({ value }))
    // A caller that has gone hears of no failure.
    answer.catch(() => {})
    const first = await within(waitMs, answer)
    if (!first) this.#silentUntil = performance.now() + restMs
    return first ? first.value : silence
  }
}
