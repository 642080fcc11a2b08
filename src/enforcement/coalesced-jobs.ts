const closeMs = 5_000

/**
 * Work for each of several databases. Never twice at once for one of them: whatever is asked for meanwhile is done once
 * more, after a pause as long as it took, so that who asks all the time gets half of it at most. One that hangs keeps no
 * other one waiting.
 */
export class Turns {
  readonly #gatherMs: number
  readonly #onFailure: (key: string, error: unknown) => void
  readonly #waiting = new Map<string, NodeJS.Timeout>()
  readonly #running = new Map<string, Promise<void>>()
  readonly #again = new Map<string, () => Promise<unknown>>()
  #isClosed = false

  /** Requests come in bursts: one look is enough for all that come within so long. */
  constructor(gatherMs: number, onFailure: (key: string, error: unknown) => void) {
    this.#gatherMs = gatherMs
    this.#onFailure = onFailure
  }

  ask(key: string, work: () => Promise<unknown>): void {
    if (this.#isClosed) return
    if (this.#running.has(key)) this.#again.set(key, work)
    else if (!this.#waiting.has(key)) this.#wait(key, work, this.#gatherMs)
  }

  /** Waits for what is under way, but not for ever. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of this.#waiting.values()) clearTimeout(timer)
    const late = new Promise<void>((resolve) => setTimeout(resolve, closeMs).unref())
    await Promise.race([Promise.all(this.#running.values()), late])
  }

  #wait(key: string, work: () => Promise<unknown>, ms: number): void {
    const timer = setTimeout(() => {
      this.#waiting.delete(key)
      this.#running.set(key, this.#run(key, work))
    }, ms)
    this.#waiting.set(key, timer.unref())
  }

  async #run(key: string, work: () => Promise<unknown>): Promise<void> {
    const from = Date.now()
    try {
      await work()
    } catch (error) {
      this.#onFailure(key, error)
    }
    this.#running.delete(key)
    const next = this.#again.get(key)
    this.#again.delete(key)
    if (next && !this.#isClosed) this.#wait(key, next, Math.max(this.#gatherMs, Date.now() - from))
  }
}
