import { type Touch, type Touched, unparsed } from './touch.ts'

/** Different things that a session touches between two entries of the audit. */
const maxDifferent = 100
/** Names of columns that they have together. Names come from the database, in any length and number. */
const maxLength = 2_000_000
const maxReported = 1_000

/** Columns that the statements of one session touched, until they are written to the audit. */
export class SessionTouches {
  readonly #onFirst: () => void
  readonly #reported = new Set<string>()
  #counts = new Map<string, { touch: Touch; count: number }>()
  #length = 0
  #leftOut = 0
  #hasNew = false
  /** What an error may show before the transaction ends, each once, with the last segment that it ran in. */
  readonly #exposed = new Map<string, { readonly touch: Touch; segment: number }>()
  #exposedLength = 0
  /** The last segment with more than that. */
  #moreExposedIn: number | undefined
  /** Segments that were sent, each up to a message that ReadyForQuery answers, and those of them that are over. */
  #segments = 0
  #over = 0
  /** How many statements ran. */
  statements = 0

  /** `onFirst`: there is something to write down. */
  constructor(onFirst: () => void) {
    this.#onFirst = onFirst
  }

  /** Something that this session has not been seen to touch yet. */
  get hasNew(): boolean {
    return this.#hasNew
  }

  take(): Touched {
    const touches = [...this.#counts.values()].map(({ touch: { key: _, ...rest }, count }) => ({
      ...rest,
      count,
    }))
    if (this.#reported.size + this.#counts.size > maxReported) this.#reported.clear()
    for (const key of this.#counts.keys()) this.#reported.add(key)
    const leftOut = this.#leftOut
    this.#counts = new Map()
    this.#length = 0
    this.#leftOut = 0
    this.#hasNew = false
    return { touches, leftOut }
  }

  /** A statement ran that may have touched anything. */
  countUnknown(): void {
    for (const { touch } of unparsed) if (touch) this.count(touch)
  }

  /** A statement runs whose transaction may fail with these values in the error. */
  expose(touch: Touch): void {
    const known = this.#exposed.get(touch.key)
    if (known) {
      known.segment = this.#segments
      return
    }
    if (this.#exposed.size >= maxDifferent || this.#exposedLength + touch.key.length > maxLength) {
      this.#moreExposedIn = this.#segments
      return
    }
    this.#exposedLength += touch.key.length
    this.#exposed.set(touch.key, { touch, segment: this.#segments })
  }

  /** The server reported an error. It may be about any statement of the transaction. */
  fail(): void {
    for (const { touch } of this.#exposed.values()) this.count(touch)
    if (this.#moreExposedIn !== undefined) this.countUnknown()
  }

  /** A message was sent that ReadyForQuery answers, unless the server skips or ignores the message. */
  endSegment(): void {
    this.#segments++
  }

  /**
   * ReadyForQuery. Each answers one such message, in order. So no fewer segments are over than were answered, whichever the server
   * skipped; `ignored`: so many more. `isIdle`: no transaction is open, and no error can be about these any more.
   */
  hearReady(isIdle: boolean, ignored: number): void {
    this.#over = Math.min(this.#over + 1 + ignored, this.#segments)
    if (!isIdle) return
    for (const [key, { segment }] of this.#exposed) {
      if (segment >= this.#over) continue
      this.#exposed.delete(key)
      this.#exposedLength -= key.length
    }
    if (this.#moreExposedIn !== undefined && this.#moreExposedIn < this.#over) this.#moreExposedIn = undefined
  }

  count(touch: Touch): void {
    const known = this.#counts.get(touch.key)
    if (known) {
      known.count++
      return
    }
    // An entry is begun by what it leaves out, too.
    if (this.#counts.size === 0 && this.#leftOut === 0) this.#onFirst()
    if (this.#counts.size >= maxDifferent || this.#length + touch.key.length > maxLength) {
      this.#leftOut++
      return
    }
    this.#length += touch.key.length
    this.#counts.set(touch.key, { touch, count: 1 })
    this.#hasNew ||= !this.#reported.has(touch.key)
  }
}
