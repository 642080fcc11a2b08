import { FrameStream, longest } from '../wire/frame-stream.ts'
import { findText, query, readFields, readParameter } from '../wire/messages.ts'
import { InFlight } from './in-flight.ts'
import { joinFrame, type Rewritten } from './map-position.ts'
import { PreparedTexts } from './prepared-texts.ts'
import type { SessionTexts } from './session-texts.ts'
import { Settled } from './settled.ts'
import { largeObjectFunctions } from './touch/large-objects.ts'
import type { SessionTouches } from './touch/session-touches.ts'
import { unparsed } from './touch/touch.ts'

export interface ConversationOptions {
  readonly texts: SessionTexts
  readonly touches: SessionTouches
  /** Of the client. */
  readonly maxMessageBytes: number
  onStatement(outcome: StatementOutcome): void
}

export type StatementOutcome = 'moved' | 'plain' | 'unparsed'

/** A statement that is longer passes as it is. */
const maxTextBytes = 1 << 20
const headBytes = 5
const nothing = Buffer.alloc(0)

/**
 * Messages of either side by their first byte, the states of a session that is in no transaction or in one that failed, and
 * what a Describe or Close is about.
 */
const codes = {
  Query: 0x51,
  Parse: 0x50,
  Describe: 0x44,
  Close: 0x43,
  Bind: 0x42,
  Execute: 0x45,
  FunctionCall: 0x46,
  Terminate: 0x58,
  Sync: 0x53,
  CopyDone: 0x63,
  CopyFail: 0x66,
  CopyIn: 0x47,
  CommandComplete: 0x43,
  Error: 0x45,
  Notice: 0x4e,
  Ready: 0x5a,
  ParseComplete: 0x31,
  CloseComplete: 0x33,
  ParameterStatus: 0x53,
  idle: 0x49,
  failed: 0x45,
  statement: 0x53,
} as const

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
        if (bytes[from + headBytes] !== codes.statement) return undefined
        return this.#renew(bytes, from, to, from + headBytes + 1)
      case codes.Close:
        if (bytes[from + headBytes] === codes.statement)
          this.#prepared.close(readName(bytes, from + headBytes + 1, to))
        this.#inFlight.sendClose()
        return undefined
      case codes.Execute:
        this.#settled.run()
        return undefined
      case codes.Terminate:
        this.#isOver = true
        return undefined
      case codes.Sync:
        this.#settled.end()
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
        this.#inFlight.sendLast()
        return undefined
    }
  }

  #sendText(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    const text = findText(bytes, from, to)
    const moved = this.#options.texts.rewrite(bytes, text.from, text.to, this.#settled.is)
    this.#touch(type, text.name, moved !== undefined)
    if (type === codes.Query) this.#settled.end()
    const sent = moved && joinFrame(bytes, from, text.from, to, moved.splices)
    sent?.writeUInt32BE(sent.length - 1, 1)
    if (type === codes.Parse) {
      this.#hasMoved ||= moved !== undefined
      // A copy: what comes next is read over it. Drivers send a new one each time where there is no name.
      const prepared = text.name !== '' && {
        name: text.name,
        parse: Buffer.from(bytes.subarray(from, to)),
        splices: moved?.splices ?? [],
        version: this.#options.texts.version,
      }
      this.#inFlight.sendParse(moved, prepared || undefined)
    } else if (sent && moved.rewriting.readsTwin && this.#options.texts.forbidsViews)
      return this.#allowViews(sent, moved)
    else this.#inFlight.sendLast(moved)
    return sent
  }

  /** Runs for every execution. */
  #bind(bytes: Buffer, from: number, to: number): Buffer | undefined {
    const { texts, touches } = this.#options
    const start = from + headBytes
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
    const renewal = this.#prepared.renew(readName(bytes, at, to), (text, start, end) =>
      texts.rewrite(text, start, end, this.#settled.is),
    )
    if (!renewal) return undefined
    const { name, moved, messages } = renewal
    touches.parse(name, texts.acts, texts.version, this.#settled.is ? texts.path : undefined)
    if (!messages) return undefined
    this.#inFlight.sendRenewal()
    this.#inFlight.sendRenewal(name, moved)
    return Buffer.concat([messages, bytes.subarray(from, to)])
  }

  #touch(type: number, name: string, isMoved: boolean): void {
    const { texts, touches, onStatement } = this.#options
    const { acts, version } = texts
    const path = this.#settled.is ? texts.path : undefined
    if (type === codes.Parse) touches.parse(name, acts, version, path)
    else touches.query(acts, version, path)
    onStatement(isMoved ? 'moved' : acts === unparsed ? 'unparsed' : 'plain')
  }

  /** One that is too long to be held here; what is missing of it was counted as a statement that may do anything. */
  #missText(type: number): void {
    const isLast = type === codes.Query || type === codes.FunctionCall
    if (type === codes.Parse) this.#inFlight.sendParse(undefined)
    else if (type === codes.Close) this.#inFlight.sendClose()
    else if (type === codes.Sync) this.#inFlight.sendSync()
    else if (type === codes.CopyDone || type === codes.CopyFail) this.#inFlight.sendCopyEnd()
    else if (isLast) this.#inFlight.sendLast()
    if (isLast || type === codes.Parse) this.#touchUnseen()
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
        return undefined
      case codes.Ready:
        this.#inFlight.ready()
        if (this.#inFlight.isDone) {
          this.#settled.ready()
          this.#prepared.settle()
        }
        this.#status = bytes[from + 5] ?? 0
        return undefined
      case codes.CopyIn:
        this.#inFlight.copying()
        return undefined
      case codes.ParseComplete:
      case codes.CloseComplete: {
        const { prepared, renews, isRenewal } = this.#inFlight.answered() ?? {}
        if (prepared) this.#prepared.keep(prepared)
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

/** It ends with a zero; bytes stay bytes. */
function readName(bytes: Buffer, from: number, to: number): string {
  const end = bytes.indexOf(0, from)
  return bytes.toString('latin1', from, end < 0 ? to : Math.min(end, to))
}
