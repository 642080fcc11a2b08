import { BoundedCache } from '../kernel/cache.ts'

const rememberedAnswers = 50_000

/**
 * Asks for each key at most once in `maxAgeSeconds`: a principal that was shut out gets in for no longer than that.
 * A failure is not remembered.
 */
export function remember<K extends readonly string[], V>(
  read: (...key: K) => Promise<V>,
  maxAgeSeconds: number,
): (...key: K) => Promise<V> {
  const cache = new BoundedCache<Promise<V>>(rememberedAnswers)
  return (...key) => {
    const name = key.join(' ')
    const known = cache.get(name)
    if (known) return known
    const found = read(...key)
    cache.set(name, found, Date.now() + maxAgeSeconds * 1000)
    found.catch(() => cache.delete(name))
    return found
  }
}
