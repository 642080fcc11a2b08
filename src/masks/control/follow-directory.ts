import type { Logger } from 'pino'
import { CoalescedJobs } from '../../kernel/jobs.ts'

export interface FollowOptions {
  /** Grows with every change of the directory. */
  readRevision(): Promise<number>
  /** Bound databases whose exemptions or role mappings may refer to users or groups of the directory. */
  findConcerned(): Promise<readonly string[]>
  /** Enforces there what is different now, if anything. */
  follow(databaseId: string): Promise<unknown>
  readonly log: Logger
}

/** Changes of a directory come in bursts, as when a whole department is imported. */
const gatherMs = 50
const lookEveryMs = 5_000
const everything = ''

/**
 * Enforces anew after a change of the directory: a user removed from a group loses the rights that came with it,
 * without a change of rules. It acts on notifications, and looks now and then in case they do not arrive.
 */
export class DirectoryFollower {
  readonly #options: FollowOptions
  readonly #ticker: NodeJS.Timeout
  readonly #jobs: CoalescedJobs
  #revision = -1

  constructor(options: FollowOptions) {
    this.#options = options
    this.#jobs = new CoalescedJobs(gatherMs, (databaseId, err) =>
      options.log.warn({ databaseId, err }, 'a change of the directory could not be followed'),
    )
    const tick = async () => {
      if ((await options.readRevision()) !== this.#revision) this.hear()
    }
    // The service's own database may be away; others say so.
    this.#ticker = setInterval(() => void tick().catch(() => {}), lookEveryMs).unref()
  }

  /** Something may have changed. */
  hear(): void {
    this.#jobs.request(everything, () => this.#look())
  }

  async close(): Promise<void> {
    clearInterval(this.#ticker)
    await this.#jobs.close()
  }

  /** Finds the databases concerned. A failure in one is written to its state and retried there. */
  async #look(): Promise<void> {
    const { readRevision, findConcerned, follow } = this.#options
    const revision = await readRevision()
    for (const databaseId of await findConcerned()) this.#jobs.request(databaseId, () => follow(databaseId))
    this.#revision = revision
  }
}
