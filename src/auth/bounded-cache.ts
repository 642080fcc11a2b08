/** A map that forgets what was not used for the longest time once it is full, and anything past its time. */
export class BoundedCache<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly until: number }>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    if (entry.until <= Date.now()) return undefined
    this.#entries.set(key, entry)
    return entry.value
  }

  set(key: string, value: V, untilMs: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, until: untilMs })
    if (this.#entries.size <= this.#limit) return
    const [oldest] = this.#entries.keys()
    if (oldest !== undefined) this.#entries.delete(oldest)
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}
