/** What was found about texts, for a bounded number of them. Those that were not asked for in a while go first. */
export class TextCache<T> {
  readonly #limit: number
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
}
