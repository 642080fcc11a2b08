import { BoundedCache } from '../../kernel/cache.ts'
import { ByteTable } from './byte-table.ts'

const recentPlaces = 256

/** Results for a bounded number of texts. */
export class TextCache<T> extends BoundedCache<T> {
  readonly #byBytes = new ByteTable<T>(recentPlaces)

  /** Like `get` for a text in Latin-1 bytes; `find` is asked where it is not known. */
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
