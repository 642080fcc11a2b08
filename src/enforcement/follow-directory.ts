import type { Logger } from 'pino'

export interface FollowOptions {
  /** Grows with every change of the directory. */
  readRevision(): Promise<number>
  /** Bound databases whose exemptions or role mappings may mean somebody of the directory. */
  findConcerned(): Promise<readonly string[]>
  /** Enforces there what is different now, if anything. */
  follow(databaseId: string): Promise<unknown>
  readonly log: Logger
}

/** Changes of a directory come in bursts, as when a whole department is imported. */
const gatherMs = 100
const lookEveryMs = 1_000

/**
 * Enforces anew what a change of the directory changes: who was taken out of a group loses what came with it, whether or
 * not anybody touches the rules. Told at once where notifications arrive, and by looking once a second where not.
 */
export class DirectoryFollower {
  readonly #options: FollowOptions
  readonly #ticker: NodeJS.Timeout
  #revision = -1
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isHeard = false
  #isClosed = false

  constructor(options: FollowOptions) {
    this.#options = options
    this.#ticker = setInterval(() => void this.#tick(), lookEveryMs).unref()
  }

  /** Something may have changed. */
  hear(): void {
    if (this.#isClosed) return
    this.#isHeard = true
    if (!this.#running) this.#timer ??= setTimeout(() => this.#run(), gatherMs).unref()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#ticker)
    clearTimeout(this.#timer)
    await this.#running
  }

  async #tick(): Promise<void> {
    try {
      if ((await this.#options.readRevision()) !== this.#revision) this.hear()
    } catch {
      // The service's own database is away; others say so.
    }
  }

  #run(): void {
    this.#timer = undefined
    if (this.#isClosed) return
    const from = Date.now()
    this.#isHeard = false
    this.#running = this.#look()
      .catch((err) => this.#options.log.warn({ err }, 'a change of the directory could not be followed'))
      .finally(() => {
        this.#running = undefined
        // Half of the time at most, however fast the directory changes.
        const pauseMs = Math.max(gatherMs, Date.now() - from)
        if (this.#isHeard && !this.#isClosed) this.#timer = setTimeout(() => this.#run(), pauseMs).unref()
      })
  }

  async #look(): Promise<void> {
    const { readRevision, findConcerned, follow } = this.#options
    const revision = await readRevision()
    for (const databaseId of await findConcerned()) {
      if (this.#isClosed) return
      await follow(databaseId)
    }
    this.#revision = revision
  }
}
