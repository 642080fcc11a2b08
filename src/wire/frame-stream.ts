import { violation } from './refusal.ts'

export interface FrameStreamOptions {
  /** Types that `look` wants to see whole; everything else passes by its header alone. */
  readonly watched: string
  /** A watched frame that is longer passes unseen: nobody makes us hold it. */
  readonly watchLimit: number
  readonly maxLength: number
  /** Undefined: every type. */
  readonly allowed?: string
  /** What to send instead; undefined: the frame as it is. */
  look(type: string, frame: Buffer): Buffer | undefined
}

const headBytes = 5

/** Cuts a stream of typed messages into frames as they come, holding no more than a watched one. */
export class FrameStream {
  readonly #options: FrameStreamOptions
  readonly #watched = new Uint8Array(256)
  readonly #allowed = new Uint8Array(256)
  readonly #head = Buffer.alloc(headBytes)
  #headFilled = 0
  /** A watched frame that is not complete yet. */
  #frame: Buffer | undefined
  #frameFilled = 0
  /** What is left of a frame that passes. */
  #passing = 0

  constructor(options: FrameStreamOptions) {
    this.#options = options
    for (const type of options.watched) this.#watched[type.charCodeAt(0)] = 1
    if (options.allowed === undefined) this.#allowed.fill(1)
    else for (const type of options.allowed) this.#allowed[type.charCodeAt(0)] = 1
  }

  /** Nothing of a frame has been passed on whose rest is missing. */
  get isBetweenFrames(): boolean {
    return this.#passing === 0
  }

  /** The bytes to send on, in order. */
  push(chunk: Buffer): Buffer[] {
    const out: Buffer[] = []
    let at = 0
    let kept = 0
    const flush = (to: number) => {
      if (to > kept) out.push(chunk.subarray(kept, to))
    }
    while (at < chunk.length) {
      if (this.#passing > 0) {
        const step = Math.min(this.#passing, chunk.length - at)
        this.#passing -= step
        at += step
      } else if (this.#frame || this.#headFilled > 0 || chunk.length - at < headBytes) {
        flush(at)
        at = this.#gather(chunk, at, out)
        kept = at
      } else {
        const length = this.#check(chunk[at] ?? 0, chunk.readUInt32BE(at + 1))
        if (!this.#isWatched(chunk[at] ?? 0, length)) this.#passing = length + 1
        else if (chunk.length - at > length) {
          const whole = chunk.subarray(at, at + length + 1)
          const other = this.#look(whole)
          if (other) {
            flush(at)
            out.push(other)
            kept = at + whole.length
          }
          at += whole.length
        } else {
          flush(at)
          at = this.#gather(chunk, at, out)
          kept = at
        }
      }
    }
    flush(at)
    return out
  }

  /** Takes what a frame still lacks. Returns where it stopped. */
  #gather(chunk: Buffer, from: number, out: Buffer[]): number {
    let at = from
    if (!this.#frame) {
      const step = chunk.copy(this.#head, this.#headFilled, at, at + headBytes - this.#headFilled)
      this.#headFilled += step
      at += step
      if (this.#headFilled < headBytes) return at
      const type = this.#head[0] ?? 0
      const length = this.#check(type, this.#head.readUInt32BE(1))
      this.#headFilled = 0
      if (!this.#isWatched(type, length)) {
        out.push(Buffer.from(this.#head))
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
      out.push(this.#look(whole) ?? whole)
    }
    return at + step
  }

  #check(type: number, length: number): number {
    if (this.#allowed[type] === 0) violation(`invalid message type ${type}`)
    if (length < 4 || length > this.#options.maxLength) violation('invalid message length')
    return length
  }

  #isWatched(type: number, length: number): boolean {
    return this.#watched[type] === 1 && length <= this.#options.watchLimit
  }

  #look(frame: Buffer): Buffer | undefined {
    return this.#options.look(String.fromCharCode(frame[0] ?? 0), frame)
  }
}
