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
  /** What an error may show before the transaction ends, each once. */
  readonly #exposed = new Map<string, Touch>()
  #exposedLength = 0
  /** There was more than that. */
  #isMoreExposed = false
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
    if (this.#exposed.has(touch.key)) return
    if (this.#exposed.size >= maxDifferent || this.#exposedLength + touch.key.length > maxLength) {
      this.#isMoreExposed = true
      return
    }
    this.#exposedLength += touch.key.length
    this.#exposed.set(touch.key, touch)
  }

  /** The server reported an error. It may be about any statement of the transaction. */
  fail(): void {
    for (const touch of this.#exposed.values()) this.count(touch)
    if (this.#isMoreExposed) this.countUnknown()
  }

  /** No statement is left that an error can be about. */
  settle(): void {
    this.#exposed.clear()
    this.#exposedLength = 0
    this.#isMoreExposed = false
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
