import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { SessionEvent, SessionRecord } from '../ports.ts'
import { SessionTouches } from './session-touches.ts'
import type { Touched } from './touch.ts'

export interface AuditWriterOptions {
  record(events: readonly SessionEvent[]): Promise<void>
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
  #waiting: SessionEvent[] = []
  #writing: Promise<void> | undefined
  #isAway = false
  #lost = 0

  constructor(options: AuditWriterOptions) {
    this.#options = options
    this.#repeatMs = options.repeatMs ?? 60_000
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
        this.#wait({ kind: 'ended', session, at: new Date(), seconds, statements })
      },
    }
  }

  /** Writes what there is, as far as the store takes it. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.race([this.#writing, sleep(closeMs, undefined, { ref: false })])
    for (const page of this.#pages) this.#take(page)
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
    this.#wait({ kind: 'touched', session: page.session, at: new Date(), ...touched })
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
      const batch = this.#waiting.splice(0, maxBatch)
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
