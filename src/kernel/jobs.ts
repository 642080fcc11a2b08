const closeMs = 5_000

/**
 * Runs a job for each of several keys, never two of one key at once. Requests that arrive while the job of their key
 * runs become one more run, after a pause as long as the last run took: constant requests get half of the time at
 * most. A job that hangs delays no other key.
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

/** Why a turn is taken. One for a login looks at the whole database, one for a change at the tables of the change. */
export type Occasion = 'change' | 'login' | 'audit'

interface Waiting<T> {
  occasion: Occasion
  readonly take: (occasion: Occasion) => Promise<T>
  readonly turn: PromiseWithResolvers<T>
}

/**
 * Runs the turns of a key one after the other: side by side each would hold a connection and wait for the same lock.
 * Requests that arrive during a turn share one that begins after it, so any number of them costs one turn. An audit
 * is not shared with other requests: it tells drift from changes that were asked for. One of either kind waits at
 * most, in the order of the requests.
 */
export class TurnQueue<T> {
  /** By key, the turns behind the one under way. No entry: none is under way. */
  readonly #lines = new Map<string, Waiting<T>[]>()

  /** Returns the result of a turn that began after the request. All requests of a key have the same `take`. */
  request(key: string, occasion: Occasion, take: (occasion: Occasion) => Promise<T>): Promise<T> {
    const line = this.#lines.get(key)
    if (!line) {
      this.#lines.set(key, [])
      return this.#run(key, occasion, take)
    }
    const shared = line.find((one) => (one.occasion === 'audit') === (occasion === 'audit'))
    const waiting = shared ?? { occasion, take, turn: Promise.withResolvers<T>() }
    if (!shared) line.push(waiting)
    else if (shared.occasion !== occasion) shared.occasion = 'login'
    return waiting.turn.promise
  }

  #run(key: string, occasion: Occasion, take: (occasion: Occasion) => Promise<T>): Promise<T> {
    return take(occasion).finally(() => {
      const next = this.#lines.get(key)?.shift()
      if (next) next.turn.resolve(this.#run(key, next.occasion, next.take))
      else this.#lines.delete(key)
    })
  }
}

/** The promise, or nothing where that takes longer. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, ms, undefined)
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
