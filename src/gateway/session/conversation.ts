import { joinFrame, type Rewritten } from '../../sql/splice.ts'
import { codes } from '../../wire/codes.ts'
import { FrameStream, longest } from '../../wire/frame-stream.ts'
import { findText, query, readFields, readName, readParameter } from '../../wire/messages.ts'
import { largeObjectFunctions } from '../audit/large-objects.ts'
import type { SessionTouches } from '../audit/session-touches.ts'
import { unparsed } from '../audit/touch.ts'
import type { StatementOutcome } from '../metrics.ts'
import { InFlight } from './in-flight.ts'
import { type PreparedText, PreparedTexts } from './prepared-texts.ts'
import type { SessionTexts } from './session-texts.ts'
import { Settled } from './settled.ts'

export interface ConversationOptions {
  readonly texts: SessionTexts
  readonly touches: SessionTouches
  /** Of the client. */
  readonly maxMessageBytes: number
  onStatement(outcome: StatementOutcome): void
}

/** A statement that is longer passes as it is. */
const maxTextBytes = 1 << 20
const headBytes = 5
const nothing = Buffer.alloc(0)

/** Servers that know no such setting have nothing to allow. */
function setForbidden(kinds: string): string {
  return `DO $$ BEGIN PERFORM pg_catalog.set_config(name, '${kinds}', false) FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'restrict_nonsystem_relation_kind'; END $$`
}

/** What the two sides of a session say to each other, and what each of them is told. */
export class Conversation {
  readonly #options: ConversationOptions
  readonly #inFlight = new InFlight()
  readonly #settled = new Settled()
  readonly #prepared: PreparedTexts
  readonly #fromClient: FrameStream
  readonly #fromBackend: FrameStream
  #status: number = codes.idle
  /** Some statement that was prepared has another text than the client's. */
  #hasMoved = false
  #isOver = false

  constructor(options: ConversationOptions) {
    this.#options = options
    this.#prepared = new PreparedTexts(options.texts.version)
    this.#fromClient = new FrameStream({
      watched: 'QPBEDCSFXcf',
      allowed: 'QPBEDCSHFdcfX',
      watchLimit: maxTextBytes,
      maxLength: options.maxMessageBytes,
      look: (type, bytes, from, to) => this.#lookAtClient(type, bytes, from, to),
      miss: (type) => this.#missText(type),
    })
    this.#fromBackend = new FrameStream({
      watched: 'ZEN13SCG',
      watchLimit: maxTextBytes,
      maxLength: longest,
      look: (type, bytes, from, to) => this.#lookAtBackend(type, bytes, from, to),
    })
  }

  /** What the database is sent for what the client sent. */
  hearClient(chunk: Buffer): Buffer | undefined {
    return this.#fromClient.push(chunk)
  }

  hearBackend(chunk: Buffer): Buffer | undefined {
    return this.#fromBackend.push(chunk)
  }

  /** One of them has said goodbye: nobody has to be told any more. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The database is at work, or waits for the data of a COPY. */
  get isAwaited(): boolean {
    return this.#inFlight.isAwaited
  }

  get isIdle(): boolean {
    return !this.isAwaited && this.#status === codes.idle
  }

  /** The client can be told something of our own. */
  get canInterrupt(): boolean {
    return this.#fromBackend.isBetweenFrames
  }

  #lookAtClient(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    switch (type) {
      case codes.Query:
      case codes.Parse:
        return this.#sendText(type, bytes, from, to)
      case codes.Bind:
        return this.#bind(bytes, from, to)
      case codes.Describe:
        this.#inFlight.sendOpen()
        if (bytes[from + headBytes] !== codes.statement) return undefined
        return this.#renew(bytes, from, to, from + headBytes + 1)
      case codes.Close:
        this.#close(bytes, from, to)
        return undefined
      case codes.Execute:
        this.#inFlight.sendOpen()
        this.#settled.run()
        return undefined
      case codes.Terminate:
        this.#isOver = true
        return undefined
      case codes.Sync:
        this.#settled.end()
        this.#prepared.settle()
        this.#inFlight.sendSync()
        return undefined
      case codes.CopyDone:
      case codes.CopyFail:
        this.#inFlight.sendCopyEnd()
        return undefined
      default:
        if (to - from < headBytes + 4 || !largeObjectFunctions.has(bytes.readUInt32BE(from + headBytes)))
          this.#touchUnseen()
        this.#settled.end()
        this.#prepared.settle()
        this.#inFlight.sendLast()
        return undefined
    }
  }

  #sendText(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    const text = findText(bytes, from, to)
    const moved = this.#options.texts.rewrite(bytes, text.from, text.to, this.#settled.is)
    this.#touch(type, text.name, moved !== undefined)
    if (type === codes.Query) {
      this.#settled.end()
      this.#prepared.settle()
    }
    const sent = moved && joinFrame(bytes, from, text.from, to, moved.splices)
    sent?.writeUInt32BE(sent.length - 1, 1)
    if (type === codes.Parse) {
      this.#hasMoved ||= moved !== undefined
      // Drivers send a new one each time where there is no name.
      const isNamed = text.name !== ''
      this.#inFlight.sendParse(moved, isNamed ? this.#describe(text, bytes, from, to, moved) : undefined)
    } else if (sent && moved.analysis.readsTwin && this.#options.texts.forbidsViews)
      return this.#allowViews(sent, moved)
    else this.#inFlight.sendLast(moved)
    return sent
  }

  #describe(
    text: { readonly name: string; readonly from: number; readonly to: number },
    bytes: Buffer,
    from: number,
    to: number,
    moved: Rewritten | undefined,
  ): PreparedText {
    const { texts } = this.#options
    // A copy: what comes next is read over it. In memory of its own: it may stay for days.
    const parse = Buffer.allocUnsafeSlow(to - from)
    bytes.copy(parse, 0, from, to)
    return {
      name: text.name,
      parse,
      splices: moved?.splices ?? [],
      version: texts.version,
      reading: texts.readingOf(bytes, text.from, text.to),
    }
  }

  #close(bytes: Buffer, from: number, to: number): void {
    const isStatement = bytes[from + headBytes] === codes.statement
    const name = isStatement ? readName(bytes, from + headBytes + 1, to) : undefined
    if (name !== undefined) this.#prepared.sendClose(name)
    this.#inFlight.sendClose(name)
  }

  /** Runs for every execution. */
  #bind(bytes: Buffer, from: number, to: number): Buffer | undefined {
    const { texts, touches } = this.#options
    const start = from + headBytes
    this.#inFlight.sendOpen()
    const renewed = this.#prepared.isCurrent(texts.version)
      ? undefined
      : this.#renew(bytes, from, to, bytes.indexOf(0, start) + 1)
    touches.bind(bytes, start, texts.version, this.#settled.is ? texts.path : undefined)
    this.#settled.run()
    return renewed
  }

  /** A message about the prepared statement whose name stands at `at`, behind what it takes to have it under these masks. */
  #renew(bytes: Buffer, from: number, to: number, at: number): Buffer | undefined {
    const { texts, touches } = this.#options
    if (this.#prepared.isCurrent(texts.version) || this.#status === codes.failed) return undefined
    // Whoever does not know which answers are ours sends nothing of its own.
    if (this.#inFlight.isSkipping || this.#inFlight.isMixed) return undefined
    const renewal = this.#prepared.renew(readName(bytes, at, to), texts.reading, (text, start, end) =>
      texts.rewrite(text, start, end, this.#settled.is),
    )
    if (!renewal) return undefined
    const { name, moved, messages } = renewal
    this.#hasMoved ||= moved !== undefined
    touches.parse(name, texts.effects, texts.version, this.#settled.is ? texts.path : undefined)
    if (!messages) return undefined
    this.#inFlight.sendRenewal()
    this.#inFlight.sendRenewal(name, moved)
    return Buffer.concat([messages, bytes.subarray(from, to)])
  }

  #touch(type: number, name: string, isMoved: boolean): void {
    const { texts, touches, onStatement } = this.#options
    const { effects, version } = texts
    const path = this.#settled.is ? texts.path : undefined
    if (type === codes.Parse) touches.parse(name, effects, version, path)
    else touches.query(effects, version, path)
    onStatement(isMoved ? 'moved' : effects === unparsed ? 'unparsed' : 'plain')
  }

  /** One that is too long to be held here; what is missing of it was counted as a statement that may do anything. */
  #missText(type: number): void {
    const isLast = type === codes.Query || type === codes.FunctionCall
    if (type === codes.Parse) {
      this.#inFlight.sendParse(undefined)
      // Under which name is not known.
      this.#prepared.clear()
    } else if (type === codes.Bind || type === codes.Execute || type === codes.Describe)
      this.#inFlight.sendOpen()
    else if (type === codes.Close) this.#inFlight.sendClose()
    else if (type === codes.Sync) this.#inFlight.sendSync()
    else if (type === codes.CopyDone || type === codes.CopyFail) this.#inFlight.sendCopyEnd()
    else if (isLast) this.#inFlight.sendLast()
    if (isLast || type === codes.Parse || type === codes.Bind) this.#touchUnseen()
    if (type === codes.Bind || type === codes.Execute) this.#settled.run()
    else if (isLast || type === codes.Sync) this.#settled.end()
  }

  #touchUnseen(): void {
    this.#options.texts.passUnseen()
    this.#touch(codes.Query, '', false)
  }

  /**
   * pg_dump forbids itself views, for fear that somebody swaps a table for one. Twins are ours: for the one statement that
   * we moved there they are allowed. In a transaction that failed both of our statements fail with it, and unseen.
   */
  #allowViews(statement: Buffer, rewritten: Rewritten): Buffer {
    this.#inFlight.sendOwn()
    this.#inFlight.sendLast(rewritten)
    this.#inFlight.sendOwn()
    return Buffer.concat([
      query(setForbidden('foreign-table')),
      statement,
      query(setForbidden('view, foreign-table')),
    ])
  }

  #lookAtBackend(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    const isOurs = this.#inFlight.isOurs
    const other = this.#hear(type, bytes, from, to)
    const isAnswer = type === codes.CommandComplete || type === codes.Error || type === codes.Ready
    return isOurs && isAnswer && !this.#isOver ? nothing : other
  }

  #hear(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    switch (type) {
      case codes.CommandComplete:
        if (endsNames(bytes, from + headBytes)) this.#prepared.clear()
        return undefined
      case codes.Ready:
        this.#inFlight.ready()
        if (this.#inFlight.isDone) {
          this.#settled.ready()
          this.#prepared.end()
        }
        this.#status = bytes[from + 5] ?? 0
        return undefined
      case codes.CopyIn:
        this.#inFlight.copying()
        return undefined
      case codes.ParseComplete:
      case codes.CloseComplete: {
        const { prepared, closes, renews, isRenewal } = this.#inFlight.answered() ?? {}
        if (prepared) this.#prepared.keep(prepared)
        if (closes !== undefined) this.#prepared.close(closes)
        if (renews !== undefined) this.#prepared.taken(renews)
        return isRenewal ? nothing : undefined
      }
      case codes.ParameterStatus:
        this.#options.texts.setParameter(...readParameter(bytes.subarray(from, to)))
        return undefined
      case codes.Notice:
        return this.#inFlight.correct(bytes.subarray(from, to), this.#hasMoved)
      default: {
        const frame = bytes.subarray(from, to)
        // The database has said goodbye itself.
        const severity = readFields(frame).find(([code]) => code === 'V')?.[1]
        if (severity === 'FATAL' || severity === 'PANIC') this.#isOver = true
        const corrected = this.#inFlight.correct(frame, this.#hasMoved)
        this.#inFlight.failed()
        return corrected
      }
    }
  }
}

/** By SQL, names came to mean no statement: DEALLOCATE, DISCARD. Which names it does not say. */
function endsNames(bytes: Buffer, tag: number): boolean {
  if (bytes[tag] !== 0x44) return false
  return bytes[tag + 1] === 0x49 || (bytes[tag + 1] === 0x45 && bytes[tag + 2] === 0x41)
}
