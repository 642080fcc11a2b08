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

  /** A statement is sent in this segment whose transaction may fail with these values in the error. */
  expose(touch: Touch, segment: number): void {
    const known = this.#exposed.get(touch.key)
    if (known) {
      known.segment = segment
      return
    }
    if (this.#exposed.size >= maxDifferent || this.#exposedLength + touch.key.length > maxLength) {
      this.#moreExposedIn = segment
      return
    }
    this.#exposedLength += touch.key.length
    this.#exposed.set(touch.key, { touch, segment })
  }

  /** The server reported an error that may hold values. It may be about any statement of the transaction. */
  fail(): void {
    for (const { touch } of this.#exposed.values()) this.count(touch)
    if (this.#moreExposedIn !== undefined) for (const { touch } of unparsed) if (touch) this.count(touch)
  }

  /** No transaction is open, and no error can be about segments before this one any more. */
  hearIdle(over: number): void {
    for (const [key, { segment }] of this.#exposed) {
      if (segment >= over) continue
      this.#exposed.delete(key)
      this.#exposedLength -= key.length
    }
    if (this.#moreExposedIn !== undefined && this.#moreExposedIn < over) this.#moreExposedIn = undefined
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
