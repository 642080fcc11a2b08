/** `, "…"` with an id of 36 characters. The space makes it whole words, which are copied four bytes at a time. */
const bytesPerItem = 40
const wordsPerItem = bytesPerItem / 4
/** Two hexadecimal digits for each byte. */
const digits = Buffer.from(
  Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0')).join(''),
)
const marks = { space: 32, quote: 34, comma: 44, dash: 45, open: 91, close: 93 } as const

/**
 * Writes ids as a list in JSON. The texts of containers are kept, as they are in nearly every answer; those of other
 * objects are made from the words of their keys each time.
 */
export class IdWriter {
  #bytes = Buffer.alloc(64 * 1024)
  #words = viewWords(this.#bytes)
  /** Items of the objects below `#keptCount`, each made when it is first written; until then it begins with 0. */
  #kept = new Uint32Array()
  #keptCount = 0

  get bytes(): number {
    return this.#kept.byteLength
  }

  /** Keeps the texts of the objects with numbers below `count`. */
  keep(count: number): void {
    this.#kept = new Uint32Array(count * wordsPerItem)
    this.#keptCount = count
  }

  write(objects: Int32Array, keys: Uint32Array): string {
    if (objects.length === 0) return '[]'
    this.#reserve(objects.length * bytesPerItem + 1)
    const words = this.#words
    const kept = this.#kept
    let at = 0
    for (const object of objects) {
      const from = object * wordsPerItem
      if (object < this.#keptCount && kept[from] !== 0)
        for (let word = 0; word < wordsPerItem; word++) words[at + word] = kept[from + word] as number
      else {
        writeItem(this.#bytes, at * 4, keys, object * 4)
        if (object < this.#keptCount) kept.set(words.subarray(at, at + wordsPerItem), from)
      }
      at += wordsPerItem
    }
    const bytes = this.#bytes
    bytes[0] = marks.open
    bytes[at * 4] = marks.close
    return bytes.toString('latin1', 0, at * 4 + 1)
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#bytes.length) return
    this.#bytes = Buffer.alloc(Math.ceil(bytes / 4) * 4)
    this.#words = viewWords(this.#bytes)
  }
}

function viewWords({ buffer, byteOffset, length }: Buffer): Uint32Array {
  return new Uint32Array(buffer, byteOffset, length / 4)
}

function writeItem(bytes: Buffer, start: number, keys: Uint32Array, key: number): void {
  let at = start
  bytes[at++] = marks.comma
  bytes[at++] = marks.space
  bytes[at++] = marks.quote
  for (let word = 0; word < 4; word++) {
    at = writeHalf(bytes, at, (keys[key + word] as number) >>> 16)
    if (word === 1 || word === 2) bytes[at++] = marks.dash
    at = writeHalf(bytes, at, (keys[key + word] as number) & 0xffff)
    if (word === 0 || word === 1) bytes[at++] = marks.dash
  }
  bytes[at] = marks.quote
}

function writeHalf(bytes: Buffer, at: number, half: number): number {
  const first = (half >>> 8) * 2
  const second = (half & 0xff) * 2
  bytes[at] = digits[first] as number
  bytes[at + 1] = digits[first + 1] as number
  bytes[at + 2] = digits[second] as number
  bytes[at + 3] = digits[second + 1] as number
  return at + 4
}
