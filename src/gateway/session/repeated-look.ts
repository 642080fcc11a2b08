import { everySecond } from '../../kernel/every-second.ts'

/** Looks at once, and again each second that begins after the end of the last look, whether that failed or not. */
export class RepeatedLook {
  readonly #look: () => Promise<void>
  readonly #stop: () => void
  #looking: Promise<void> | undefined
  #isClosed = false

  constructor(look: () => Promise<void>) {
    this.#look = look
    this.#stop = everySecond(() => this.#tick())
    this.#tick()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Waits for the look under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#stop()
    await this.#looking
  }

  #tick(): void {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
  }
}
