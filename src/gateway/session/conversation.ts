import { joinFrame } from '../../sql/splice.ts'
import { codes } from '../../wire/codes.ts'
import { FrameStream, longest } from '../../wire/frame-stream.ts'
import { findBoundName, findText, query, readFields, readParameter } from '../../wire/messages.ts'
import { largeObjectFunctions } from '../audit/large-objects.ts'
import type { SessionTouches } from '../audit/session-touches.ts'
import { unparsed } from '../audit/touch.ts'
import type { StatementOutcome } from '../metrics.ts'
import type { RewrittenText } from '../rewrite/text-analysis.ts'
import type { PreparedStatement, PreparedText } from './ledger/prepared-statement.ts'
import { StatementLedger } from './ledger/statement-ledger.ts'
import { renewStatement } from './renew-statement.ts'
import type { StatementTexts } from './statement-texts.ts'

export interface ConversationOptions {
  readonly texts: StatementTexts
  readonly touches: SessionTouches
  /** Of the client. */
  readonly maxMessageBytes: number
  onStatement(outcome: StatementOutcome): void
}

/** A longer statement passes as it is. */
const maxTextBytes = 1 << 20
const headBytes = 5
const nothing = Buffer.alloc(0)

/** Follows what client and server say to each other, and says what each of them is sent. */
export class Conversation {
  readonly #options: ConversationOptions
  readonly #ledger: StatementLedger
  readonly #fromClient: FrameStream
  readonly #fromBackend: FrameStream
  #status: number = codes.idle
  #isOver = false

  constructor(options: ConversationOptions) {
    this.#options = options
    this.#ledger = new StatementLedger(options.touches)
    this.#fromClient = new FrameStream({
      watched: 'QPBEDCSFXcf',
      allowed: 'QPBEDCSHFdcfX',
      watchLimit: maxTextBytes,
      maxLength: options.maxMessageBytes,
      look: (type, bytes, from, to) => this.#lookAtClient(type, bytes, from, to),
      miss: (type) => this.#missMessage(type),
    })
    this.#fromBackend = new FrameStream({
      watched: 'ZEN13SCG',
      watchLimit: maxTextBytes,
      maxLength: longest,
      look: (type, bytes, from, to) => this.#lookAtBackend(type, bytes, from, to),
    })
  }

  /** Returns the bytes to send to the database for a chunk from the client. */
  hearClient(chunk: Buffer): Buffer | undefined {
    return this.#fromClient.push(chunk)
  }

  /** Returns the bytes to send to the client for a chunk from the database. */
  hearBackend(chunk: Buffer): Buffer | undefined {
    return this.#fromBackend.push(chunk)
  }

  /** Client or database has said goodbye: neither has to be told any more. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The database is at work, or waits for the data of a COPY. */
  get isAwaited(): boolean {
    return this.#ledger.isAwaited
  }

  get isIdle(): boolean {
    return !this.isAwaited && this.#status === codes.idle
  }

  /** The client can be sent a message of the gateway's own. */
  get canInterrupt(): boolean {
    return this.#fromBackend.isBetweenFrames
  }

  #lookAtClient(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    const ledger = this.#ledger
    switch (type) {
      case codes.Query:
      case codes.Parse:
        return this.#sendText(type, bytes, from, to)
      case codes.Bind:
        return this.#bind(bytes, from, to)
      case codes.Describe:
        ledger.sendDescribe()
        return this.#renew(this.#findStatement(bytes, from), bytes, from, to)
      case codes.Close:
        ledger.sendClose(this.#findStatement(bytes, from))
        return undefined
      case codes.Execute:
        ledger.sendExecute()
        return undefined
      case codes.Terminate:
        this.#isOver = true
        return undefined
      case codes.Sync:
        ledger.sendSync()
        return undefined
      case codes.CopyDone:
      case codes.CopyFail:
        ledger.sendCopyEnd()
        return undefined
      default: {
        const isLarge = to - from >= headBytes + 4 && bytes.readUInt32BE(from + headBytes)
        if (isLarge && largeObjectFunctions.has(isLarge)) ledger.sendFunctionCall()
        else this.#sendUnread(codes.FunctionCall)
        return undefined
      }
    }
  }

  #sendText(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    const { texts, onStatement } = this.#options
    const ledger = this.#ledger
    const text = findText(bytes, from, to)
    const moved = texts.rewrite(bytes, text.from, text.to, ledger.areSettingsKnown)
    const { effects } = texts
    const state = texts.stateOf(ledger.areSettingsKnown)
    onStatement(moved ? 'moved' : effects === unparsed ? 'unparsed' : 'plain')
    const sent = moved && joinFrame(bytes, from, text.from, to, moved.splices)
    sent?.writeUInt32BE(sent.length - 1, 1)
    if (type === codes.Parse) {
      // Drivers send an unnamed statement anew each time.
      const held = text.name === '' ? undefined : this.#copyParse(text, bytes, from, to, moved)
      ledger.sendParse(text.name, effects, state, { moved, text: held })
      return sent
    }
    const needsViews = sent && moved.analysis.readsTwin && texts.forbidsViews
    if (needsViews) ledger.sendOwnQuery()
    ledger.sendQuery(effects, state, moved)
    if (!needsViews) return sent
    ledger.sendOwnQuery()
    return allowViews(sent)
  }

  #copyParse(
    text: { readonly from: number; readonly to: number },
    bytes: Buffer,
    from: number,
    to: number,
    moved: RewrittenText | undefined,
  ): PreparedText {
    // A copy: the next read overwrites the bytes. In memory of its own: it may stay for days.
    const parse = Buffer.allocUnsafeSlow(to - from)
    bytes.copy(parse, 0, from, to)
    const reading = this.#options.texts.readingOf(bytes, text.from, text.to)
    return { parse, splices: moved?.splices ?? [], reading }
  }

  /** Runs for every execution. */
  #bind(bytes: Buffer, from: number, to: number): Buffer | undefined {
    const statement = this.#ledger.find(bytes, findBoundName(bytes, from, to))
    const renewed = this.#renew(statement, bytes, from, to)
    this.#ledger.sendBind(statement, this.#options.texts.stateOf(this.#ledger.areSettingsKnown))
    return renewed
  }

  /** Of a Describe or Close; undefined: it is about a portal. */
  #findStatement(bytes: Buffer, from: number): PreparedStatement | undefined {
    const at = from + headBytes
    return bytes[at] === codes.statement ? this.#ledger.find(bytes, at + 1) : undefined
  }

  /** The client's message, preceded by Close and Parse of the statement where other masks have come since. */
  #renew(
    statement: PreparedStatement | undefined,
    bytes: Buffer,
    from: number,
    to: number,
  ): Buffer | undefined {
    const { texts } = this.#options
    if (!statement || !this.#ledger.needsRenewal(statement, texts.version)) return undefined
    if (this.#status === codes.failed) return undefined
    const messages = renewStatement(statement, this.#ledger, texts)
    return messages && Buffer.concat([messages, bytes.subarray(from, to)])
  }

  /** A message that is too long to be held passes unread; the audit counts it as a statement that may do anything. */
  #missMessage(type: number): void {
    const ledger = this.#ledger
    if (type === codes.Query || type === codes.FunctionCall || type === codes.Parse || type === codes.Bind)
      this.#sendUnread(type)
    else if (type === codes.Execute) ledger.sendExecute()
    else if (type === codes.Describe) ledger.sendDescribe()
    else if (type === codes.Close) ledger.sendClose()
    else if (type === codes.Sync) ledger.sendSync()
    else if (type === codes.CopyDone || type === codes.CopyFail) ledger.sendCopyEnd()
  }

  #sendUnread(type: number): void {
    const { texts, onStatement } = this.#options
    texts.passUnread()
    const { effects } = texts
    const state = texts.stateOf(this.#ledger.areSettingsKnown)
    if (type === codes.Parse) this.#ledger.sendUnreadParse(effects, state)
    else if (type === codes.Bind) this.#ledger.sendUnreadBind(effects, state)
    else this.#ledger.sendQuery(effects, state)
    onStatement(effects === unparsed ? 'unparsed' : 'plain')
  }

  #lookAtBackend(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    const { isOurs } = this.#ledger
    const other = this.#hear(type, bytes, from, to)
    const isAnswer = type === codes.CommandComplete || type === codes.Error || type === codes.Ready
    return isOurs && isAnswer && !this.#isOver ? nothing : other
  }

  #hear(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    const ledger = this.#ledger
    switch (type) {
      case codes.CommandComplete:
        hearTag(ledger, bytes, from + headBytes)
        return undefined
      case codes.Ready:
        ledger.hearReady()
        this.#status = bytes[from + headBytes] ?? 0
        return undefined
      case codes.CopyIn:
        ledger.hearCopyIn()
        return undefined
      case codes.ParseComplete:
      case codes.CloseComplete:
        return ledger.hearComplete() ? nothing : undefined
      case codes.ParameterStatus:
        this.#options.texts.setParameter(...readParameter(bytes.subarray(from, to)))
        return undefined
      case codes.Notice:
        return ledger.hearNotice(bytes.subarray(from, to))
      default: {
        const frame = bytes.subarray(from, to)
        const severity = readFields(frame).find(([code]) => code === 'V')?.[1]
        // The database has said goodbye itself.
        if (severity === 'FATAL' || severity === 'PANIC') this.#isOver = true
        return ledger.hearError(frame)
      }
    }
  }
}

/** PREPARE, DEALLOCATE and DISCARD change by SQL which statement a name means. */
function hearTag(ledger: StatementLedger, bytes: Buffer, at: number): void {
  // Every statement that ends has a tag: two letters tell these three from the others.
  const [first, second] = [bytes[at], bytes[at + 1]]
  if (first === 0x50 && second === 0x52) ledger.hearPrepare()
  else if (first === 0x44 && (second === 0x49 || (second === 0x45 && bytes[at + 2] === 0x41)))
    ledger.hearDeallocate()
}

/**
 * pg_dump forbids itself views, for fear that an attacker swaps a table for one. The twins are the gateway's: it allows views
 * for the one statement that it moved to them. In a failed transaction both of its own queries fail too, unseen.
 */
function allowViews(statement: Buffer): Buffer {
  return Buffer.concat([
    query(setForbidden('foreign-table')),
    statement,
    query(setForbidden('view, foreign-table')),
  ])
}

/** Servers without this setting have nothing to allow. */
function setForbidden(kinds: string): string {
  return `DO $$ BEGIN PERFORM pg_catalog.set_config(name, '${kinds}', false) FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'restrict_nonsystem_relation_kind'; END $$`
}
