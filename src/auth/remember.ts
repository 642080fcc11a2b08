import { BoundedCache } from '../kernel/cache.ts'

const rememberedAnswers = 50_000

/** An answer and the time until which it counts. */
export interface Remembered<V> {
  readonly value: V
  readonly untilMs: number
}

/**
 * Asks for each key at most once in `maxAgeSeconds`: a principal that was shut out gets in for no longer than that.
 * A failure is not remembered.
 */
export function remember<K extends readonly string[], V>(
  read: (...key: K) => Promise<V>,
  maxAgeSeconds: number,
): (...key: K) => Promise<Remembered<V>> {
  const cache = new BoundedCache<Promise<Remembered<V>>>(rememberedAnswers)
  return (...key) => {
    const name = key.join(' ')
    const known = cache.get(name)
    if (known) return known
    const untilMs = Date.now() + maxAgeSeconds * 1000
    const found = read(...key).then((value) => ({ value, untilMs }))
    cache.set(name, found, untilMs)
    found.catch(() => cache.delete(name))
    return found
  }
}
