import { refuse, violation } from './refusal.ts'

export interface FrameStreamOptions {
  /** Types that `look` wants to see whole; everything else passes by its header alone. */
  readonly watched: string
  /** Types that pass like others, and of whose beginning `note` is told. */
  readonly noted?: string
  /** A longer watched frame passes unseen, so that a client cannot make the gateway buffer it. */
  readonly watchLimit: number
  readonly maxLength: number
  /** Undefined: every type. */
  readonly allowed?: string
  /**
   * Returns the bytes to send instead of the frame at `from`; undefined: the frame as it is. Called for every
   * statement, so it takes the type's code and no buffer is made for the frame.
   */
  look(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined
  note?(): void
  /** A watched frame is too long to be seen. Returns whether it is left out; it passes otherwise. */
  miss(type: number): boolean
}

const headBytes = 5
/** PostgreSQL's limit: a longer frame is not a message. */
export const longest = 0x3fffffff

/** How a type of message is handled; 0: refused. */
const passes = 1
const watched = 2
const noted = 3

/** Cuts a stream of typed messages into frames as they come, holding no more than a watched one. */
export class FrameStream {
  readonly #options: FrameStreamOptions
  readonly #kinds = new Uint8Array(256)
  /** The header of a frame whose first bytes came alone. */
  readonly #head = Buffer.alloc(headBytes)
  #headFilled = 0
  /** A watched frame that is not complete yet. */
  #frame: Buffer | undefined
  #frameFilled = 0
  /** Bytes left of a frame that passes, or is left out. */
  #passing = 0
  #isLeftOut = false

  constructor(options: FrameStreamOptions) {
    this.#options = options
    if (options.allowed === undefined) this.#kinds.fill(passes)
    else for (const type of options.allowed) this.#kinds[type.charCodeAt(0)] = passes
    for (const type of options.watched) this.#kinds[type.charCodeAt(0)] = watched
    for (const type of options.noted ?? '') this.#kinds[type.charCodeAt(0)] = noted
  }

  /** Nothing of a frame has been passed on whose rest is missing. */
  get isBetweenFrames(): boolean {
    const isPassing = this.#passing > 0 && !this.#isLeftOut
    return !isPassing && (this.#headFilled === 0 || this.#isHolding())
  }

  /** The bytes to send on: mostly the chunk itself. */
  push(chunk: Buffer): Buffer | undefined {
    const { maxLength, watchLimit } = this.#options
    const kinds = this.#kinds
    const end = chunk.length
    let pieces: Buffer[] | undefined
    let at = 0
    let kept = 0
    if (this.#isHolding()) {
      pieces = []
      at = this.#gather(chunk, 0, pieces)
      kept = at
    } else if (this.#headFilled > 0) at = this.#completeHead(chunk)
    if (this.#passing > 0) {
      const step = Math.min(this.#passing, end - at)
      this.#passing -= step
      at += step
      if (this.#isLeftOut) {
        pieces ??= []
        kept = at
      }
    }
    while (at < end) {
      const type = chunk[at] ?? 0
      const kind = kinds[type]
      const isWhole = end - at >= headBytes
      const length = isWhole ? chunk.readUInt32BE(at + 1) : headBytes
      if (kind === 0) violation(`invalid message type ${type}`)
      if (length < 4 || length > maxLength) refuseLength(length, maxLength)
      const to = at + length + 1
      if (kind === noted) this.#options.note?.()
      if (isWhole && (kind !== watched || length > watchLimit)) {
        this.#isLeftOut = kind === watched && this.#options.miss(type)
        if (this.#isLeftOut) {
          pieces ??= []
          if (at > kept) pieces.push(chunk.subarray(kept, at))
          kept = Math.min(to, end)
        }
        at = to
      } else if (kind !== watched) {
        this.#headFilled = chunk.copy(this.#head, 0, at)
        at = end
      } else if (isWhole && to <= end) {
        const other = this.#options.look(type, chunk, at, to)
        if (other) {
          pieces ??= []
          if (at > kept) pieces.push(chunk.subarray(kept, at))
          pieces.push(other)
          kept = to
        }
        at = to
      } else {
        pieces ??= []
        if (at > kept) pieces.push(chunk.subarray(kept, at))
        at = this.#gather(chunk, at, pieces)
        kept = at
      }
    }
    if (at > end) this.#passing = at - end
    if (!pieces) return chunk
    if (kept < end) pieces.push(chunk.subarray(kept))
    return pieces.length > 1 ? Buffer.concat(pieces) : pieces[0]
  }

  /** True while part of a watched frame is buffered and not yet passed on. */
  #isHolding(): boolean {
    return this.#frame !== undefined || (this.#headFilled > 0 && this.#kinds[this.#head[0] ?? 0] === watched)
  }

  /** Reads on in the header of a frame that passes. Returns where it stopped. */
  #completeHead(chunk: Buffer): number {
    const step = chunk.copy(this.#head, this.#headFilled, 0, headBytes - this.#headFilled)
    this.#headFilled += step
    if (this.#headFilled === headBytes) {
      this.#isLeftOut = false
      this.#passing = this.#takeLength() - 4
    }
    return step
  }

  /** Takes what a watched frame still lacks. Returns where it stopped. */
  #gather(chunk: Buffer, from: number, out: Buffer[]): number {
    let at = from
    if (!this.#frame) {
      const step = chunk.copy(this.#head, this.#headFilled, at, at + headBytes - this.#headFilled)
      this.#headFilled += step
      at += step
      if (this.#headFilled < headBytes) return at
      const length = this.#takeLength()
      if (length > this.#options.watchLimit) {
        this.#isLeftOut = this.#options.miss(this.#head[0] ?? 0)
        if (!this.#isLeftOut) out.push(Buffer.from(this.#head))
        this.#passing = length - 4
        return at
      }
      this.#frame = Buffer.alloc(length + 1)
      this.#frameFilled = this.#head.copy(this.#frame)
    }
    const step = chunk.copy(this.#frame, this.#frameFilled, at)
    this.#frameFilled += step
    if (this.#frameFilled === this.#frame.length) {
      const whole = this.#frame
      this.#frame = undefined
      out.push(this.#options.look(whole[0] ?? 0, whole, 0, whole.length) ?? whole)
    }
    return at + step
  }

  #takeLength(): number {
    this.#headFilled = 0
    const length = this.#head.readUInt32BE(1)
    const { maxLength } = this.#options
    if (length < 4 || length > maxLength) refuseLength(length, maxLength)
    return length
  }
}

function refuseLength(length: number, limit: number): never {
  if (length < 4 || length > longest) violation('invalid message length')
  return refuse('MessageTooLong', { bytes: String(length), limit: String(limit) })
}
