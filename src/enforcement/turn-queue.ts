import type { Occasion } from './states/attempts.ts'

/** `leave` lets the next turn begin while what is left of this one goes on. */
type Take<T> = (occasion: Occasion, leave: () => void) => Promise<T>

interface Waiting<T> {
  occasion: Occasion
  readonly take: Take<T>
  readonly turn: PromiseWithResolvers<T>
}

/**
 * Runs the turns of a key one after the other: side by side each would hold a connection and wait for the same lock. Requests that arrive
 * during a turn share one that begins after it, so any number of them costs one turn. An audit is not shared with other requests: it tells
 * drift from changes that were asked for. One of either kind waits at most, in the order of the requests.
 */
export class TurnQueue<T> {
  /** By key, the turns behind the one under way. No entry: none is under way. */
  readonly #lines = new Map<string, Waiting<T>[]>()

  /** Returns the result of a turn that began after the request. All requests of a key have the same `take`. */
  request(key: string, occasion: Occasion, take: Take<T>): Promise<T> {
    const line = this.#lines.get(key)
    if (!line) {
      this.#lines.set(key, [])
      return this.#begin(key, occasion, take)
    }
    const shared = line.find((one) => (one.occasion === 'audit') === (occasion === 'audit'))
    const waiting = shared ?? { occasion, take, turn: Promise.withResolvers<T>() }
    if (!shared) line.push(waiting)
    // A turn for a login looks at the whole database, one for a change only at the tables of the change.
    else if (shared.occasion !== occasion) shared.occasion = 'login'
    return waiting.turn.promise
  }

  async #begin(key: string, occasion: Occasion, take: Take<T>): Promise<T> {
    let hasLeft = false
    const leave = () => {
      if (!hasLeft) this.#beginNext(key)
      hasLeft = true
    }
    try {
      return await take(occasion, leave)
    } finally {
      leave()
    }
  }

  #beginNext(key: string): void {
    const next = this.#lines.get(key)?.shift()
    if (next) next.turn.resolve(this.#begin(key, next.occasion, next.take))
    else this.#lines.delete(key)
  }
}
