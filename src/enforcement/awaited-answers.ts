/** The server does not answer in time. */
export const silence = Symbol('silence')

const limitMs = 2_000
/** Long enough for a server that answers again. */
const momentMs = 50

/**
 * Waits for the answers of one server. Once it has left a question without an answer, no caller waits for it again until it answers:
 * one question at a time is then asked aside.
 */
export class AwaitedAnswers {
  #isSilent = false
  #isAskedAside = false

  get isSilent(): boolean {
    return this.#isSilent
  }

  /** Rejects as the question does. */
  async ask<T>(question: () => Promise<T>, waitMs = limitMs): Promise<T | typeof silence> {
    if (this.#isSilent && this.#isAskedAside) return silence
    const isAside = this.#isSilent
    this.#isAskedAside ||= isAside
    const answer = this.#follow(question).finally(() => {
      if (isAside) this.#isAskedAside = false
    })
    const { promise: late, resolve } = Promise.withResolvers<typeof silence>()
    const timer = setTimeout(resolve, isAside ? momentMs : waitMs, silence)
    try {
      const first = await Promise.race([answer, late])
      if (first === silence) this.#isSilent = true
      return first
    } finally {
      clearTimeout(timer)
      // A caller that has gone hears of no failure.
      answer.catch(() => {})
    }
  }

  /** A failure that comes late is that of a server which does not answer; one that comes at once says that there is none. */
  async #follow<T>(question: () => Promise<T>): Promise<T> {
    const from = performance.now()
    try {
      const answer = await question()
      this.#isSilent = false
      return answer
    } catch (error) {
      this.#isSilent = performance.now() - from > limitMs
      throw error
    }
  }
}
