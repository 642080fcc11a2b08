/** The 128 bits of a key as four words. */
export type Key = readonly [number, number, number, number]

const firstSlots = 1024

/**
 * Finds objects by a key of 128 bits in typed arrays: a million objects take 24 MB here and more than 100 MB as strings
 * in a Map. The table holds numbers of objects; the key of object `n` is at `keys[4n]`.
 *
 * An object whose key changes leaves its old slot behind. That slot matches nothing, and goes when the table grows.
 */
export class KeyTable {
  #keys = new Uint32Array(0)
  /** 1 for objects that have a key: every 128 bits, zero included, can be one. */
  #keyed = new Uint8Array(0)
  #slots = new Int32Array(firstSlots).fill(-1)
  #used = 0

  get bytes(): number {
    return this.#keys.byteLength + this.#keyed.byteLength + this.#slots.byteLength
  }

  /** The first object with this key that `accepts` takes, or -1. */
  find(key: Key, accepts: (object: number) => boolean = always): number {
    const mask = this.#slots.length - 1
    for (let at = hash(key) & mask; ; at = (at + 1) & mask) {
      const object = this.#slots[at] as number
      if (object < 0) return -1
      if (this.#has(object, key) && accepts(object)) return object
    }
  }

  set(object: number, key: Key): void {
    if (this.#has(object, key) && this.find(key, (other) => other === object) === object) return
    this.#reserve(object)
    this.#keys.set(key, object * 4)
    this.#keyed[object] = 1
    if ((this.#used + 1) * 2 > this.#slots.length) this.#grow()
    else this.#place(object)
  }

  /** The object has no key any more. */
  clear(object: number): void {
    this.#keyed[object] = 0
  }

  /** The keys of all objects: that of object `n` begins at `4n`. Changes when objects are added. */
  get words(): Uint32Array {
    return this.#keys
  }

  keyOf(object: number): Key {
    const at = object * 4
    return [this.#keys[at] ?? 0, this.#keys[at + 1] ?? 0, this.#keys[at + 2] ?? 0, this.#keys[at + 3] ?? 0]
  }

  #has(object: number, key: Key): boolean {
    const at = object * 4
    return (
      this.#keyed[object] === 1 &&
      this.#keys[at] === key[0] &&
      this.#keys[at + 1] === key[1] &&
      this.#keys[at + 2] === key[2] &&
      this.#keys[at + 3] === key[3]
    )
  }

  #place(object: number): void {
    const mask = this.#slots.length - 1
    let at = hash(this.keyOf(object)) & mask
    while ((this.#slots[at] as number) >= 0) at = (at + 1) & mask
    this.#slots[at] = object
    this.#used++
  }

  #reserve(object: number): void {
    if (object * 4 + 4 <= this.#keys.length) return
    const keys = new Uint32Array(Math.max(4096, (object + 1) * 4, Math.floor(this.#keys.length * 1.5)))
    keys.set(this.#keys)
    this.#keys = keys
    const keyed = new Uint8Array(keys.length / 4 + 1)
    keyed.set(this.#keyed)
    this.#keyed = keyed
  }

  /** Places every object that has a key anew, so that slots of former keys go. */
  #grow(): void {
    this.#slots = new Int32Array(this.#slots.length * 2).fill(-1)
    this.#used = 0
    for (let object = 0; object < this.#keyed.length; object++) if (this.#keyed[object]) this.#place(object)
  }
}

function always(): boolean {
  return true
}

/** Ids may be chosen by an importer: all four words are mixed, so that runs of near ids do not share slots. */
function hash([a, b, c, d]: Key): number {
  let h = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35)
  h ^= Math.imul(c ^ (c >>> 15), 0x27d4eb2f) ^ Math.imul(d ^ (d >>> 12), 0x165667b1)
  h = Math.imul(h ^ (h >>> 16), 0x7feb352d)
  return (h ^ (h >>> 15)) >>> 0
}

/** The key of a UUID in any case, or undefined. */
export function readUuid(text: string): Key | undefined {
  if (text.length !== 36) return undefined
  const words: [number, number, number, number] = [0, 0, 0, 0]
  let digits = 0
  for (let at = 0; at < 36; at++) {
    const code = text.charCodeAt(at)
    if (at === 8 || at === 13 || at === 18 || at === 23) {
      if (code !== 45) return undefined
      continue
    }
    const digit = hexDigit(code)
    if (digit < 0) return undefined
    const word = digits >> 3
    words[word] = ((words[word] as number) << 4) | digit
    digits++
  }
  return [words[0] >>> 0, words[1] >>> 0, words[2] >>> 0, words[3] >>> 0]
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const lower = code | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

export function readKey(bytes: Buffer, at = 0): Key {
  return [
    bytes.readUInt32BE(at),
    bytes.readUInt32BE(at + 4),
    bytes.readUInt32BE(at + 8),
    bytes.readUInt32BE(at + 12),
  ]
}

export function writeUuid([a, b, c, d]: Key): string {
  const hex = (word: number) => word.toString(16).padStart(8, '0')
  const [first, second, third] = [hex(b), hex(c), hex(d)]
  return `${hex(a)}-${first.slice(0, 4)}-${first.slice(4)}-${second.slice(0, 4)}-${second.slice(4)}${third}`
}
