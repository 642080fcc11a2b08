const signatureBytes = 19

/**
 * Rows of `COPY … (format binary)` from chunks that end anywhere. `take` of a row may keep what it computes from the
 * fields, never the fields: they are parts of the chunk.
 */
export class CopyReader {
  readonly #columns: number
  readonly #onRow: (fields: readonly (Buffer | undefined)[]) => void
  #rest: Buffer = Buffer.alloc(0)
  #isStarted = false
  #isEnded = false

  constructor(columns: number, onRow: (fields: readonly (Buffer | undefined)[]) => void) {
    this.#columns = columns
    this.#onRow = onRow
  }

  take(chunk: Buffer): void {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    let at = 0
    if (!this.#isStarted) {
      if (bytes.length < signatureBytes) {
        this.#rest = bytes
        return
      }
      at = signatureBytes + bytes.readInt32BE(15)
      this.#isStarted = true
    }
    while (!this.#isEnded) {
      const end = this.#readRow(bytes, at)
      if (end < 0) break
      at = end
    }
    this.#rest = Buffer.from(bytes.subarray(at))
  }

  /** Where the row at `at` ends; -1 when it is not all there. */
  #readRow(bytes: Buffer, at: number): number {
    if (at + 2 > bytes.length) return -1
    const columns = bytes.readInt16BE(at)
    if (columns === -1) {
      this.#isEnded = true
      return at + 2
    }
    if (columns !== this.#columns) throw new Error(`a row of ${columns} columns in place of ${this.#columns}`)
    const fields: (Buffer | undefined)[] = []
    let next = at + 2
    for (let column = 0; column < columns; column++) {
      if (next + 4 > bytes.length) return -1
      const length = bytes.readInt32BE(next)
      next += 4
      if (length < 0) fields.push(undefined)
      else {
        if (next + length > bytes.length) return -1
        fields.push(bytes.subarray(next, next + length))
        next += length
      }
    }
    this.#onRow(fields)
    return next
  }
}
