import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { SessionEvent, SessionRecord } from '../ports.ts'
import { ObservedQueue } from './observed-queue.ts'
import { SessionTouches } from './session-touches.ts'
import type { Touched } from './touch.ts'

export interface AuditWriterOptions {
  record(events: readonly SessionEvent[]): Promise<void>
  /** Those of the roles that would see masks, were the policy of the database enforced. */
  findWouldMask(databaseId: string, roles: readonly string[]): Promise<readonly string[]>
  /** Called before a session's touched columns are written to the audit. */
  onTouched(touched: Touched): void
  onLost(count: number): void
  readonly log: Logger
  readonly everyMs?: number
  readonly repeatMs?: number
}

export interface OpenSession {
  readonly touches: SessionTouches
  end(): void
}

interface Page {
  readonly session: SessionRecord
  readonly touches: SessionTouches
  writtenAt: number
}

/** Cap on the events that wait while the store is unavailable. */
const maxWaiting = 10_000
const maxBatch = 500
/** Of the names of columns in a batch: the store takes 256 MB in one value. */
const maxBatchLength = 16_000_000
const closeMs = 2_000

/**
 * Writes the touched columns of all sessions to the audit in batches: new ones within a second, repeated ones once a
 * minute. No statement waits for it.
 */
export class AuditWriter {
  readonly #options: AuditWriterOptions
  readonly #repeatMs: number
  readonly #timer: NodeJS.Timeout
  /** Sessions that touched something. */
  readonly #pages = new Set<Page>()
  readonly #observed: ObservedQueue
  #waiting: SessionEvent[] = []
  #writing: Promise<void> | undefined
  #isAway = false
  #lost = 0

  constructor(options: AuditWriterOptions) {
    this.#options = options
    this.#repeatMs = options.repeatMs ?? 60_000
    this.#observed = new ObservedQueue({
      findWouldMask: (databaseId, roles) => options.findWouldMask(databaseId, roles),
      pass: (event) => this.#wait(event),
      onAnswer: () => void this.#write(),
    })
    this.#timer = setInterval(() => void this.#tick(), options.everyMs ?? 1_000).unref()
  }

  open(session: SessionRecord): OpenSession {
    const startedAt = Date.now()
    const page: Page = { session, touches: new SessionTouches(() => this.#pages.add(page)), writtenAt: 0 }
    return {
      touches: page.touches,
      end: () => {
        this.#take(page)
        const { statements } = page.touches
        const seconds = (Date.now() - startedAt) / 1000
        this.#observed.push({ kind: 'ended', session, at: new Date(), seconds, statements })
      },
    }
  }

  /** Writes what there is, as far as the store takes it. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.race([this.#writing, sleep(closeMs, undefined, { ref: false })])
    for (const page of this.#pages) this.#take(page)
    await this.#observed.drain(closeMs)
    await Promise.race([this.#write(), sleep(closeMs, undefined, { ref: false })])
    this.#lost += this.#waiting.length
    this.#tellLost()
  }

  async #tick(): Promise<void> {
    if (this.#writing) return
    const now = Date.now()
    for (const page of this.#pages)
      if (page.touches.hasNew || now - page.writtenAt >= this.#repeatMs) this.#take(page)
    await this.#write()
  }

  #take(page: Page): void {
    if (!this.#pages.delete(page)) return
    const touched = page.touches.take()
    page.writtenAt = Date.now()
    this.#options.onTouched(touched)
    this.#observed.push({ kind: 'touched', session: page.session, at: new Date(), ...touched })
  }

  #wait(event: SessionEvent): void {
    this.#waiting.push(event)
    if (this.#waiting.length <= maxWaiting) return
    this.#waiting.shift()
    this.#lost++
    this.#options.onLost(1)
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, countBatch(this.#waiting))
      try {
        await this.#options.record(batch)
        this.#isAway = false
        this.#tellLost()
      } catch (err) {
        this.#waiting.unshift(...batch)
        if (!this.#isAway)
          this.#options.log.error({ err }, 'the audit of the gateway cannot be written; it waits')
        this.#isAway = true
        return
      }
    }
  }

  #tellLost(): void {
    const count = this.#lost
    this.#lost = 0
    if (count > 0) this.#options.log.error({ count }, 'entries of the audit of the gateway were lost')
  }
}

/** How many of the first events are written together; at least one. */
function countBatch(events: readonly SessionEvent[]): number {
  let length = 0
  const over = events.slice(0, maxBatch).findIndex((event, at) => {
    length += lengthOf(event)
    return at > 0 && length > maxBatchLength
  })
  return over < 0 ? maxBatch : over
}

function lengthOf(event: SessionEvent): number {
  if (event.kind === 'ended') return 0
  const columns = event.touches.flatMap(({ masked, raw, written, denied }) => [
    ...masked,
    ...raw,
    ...written,
    ...denied,
  ])
  return columns.reduce((sum, column) => sum + column.length, 0)
}
