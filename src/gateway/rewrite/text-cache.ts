import { ByteTable } from '../session/byte-table.ts'

const recentPlaces = 256

/** What was found about texts, for a bounded number of them. Those that were not asked for in a while go first. */
export class TextCache<T> {
  readonly #limit: number
  readonly #byBytes = new ByteTable<T>(recentPlaces)
  #recent = new Map<string, T>()
  #older = new Map<string, T>()

  constructor(limit: number) {
    this.#limit = limit
  }

  get(text: string): T | undefined {
    const recent = this.#recent.get(text)
    if (recent !== undefined) return recent
    const older = this.#older.get(text)
    if (older !== undefined) this.set(text, older)
    return older
  }

  set(text: string, found: T): void {
    // Two halves, of which one is dropped as a whole: a hit then moves nothing.
    if (this.#recent.size >= this.#limit / 2) {
      this.#older = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(text, found)
  }

  /** The same for a text that stands in bytes, each of them a letter of it; `find` is asked where it is not known. */
  getOrFind(bytes: Buffer, length: number, find: (text: string) => T | undefined): T | undefined {
    const known = this.#byBytes.find(bytes, 0, length)
    if (known) return known.value
    const text = bytes.toString('latin1', 0, length)
    const found = this.get(text) ?? find(text)
    // Of the text: the bytes may have been written over since.
    if (found !== undefined) this.#byBytes.set(Buffer.from(text, 'latin1'), found)
    return found
  }
}
