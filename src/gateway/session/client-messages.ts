import { joinFrame } from '../../sql/splice.ts'
import { codes } from '../../wire/codes.ts'
import { findBoundName, findText, query } from '../../wire/messages.ts'
import { largeObjectFunctions } from '../audit/large-objects.ts'
import { unparsed } from '../audit/touch.ts'
import type { StatementOutcome } from '../metrics.ts'
import type { RewrittenText } from '../rewrite/text-analysis.ts'
import type { PreparedStatement, PreparedText } from './ledger/prepared-statement.ts'
import type { StatementLedger } from './ledger/statement-ledger.ts'
import { renewStatement } from './renew-statement.ts'
import type { SessionPhase } from './session-phase.ts'
import type { StatementTexts } from './statement-texts.ts'

export interface ClientMessagesOptions {
  readonly texts: StatementTexts
  onStatement(outcome: StatementOutcome): void
}

const headBytes = 5

/** Notes each message of the client in the ledger, and moves the texts of statements to the twins. */
export class ClientMessages {
  readonly #options: ClientMessagesOptions
  readonly #ledger: StatementLedger
  readonly #phase: SessionPhase

  constructor(options: ClientMessagesOptions, ledger: StatementLedger, phase: SessionPhase) {
    this.#options = options
    this.#ledger = ledger
    this.#phase = phase
  }

  /** Returns what to send instead of the message; undefined: the message as it is. */
  look(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
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
      case codes.FunctionCall: {
        const isWhole = to - from >= headBytes + 4
        if (isWhole && largeObjectFunctions.has(bytes.readUInt32BE(from + headBytes)))
          ledger.sendFunctionCall()
        else this.#sendUnread(type)
        return undefined
      }
      case codes.Terminate:
        this.#phase.isOver = true
        return undefined
      case codes.Execute:
        ledger.sendExecute(isNamed(bytes, from))
        return undefined
      default:
        this.#sendBare(type)
        return undefined
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
      const held = text.name === '' ? undefined : this.#copyParse(text.to, bytes, from, to, moved)
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
    end: number,
    bytes: Buffer,
    from: number,
    to: number,
    moved: RewrittenText | undefined,
  ): PreparedText {
    // A copy: the next read overwrites the bytes. In memory of its own: it may stay for days.
    const parse = Buffer.allocUnsafeSlow(to - from)
    bytes.copy(parse, 0, from, to)
    // Of the name too.
    const reading = this.#options.texts.readingOf(bytes, from + headBytes, end)
    return { parse, splices: moved?.splices ?? [], reading }
  }

  /** Runs for every execution. */
  #bind(bytes: Buffer, from: number, to: number): Buffer | undefined {
    const statement = this.#ledger.find(bytes, findBoundName(bytes, from, to))
    const renewed = this.#renew(statement, bytes, from, to)
    const state = this.#options.texts.stateOf(this.#ledger.areSettingsKnown)
    this.#ledger.sendBind(statement, state, isNamed(bytes, from))
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
    if (this.#phase.status === codes.failed) return undefined
    const messages = renewStatement(statement, this.#ledger, texts)
    return messages && Buffer.concat([messages, bytes.subarray(from, to)])
  }

  /** A message that is too long to be held passes unread; the audit counts it as a statement that may do anything. */
  miss(type: number): void {
    if (type === codes.Query || type === codes.FunctionCall || type === codes.Parse || type === codes.Bind)
      this.#sendUnread(type)
    else if (type === codes.Describe) this.#ledger.sendDescribe()
    else if (type === codes.Close) this.#ledger.sendClose()
    else this.#sendBare(type)
  }

  /** A message whose type says all that matters. */
  #sendBare(type: number): void {
    if (type === codes.Execute) this.#ledger.sendExecute(true)
    else if (type === codes.Sync) this.#ledger.sendSync()
    else if (type === codes.CopyDone || type === codes.CopyFail) this.#ledger.sendCopyEnd()
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
}

/** A Bind or Execute of a portal that has a name. */
function isNamed(bytes: Buffer, from: number): boolean {
  return bytes[from + headBytes] !== 0
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
