import { BoundedCache } from '../kernel/cache.ts'

const rememberedAnswers = 50_000

/** An answer and the time until which it counts. */
export interface Remembered<V> {
  readonly value: V
  readonly untilMs: number
}

/**
 * Answers about principals and sign-ins that count for some seconds, or until the node hears of a revocation: then all of
 * them are asked for again.
 */
export class Memory {
  readonly #maxAgeSeconds: number
  readonly #forget: (() => void)[] = []
  #era = 0

  constructor(maxAgeSeconds: number) {
    this.#maxAgeSeconds = maxAgeSeconds
  }

  /** Grows with each `forget`. A conclusion from answers that were asked for in an earlier era does not count any more. */
  get era(): number {
    return this.#era
  }

  forget(): void {
    this.#era++
    for (const forget of this.#forget) forget()
  }

  /** Asks for each key once. A failure is not remembered. */
  remember<K extends readonly string[], V>(
    read: (...key: K) => Promise<V>,
  ): (...key: K) => Promise<Remembered<V>> {
    const cache = new BoundedCache<Promise<Remembered<V>>>(rememberedAnswers)
    // An answer that is still under way is forgotten too: it may have been read before the revocation.
    this.#forget.push(() => cache.clear())
    return (...key) => {
      const name = key.join(' ')
      const known = cache.get(name)
      if (known) return known
      const untilMs = Date.now() + this.#maxAgeSeconds * 1000
      const found = read(...key).then((value) => ({ value, untilMs }))
      cache.set(name, found, untilMs)
      found.catch(() => cache.delete(name))
      return found
    }
  }
}
