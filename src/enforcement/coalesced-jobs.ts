const closeMs = 5_000

/**
 * Runs a job for each of several keys, never two of one key at once. Requests that arrive while the job of their key runs
 * become one more run, after a pause as long as the last run took: constant requests get half of the time at most. A job
 * that hangs delays no other key.
 */
export class CoalescedJobs {
  readonly #gatherMs: number
  readonly #onFailure: (key: string, error: unknown) => void
  readonly #waiting = new Map<string, NodeJS.Timeout>()
  readonly #running = new Map<string, Promise<void>>()
  readonly #again = new Map<string, () => Promise<unknown>>()
  #isClosed = false

  /** `gatherMs`: requests of one key within so long become one run. */
  constructor(gatherMs: number, onFailure: (key: string, error: unknown) => void) {
    this.#gatherMs = gatherMs
    this.#onFailure = onFailure
  }

  request(key: string, work: () => Promise<unknown>): void {
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
