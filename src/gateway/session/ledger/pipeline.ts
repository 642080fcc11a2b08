import { mapPosition } from '../../../sql/splice.ts'
import { type Field, readFields, writeFields } from '../../../wire/messages.ts'
import { refuse } from '../../../wire/refusal.ts'
import type { SentText, StatementRefusal } from '../../rewrite/text-analysis.ts'
import type { PreparedStatement } from './prepared-statement.ts'

/** A message that the server has not answered yet. */
interface Sent {
  /** ReadyForQuery will answer it. */
  readonly ends: boolean
  readonly rewritten: SentText | undefined
  /** The client does not know of it. */
  readonly isOurs?: true
  /** A Sync: the server does not answer it while it takes in a COPY. */
  readonly isSync?: true
  /** So many CopyDone and CopyFail in a row, which the server does not answer. */
  copyEnds?: number
  /** The statement that the server has once it answers. */
  readonly prepared?: PreparedStatement | undefined
  /** Statements that the query prepares by PREPARE, in order. */
  readonly prepares?: (PreparedStatement | undefined)[] | undefined
  /** The statement that the server has closed once it answers. */
  readonly closes?: PreparedStatement | undefined
  /** The gateway sent it, but the client hears of its failure: the client wanted to use the statement. */
  readonly isRenewal?: true
  /** The statement that is prepared again. */
  readonly renews?: PreparedStatement | undefined
  /** Its text was changed, and the gateway does not hold it. */
  readonly isForgotten?: true
  /** Of texts and of touches that it makes the gateway hold, when it was sent. */
  textBytes?: number
  touchBytes?: number
}

/** Texts of unanswered statements of one session. Errors about statements beyond carry no position. */
const maxHeldBytes = 4 << 20
/** What unanswered statements of one session touch. Of statements beyond, further runs may touch anything. */
const maxTouchBytes = 4 << 20
/** The server never answers the end of a COPY that did not begin: a client that sends more desynchronises its own session. */
const maxCopyEnds = 1_000
/**
 * Messages of one session that wait for an answer, and statements of PREPARE in them. A client that pipelines does not come
 * near: messages of 40 bytes and more that a server has not read fill the buffers of the network first.
 */
export const maxUnanswered = 200_000
/** A pipeline that never runs empty is cut when so many messages of it, and half of it, were answered. */
const compactAt = 1_000

const syntaxError = '42601'

const last: Sent = { ends: true, rewritten: undefined }
const unended: Sent = { ends: false, rewritten: undefined }
const sync: Sent = { ends: true, rewritten: undefined, isSync: true }
const own: Sent = { ends: true, rewritten: undefined, isOurs: true }

/** Messages in the order in which the server will answer them: tells which of them an answer or an error is about. */
export class Pipeline {
  readonly #onSkipped: (statement: PreparedStatement) => void
  #sent: Sent[] = []
  /** How many of them were answered. */
  #done = 0
  /** The server takes in a COPY whose end the client has not sent. */
  #isCopying = false
  /** After an error of the extended protocol the server ignores everything before the next Sync. */
  #isSkipping = false
  #heldBytes = 0
  #touchBytes = 0
  /** Statements of PREPARE in queries that were not answered. */
  #preparing = 0
  #copyEnds = 0
  /** Syncs within the COPY that runs. The server ignores them, unless the COPY fails before it reads them. */
  #ignored = 0
  /** Messages of the extended protocol that no Sync has followed yet. */
  #isOpen = false
  #isMixed = false
  #isQuiet = true

  /** `onSkipped` hears of every statement that the server did not prepare. */
  constructor(onSkipped: (statement: PreparedStatement) => void = () => {}) {
    this.#onSkipped = onSkipped
  }

  /** The server will say when it is ready: it is at work, or waits for the data of a COPY. */
  get isAwaited(): boolean {
    if (this.#isMixed) return !this.#isQuiet
    return this.#sent.slice(this.#done).some(({ ends }) => ends)
  }

  /**
   * The client once sent a simple query behind messages without a Sync, a Sync within a COPY that failed or was under way, another message
   * within a COPY, or more ends of COPYs than are held, which drivers hardly do. The gateway cannot tell whether an error skips that
   * query, or the COPY takes that message, so it cannot attribute answers any more.
   */
  get isMixed(): boolean {
    return this.#isMixed
  }

  /** The server will ignore what is sent now. */
  get isSkipping(): boolean {
    return this.#isSkipping
  }

  /** The server has answered everything. */
  get isDone(): boolean {
    return this.#first() === undefined
  }

  /** The next answer is to a query of the gateway. */
  get isOurs(): boolean {
    return this.#first()?.isOurs === true
  }

  /** A message of the extended protocol whose answer does not matter here. */
  sendOpen(): void {
    this.#isMixed ||= this.#isCopying
    this.#isOpen = true
    this.#isQuiet = false
  }

  /** A message that ReadyForQuery will answer. */
  sendLast(rewritten?: SentText, prepares?: (PreparedStatement | undefined)[]): void {
    this.#isMixed ||= this.#isOpen || this.#isCopying
    this.#send(rewritten || prepares ? { ends: true, rewritten, prepares } : last)
  }

  sendSync(): void {
    this.#isSkipping = false
    this.#isOpen = false
    this.#isQuiet = false
    // The server ignores it, unless the COPY has failed by then: it is not known whether it answers.
    if (this.#isCopying) this.#isMixed = true
    else this.#send(sync)
  }

  sendCopyEnd(): void {
    if (!this.#isCopying && this.#copyEnds < maxCopyEnds)
      this.#send({ ends: false, rewritten: undefined, copyEnds: 1 })
    else if (!this.#isCopying) this.#isMixed = true
    this.#isCopying = false
  }

  sendParse(rewritten: SentText | undefined, prepared?: PreparedStatement): void {
    this.#send(rewritten || prepared ? { ends: false, rewritten, prepared } : unended)
  }

  sendClose(closes?: PreparedStatement): void {
    this.#send(closes ? { ends: false, rewritten: undefined, closes } : unended)
  }

  /** Close and Parse of the gateway's own before a message of the client. */
  sendRenewal(renews: PreparedStatement, rewritten: SentText | undefined): void {
    this.#send({ ends: false, rewritten: undefined, isRenewal: true })
    this.#send({ ends: false, rewritten, renews, isRenewal: true })
  }

  /** A query of the gateway's own: the client does not get its answer. */
  sendOwn(): void {
    this.#send(own)
  }

  /**
   * The server takes in a COPY: it answers no Sync before the end of that. Any other message ends the COPY by an error. What it
   * looks at is dropped, so that a server that repeats itself finds nothing to look at again.
   */
  copying(): void {
    const sent = this.#sent
    let at = this.#done
    // By messages, all before the Execute that copies was answered.
    const first = this.#first()
    const query = first?.ends && !first.isSync ? first : undefined
    if (query) at = this.#passCopyEnds() + 1
    for (; sent[at]?.isSync; at++) this.#ignored++
    const end = sent[at]
    this.#isCopying = end === undefined
    this.#isMixed ||= end ? !end.copyEnds : query !== undefined && this.#isOpen
    if (end?.copyEnds) {
      this.#copyEnds--
      if (--end.copyEnds === 0) at++
    }
    if (query) sent[--at] = query
    this.#done = at
    this.#trim()
  }

  /** An error ends a COPY, too. Outside of a simple query the server ignores everything before the next Sync. */
  failed(): void {
    this.#isCopying = false
    this.#isMixed ||= this.#ignored > 0
    this.#ignored = 0
    const first = this.#first()
    if (first?.ends && !first.isSync) return
    for (let one = first; one && !one.isSync; one = this.#first()) this.#skipFirst(one)
    this.#isSkipping = this.#first() === undefined
  }

  /** The Parse or Close that ParseComplete or CloseComplete answers. */
  answered(): Sent | undefined {
    const first = this.#first()
    if (first?.ends !== false) return undefined
    this.#finishFirst()
    return first
  }

  /** The statement that the tag PREPARE is about; undefined: it is not known which. */
  answeredPrepare(): PreparedStatement | undefined {
    const prepares = this.#first()?.prepares
    if (!prepares || prepares.length === 0) return undefined
    this.#preparing--
    return prepares.shift()
  }

  /** Returns how many Syncs the server is certain to have ignored: the COPY that they stood in did not fail. */
  ready(): number {
    const ignored = this.#isMixed ? 0 : this.#ignored
    this.#ignored = 0
    this.#isQuiet = true
    this.#isSkipping = false
    this.#isCopying = false
    for (let one = this.#first(); one?.ends === false; one = this.#first()) this.#skipFirst(one)
    const answered = this.#first()
    if (answered) this.#skipFirst(answered)
    return ignored
  }

  /**
   * The same error or notice about the client's own text. Outside of texts it is about a statement that was prepared before,
   * and it is not known which: its position may be wrong, and is left out if `mayBeMoved`.
   */
  correct(frame: Buffer, mayBeMoved: boolean): Buffer | undefined {
    const first = this.#first()
    const rewritten = first?.rewritten
    const isKnown = first !== undefined && !first.isSync && !first.isForgotten
    if (!rewritten && (isKnown || !(mayBeMoved || first?.isForgotten))) return undefined
    const refusal = rewritten?.refusal
    const own = readFields(frame)
    if (refusal && own.some(([code, text]) => code === 'C' && text === syntaxError))
      return writeFields(frame.toString('latin1', 0, 1), explain(own, refusal))
    const fields = own.flatMap((field): Field[] => {
      const [code, text] = field
      if (code !== 'P') return [field]
      return rewritten ? [[code, String(mapPosition(rewritten, Number(text)))]] : []
    })
    return writeFields(frame.toString('latin1', 0, 1), fields)
  }

  #send(one: Sent): void {
    this.#isQuiet = false
    if (!one.ends && !one.copyEnds) this.sendOpen()
    if (this.#isSkipping) {
      this.#skip(one)
      return
    }
    const prepares = one.prepares?.length ?? 0
    if (this.#sent.length - this.#done + this.#preparing + prepares >= maxUnanswered)
      refuse('TooManyUnanswered', { limit: String(maxUnanswered) })
    this.#preparing += prepares
    if (one.copyEnds) {
      this.#copyEnds++
      const before = this.#sent.at(-1)
      if (before?.copyEnds) {
        before.copyEnds++
        return
      }
    }
    this.#sent.push(this.#hold(one))
  }

  /** The message with as much of its texts and touches as the gateway holds. */
  #hold(one: Sent): Sent {
    const touches = touchBytesOf(one)
    if (touches > 0 && this.#touchBytes + touches > maxTouchBytes) {
      one.prepared?.forgetTouches()
      for (const statement of one.prepares ?? []) statement?.forgetTouches()
    } else if (touches > 0) {
      one.touchBytes = touches
      this.#touchBytes += touches
    }
    const size = textBytesOf(one)
    if (size > 0 && this.#heldBytes + size > maxHeldBytes) {
      if (one.prepared) one.prepared.text = undefined
      const isForgotten = one.rewritten && ({ isForgotten: true } as const)
      return { ...one, rewritten: undefined, ...isForgotten }
    }
    if (size > 0) {
      one.textBytes = size
      this.#heldBytes += size
    }
    return one
  }

  /** The server does not answer the end of a COPY: it stays until the message behind it is answered. */
  #first(): Sent | undefined {
    const one = this.#sent[this.#done]
    return one?.copyEnds ? this.#sent[this.#done + 1] : one
  }

  #skipFirst(first: Sent): void {
    this.#finishFirst()
    this.#skip(first)
  }

  #skip({ prepared, prepares, renews }: Sent): void {
    if (prepared) this.#onSkipped(prepared)
    if (renews) renews.renewals--
    if (prepares) for (const statement of prepares) if (statement) this.#onSkipped(statement)
  }

  #finishFirst(): void {
    const { textBytes = 0, touchBytes = 0, prepares } = this.#first() ?? {}
    this.#heldBytes -= textBytes
    this.#touchBytes -= touchBytes
    this.#preparing -= prepares?.length ?? 0
    this.#done = this.#passCopyEnds() + 1
    this.#trim()
  }

  /** Returns where the first message stands: what the client sent to end a COPY before it ended none. */
  #passCopyEnds(): number {
    const { copyEnds = 0 } = this.#sent[this.#done] ?? {}
    this.#copyEnds -= copyEnds
    return copyEnds > 0 ? this.#done + 1 : this.#done
  }

  #trim(): void {
    const { length } = this.#sent
    if (this.#done < length && (this.#done < compactAt || 2 * this.#done < length)) return
    // Mostly there is one; emptied by its length, the array would be made anew for every statement.
    if (length === 1) this.#sent.pop()
    else if (this.#done >= length) this.#sent.length = 0
    else this.#sent = this.#sent.slice(this.#done)
    this.#done = 0
  }
}

/** The server was sent a text that it cannot parse: the client is told why. */
function explain(fields: readonly Field[], { sqlstate, message, hint }: StatementRefusal): Field[] {
  const kept = fields.filter(([code]) => code === 'S' || code === 'V')
  const bytes = (text: string) => Buffer.from(text).toString('latin1')
  return [...kept, ['C', sqlstate], ['M', bytes(message)], ['H', bytes(hint)]]
}

function textBytesOf({ rewritten, prepared }: Sent): number {
  return (rewritten?.original.length ?? 0) + (prepared?.textBytes ?? 0)
}

function touchBytesOf({ prepared, prepares }: Sent): number {
  let bytes = prepared?.touchBytes ?? 0
  if (prepares) for (const statement of prepares) bytes += statement?.touchBytes ?? 0
  return bytes
}
