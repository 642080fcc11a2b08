/** PostgreSQL tells names of prepared statements apart by no more. */
const maxNameBytes = 63
const places = 64

interface Place<T> {
  readonly name: Buffer
  readonly found: T | undefined
}

/**
 * Prepared statements by name. Names are looked up for every execution, so those that came last are found by their bytes,
 * also when there is nothing under them, and no text is made of them.
 */
export class PreparedNames<T> {
  readonly #byName = new Map<string, T>()
  #places: (Place<T> | undefined)[] = []
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
    this.#places = []
    const key = name.slice(0, maxNameBytes)
    if (value === undefined) this.#byName.delete(key)
    else this.#byName.set(key, value)
  }

  /** The name that ends with a zero. */
  find(bytes: Buffer, start: number): T | undefined {
    if (bytes[start] === 0) return this.#unnamed
    const limit = Math.min(bytes.length, start + maxNameBytes)
    let hash = 0
    let end = start
    while (end < limit && bytes[end] !== 0) hash = (Math.imul(hash, 31) + (bytes[end++] ?? 0)) | 0
    const at = hash & (places - 1)
    const place = this.#places[at]
    if (place && isSame(place.name, bytes, start, end)) return place.found
    const found = this.#byName.get(bytes.toString('latin1', start, end))
    this.#places[at] = { name: Buffer.from(bytes.subarray(start, end)), found }
    return found
  }
}

function isSame(name: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false
  for (let at = 0; at < name.length; at++) if (name[at] !== bytes[start + at]) return false
  return true
}
