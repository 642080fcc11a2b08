import { ByteTable } from '../session/byte-table.ts'

/** PostgreSQL tells names of prepared statements apart by no more. */
const maxNameBytes = 63
const places = 64

/**
 * Prepared statements by name. Names are looked up for every execution, so those that came last are found by their bytes,
 * also when there is nothing under them, and no text is made of them.
 */
export class PreparedNames<T> {
  readonly #byName = new Map<string, T>()
  readonly #recent = new ByteTable<T | undefined>(places)
  /** Drivers send it anew for every statement. */
  #unnamed: T | undefined

  get size(): number {
    return this.#byName.size
  }

  /** Names are bytes, each as a letter. */
  get(name: string): T | undefined {
    return name === '' ? this.#unnamed : this.#byName.get(name.slice(0, maxNameBytes))
  }

  set(name: string, value: T | undefined): void {
    if (name === '') {
      this.#unnamed = value
      return
    }
    this.#recent.clear()
    const key = name.slice(0, maxNameBytes)
    if (value === undefined) this.#byName.delete(key)
    else this.#byName.set(key, value)
  }

  /** The name that ends with a zero. */
  find(bytes: Buffer, start: number): T | undefined {
    if (bytes[start] === 0) return this.#unnamed
    const limit = Math.min(bytes.length, start + maxNameBytes)
    let end = start
    while (end < limit && bytes[end] !== 0) end++
    const recent = this.#recent.find(bytes, start, end)
    if (recent) return recent.value
    const found = this.#byName.get(bytes.toString('latin1', start, end))
    this.#recent.set(Buffer.from(bytes.subarray(start, end)), found)
    return found
  }
}
