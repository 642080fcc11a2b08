/** The last values by the bytes of their names: found without decoding the bytes. */
export class ByteTable<T> {
  readonly #mask: number
  #places: ({ readonly name: Buffer; readonly value: T } | undefined)[] = []

  /** `places`: a power of two. */
  constructor(places: number) {
    this.#mask = places - 1
  }

  /** As a whole, so that nothing can be told from something that is undefined. */
  find(bytes: Buffer, from: number, to: number): { readonly value: T } | undefined {
    const place = this.#places[this.#hash(bytes, from, to)]
    return place && isSame(place.name, bytes, from, to) ? place : undefined
  }

  set(name: Buffer, value: T): void {
    this.#places[this.#hash(name, 0, name.length)] = { name, value }
  }

  clear(): void {
    this.#places = []
  }

  #hash(bytes: Buffer, from: number, to: number): number {
    let hash = 0
    for (let at = from; at < to; at++) hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0
    return hash & this.#mask
  }
}

function isSame(name: Buffer, bytes: Buffer, from: number, to: number): boolean {
  if (name.length !== to - from) return false
  for (let at = 0; at < name.length; at++) if (name[at] !== bytes[from + at]) return false
  return true
}
