import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionEvent } from '../ports.ts'

interface ObservedQueueOptions {
  /** Those of the roles that would see masks, were the policy of the database enforced. */
  findWouldMask(databaseId: string, roles: readonly string[]): Promise<readonly string[]>
  /** Called with each event once, those of one database in their order. */
  pass(event: SessionEvent): void
  /** Called after events that waited were passed. */
  onAnswer(): void
  readonly answerMs?: number
}

interface Asked {
  /** Events that came before the question, and those that came since. */
  readonly waiting: SessionEvent[]
  readonly over: Promise<void>
}

/** Events of one database beyond these do not wait for its answer. */
const maxWaiting = 10_000

/**
 * Holds events until their database has said which roles would be masked: one question at a time for each database, and none that
 * events of others wait for. Without an answer the cautious one is that no role would be: then columns are recorded as read raw.
 */
export class ObservedQueue {
  readonly #options: ObservedQueueOptions
  readonly #asked = new Map<string, Asked>()

  constructor(options: ObservedQueueOptions) {
    this.#options = options
  }

  push(event: SessionEvent): void {
    const { id } = event.session.database
    const asked = this.#asked.get(id)
    if (asked && asked.waiting.length < maxWaiting) asked.waiting.push(event)
    else if (asked || !isAsked(event)) this.#options.pass(event)
    else {
      const waiting = [event]
      this.#asked.set(id, { waiting, over: Promise.resolve().then(() => this.#ask(id, waiting)) })
    }
  }

  /** Waits for answers that long, and passes on what still waits. */
  async drain(withinMs: number): Promise<void> {
    const all = Promise.all([...this.#asked.values()].map(({ over }) => over))
    await Promise.race([all, sleep(withinMs, undefined, { ref: false })])
    for (const { waiting } of this.#asked.values())
      for (const event of waiting.splice(0)) this.#options.pass(event)
  }

  async #ask(databaseId: string, waiting: SessionEvent[]): Promise<void> {
    while (waiting.length > 0) {
      const count = waiting.length
      const roles = new Set(waiting.filter(isAsked).map(({ session }) => session.role))
      const masked = roles.size > 0 ? await this.#find(databaseId, [...roles]) : []
      for (const event of waiting.splice(0, count)) {
        const isObserved = masked.includes(event.session.role)
        this.#options.pass(isAsked(event) ? { ...event, isObserved } : event)
      }
      this.#options.onAnswer()
    }
    this.#asked.delete(databaseId)
  }

  async #find(databaseId: string, roles: readonly string[]): Promise<readonly string[]> {
    const { findWouldMask, answerMs = 10_000 } = this.#options
    const answer = findWouldMask(databaseId, roles).catch(() => [])
    return await Promise.race([answer, sleep(answerMs, [], { ref: false })])
  }
}

function isAsked(event: SessionEvent): event is SessionEvent & { kind: 'touched' } {
  return event.kind === 'touched' && !event.session.database.isUnbound
}
