import { readFields } from '../../wire/messages.ts'
import { denyTouch, type Touch } from './touch.ts'

/** What an error says of the statement that it ended. */
export interface Failure {
  readonly isDenial: boolean
  /** It may hold values, or ended a function that may have shown some. */
  readonly mayShow: boolean
}

/** Of transactions, names of prepared statements, conflicts, resources and cancellation: these hold no value. */
const valueless = /^(25|26|40|53|57|55P03|42P0[3567])/
const insufficientPrivilege = '42501'

/**
 * Any function can raise any code with any text, but PostgreSQL adds the context of the function (W) or its query (q).
 * Without these, an error with a position in the text (P) came before the statement ran.
 */
export function readFailure(frame: Buffer): Failure {
  const fields = new Map(readFields(frame))
  const code = fields.get('C') ?? ''
  const isDenial = code === insufficientPrivilege
  const isNested = fields.has('W') || fields.has('q')
  return { isDenial, mayShow: isNested || !(isDenial || fields.has('P') || valueless.test(code)) }
}

/** A statement of a query, or an execution by messages, whose answer is pending. */
interface Run {
  readonly touches: readonly Touch[]
  /** Of the names of columns in these. */
  readonly length: number
  /** The segment that it was sent in: up to a Sync or a query. */
  readonly segment: number
  /** Which Bind of the segment, and how many Executes came before; of a query 0. */
  readonly bind: number
  readonly executesBefore: number
  /** Which Execute of the segment, or statement of the query, runs it; undefined: none yet. */
  execute: number | undefined
  /** Bound to a portal by name: any Execute may run it, so it counts when it is bound. */
  readonly isNamed: boolean
}

/** Runs of one session, and names of columns in them. Beyond, runs count when they are sent. */
const mostRuns = 10_000
const mostLength = 4_000_000

/** What statements touch, until the server has said what became of them. It answers in the order of the messages. */
export class PendingRuns {
  readonly #count: (touch: Touch) => void
  readonly #isLost: () => boolean
  readonly #runs = new Set<Run>()
  #length = 0
  /** Of the message that is being looked at, by the statement of its text. */
  #found: Touch[][] = []
  /** Segments that were sent, and those of them that are over. */
  #sent = 0
  #over = 0
  /** Binds and Executes sent in the open segment, and those answered in the first segment that is not over. */
  #binds = 0
  #executes = 0
  #bound = 0
  #done = 0
  /** The last Bind of the open segment to the portal without a name. */
  #last: Run | undefined

  /** `isLost`: answers cannot be attributed any more, so everything counts as if it ran. */
  constructor(count: (touch: Touch) => void, isLost: () => boolean) {
    this.#count = count
    this.#isLost = isLost
  }

  /** The number of the open segment. */
  get segment(): number {
    return this.#sent
  }

  /** No fewer segments are over than were answered. */
  get over(): number {
    return this.#over
  }

  /** The message that is being looked at touches this by a statement of its text. */
  find(touch: Touch, at = 0): void {
    const known = this.#found[at]
    if (known) known.push(touch)
    else this.#found[at] = [touch]
  }

  /** The server is certain to skip the message. */
  skip(): void {
    this.#found = []
  }

  sendQuery(): void {
    if (this.#found.length === 0) return
    this.#found.forEach((touches, at) => {
      this.#add(touches, 0, at + 1, false)
    })
    this.#found = []
  }

  sendBind(isNamed: boolean): void {
    this.#binds++
    if (!isNamed) this.#replaceLast()
    if (this.#found.length === 0) return
    const touches = this.#found.flat()
    this.#found = []
    const run = this.#add(touches, this.#binds, undefined, isNamed)
    if (!isNamed) this.#last = run
  }

  sendExecute(isNamed: boolean): void {
    this.#executes++
    if (!isNamed && this.#last) this.#last.execute ??= this.#executes
  }

  /** A message was sent that ReadyForQuery answers, unless the server skips or ignores the message. */
  endSegment(): void {
    this.#sent++
    this.#binds = 0
    this.#executes = 0
    this.#last = undefined
  }

  hearBound(): void {
    this.#bound++
    this.#settle(({ bind, isNamed }) => isNamed && bind === this.#bound)
  }

  /** Rows, data of a COPY or a notice passed to the client. */
  hearShown(): void {
    if (this.#runs.size > 0) this.#settle(({ execute }) => execute === this.#done + 1)
  }

  /** A statement of a query, or an Execute, is done. */
  hearDone(): void {
    this.#done++
    this.#settle(({ execute }) => execute === this.#done)
  }

  /** The server skips the rest of the segment. */
  hearError({ isDenial, mayShow }: Failure): void {
    if (this.#settleLost()) return
    for (const run of this.#runs) {
      if (run.segment !== this.#over) return
      this.#delete(run)
      const isBound = run.bind <= this.#bound
      const isNext = isBound ? run.execute === this.#done + 1 : this.#isNextBind(run)
      if (isNext && isBound && mayShow) run.touches.forEach(this.#count)
      else if (isNext && isDenial) for (const touch of run.touches) this.#count(denyTouch(touch))
    }
  }

  /**
   * ReadyForQuery. Each answers one message that ends a segment, in order, whichever the server skipped. `ignored`: so
   * many more are over, which the server is certain to have ignored.
   */
  hearReady(ignored: number): void {
    this.#over = Math.min(this.#over + 1 + ignored, this.#sent)
    this.#bound = 0
    this.#done = 0
    if (this.#settleLost()) return
    for (const run of this.#runs) {
      if (run.segment >= this.#over) return
      this.#finish(run)
    }
  }

  /** What became of these is not known. */
  settleAll(): void {
    for (const run of this.#runs) this.#finish(run)
  }

  #settleLost(): boolean {
    const isLost = this.#isLost()
    if (isLost) this.settleAll()
    return isLost
  }

  #add(touches: readonly Touch[], bind: number, execute: number | undefined, isNamed: boolean): Run {
    const executesBefore = bind > 0 ? this.#executes : 0
    let length = 0
    for (const { key } of touches) length += key.length
    const run = { touches, length, segment: this.#sent, bind, executesBefore, execute, isNamed }
    this.#runs.add(run)
    this.#length += length
    if (this.#runs.size > mostRuns || this.#length > mostLength || this.#isLost()) this.#finish(run)
    return run
  }

  /** The portal without a name is another one from now on: one that was not executed never will be. */
  #replaceLast(): void {
    if (this.#last && this.#last.execute === undefined) this.#delete(this.#last)
    this.#last = undefined
  }

  #isNextBind({ bind, executesBefore }: Run): boolean {
    return bind === this.#bound + 1 && executesBefore <= this.#done
  }

  /** Counts the first run of the present segment to which this applies. Runs stand in the order of their answers. */
  #settle(applies: (run: Run) => boolean): void {
    if (this.#settleLost()) return
    for (const run of this.#runs) {
      const { segment, bind, execute = 0 } = run
      if (segment !== this.#over || bind > this.#bound || execute > this.#done + 1) return
      if (!applies(run)) continue
      this.#finish(run)
      return
    }
  }

  #delete(run: Run): void {
    if (this.#runs.delete(run)) this.#length -= run.length
  }

  #finish(run: Run): void {
    this.#delete(run)
    run.touches.forEach(this.#count)
  }
}
