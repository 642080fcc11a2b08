import type { Database } from '../db/database.ts'
import type { Sql } from '../db/sql.ts'
import { within } from '../kernel/jobs.ts'
import type { Session } from './end-sessions.ts'
import { type Mark, readPosition } from './replay.ts'

const limitMs = 2_000
const restMs = 5_000
/** A standby further behind serves no sessions. */
const mostLagMs = 5_000
const loginWaitMs = 1_000
const pollMs = 25

/**
 * A server that a binding lists, and that may be a standby. Once it has left a question without an answer, it is not
 * asked for a while: callers do not wait.
 */
export class FollowedServer {
  /** `127.0.0.1:5432` */
  readonly name: string
  readonly database: Pick<Database, 'sql' | 'close'>
  /** By loss of a role, the sessions that go on: later ones have nothing that was lost. */
  readonly open = new Map<string, readonly Session[]>()
  #silentUntil = 0
  /** An end of the primary's log that it has not replayed at the last look, and when that was read. */
  #mark: { readonly at: number; readonly lsn: string } | null = null
  /** All that the primary had written then is replayed. */
  #caughtUpAt = Number.NEGATIVE_INFINITY

  constructor(name: string, database: Pick<Database, 'sql' | 'close'>) {
    this.name = name
    this.database = database
  }

  get isSilent(): boolean {
    return performance.now() < this.#silentUntil
  }

  /** Undefined where it does not answer in time, or refuses. */
  async ask<T>(question: (sql: Sql) => PromiseLike<T>, waitMs = limitMs): Promise<T | undefined> {
    if (this.isSilent) return undefined
    const answer = Promise.resolve(question(this.database.sql)).then(
      (value) => ({ value }),
      () => ({ value: undefined }),
    )
    const first = await within(waitMs, answer)
    if (!first) this.#silentUntil = performance.now() + restMs
    return first?.value
  }

  /** It is a standby that has replayed all of that, soon. */
  async catchesUp(mark: Mark): Promise<boolean> {
    for (const until = performance.now() + loginWaitMs; ; await pause()) {
      const [isThere] = (await this.#askReplayed(mark, [mark.lsn], loginWaitMs)) ?? []
      if (isThere) this.#caughtUpAt = performance.now()
      if (isThere !== false || performance.now() > until) return isThere ?? false
    }
  }

  /** It is a standby that is behind by less than the limit. */
  async isClose(mark: Mark): Promise<boolean> {
    const now = performance.now()
    const last = this.#mark ?? { at: now, lsn: mark.lsn }
    const [hasLast, hasAll] = (await this.#askReplayed(mark, [last.lsn, mark.lsn])) ?? []
    if (hasLast) this.#caughtUpAt = hasAll ? now : last.at
    this.#mark = hasAll ? null : hasLast ? { at: now, lsn: mark.lsn } : last
    return performance.now() - this.#caughtUpAt < mostLagMs
  }

  /**
   * For each position whether the standby has replayed it. Undefined: it cannot be asked or does not answer, is no
   * standby, or one of another cluster or of a primary that was replaced.
   */
  async #askReplayed(mark: Mark, lsns: readonly string[], waitMs?: number) {
    const seen = await this.ask((sql) => readPosition(sql, mark, lsns), waitMs)
    return seen?.isSame && seen.isStandby && seen.isCurrent ? seen.replayed : undefined
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, pollMs))
