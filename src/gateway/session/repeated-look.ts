const lookEveryMs = 1_000

/** Looks at once, and again a second after the end of each look, whether it failed or not. */
export class RepeatedLook {
  readonly #look: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #looking = Promise.resolve()
  #isClosed = false

  constructor(look: () => Promise<void>) {
    this.#look = look
    this.#tick()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Waits for the look under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#looking
  }

  #tick(): void {
    this.#looking = this.#look().finally(() => {
      if (!this.#isClosed) this.#timer = setTimeout(() => this.#tick(), lookEveryMs).unref()
    })
  }
}
