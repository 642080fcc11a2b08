import { codes } from '../../wire/codes.ts'
import { readParameter, readSeverity } from '../../wire/messages.ts'
import { violation } from '../../wire/refusal.ts'
import type { StatementLedger } from './ledger/statement-ledger.ts'
import type { SessionPhase } from './session-phase.ts'
import type { StatementTexts } from './statement-texts.ts'

const headBytes = 5
const nothing = Buffer.alloc(0)

/** Notes each answer of the server in the ledger, and hides the answers that are the gateway's own. */
export class ServerMessages {
  readonly #texts: StatementTexts
  readonly #ledger: StatementLedger
  readonly #phase: SessionPhase

  constructor(texts: StatementTexts, ledger: StatementLedger, phase: SessionPhase) {
    this.#texts = texts
    this.#ledger = ledger
    this.#phase = phase
  }

  /** Returns what to send instead of the message; undefined: the message as it is. */
  look(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    const { isOurs } = this.#ledger
    const other = this.#hear(type, bytes, from, to)
    const isAnswer = type === codes.CommandComplete || type === codes.Error || type === codes.Ready
    const sent = isOurs && isAnswer && !this.#phase.isOver ? nothing : other
    const notices = this.#texts.notices?.take()
    return notices ? Buffer.concat([notices, sent ?? bytes.subarray(from, to)]) : sent
  }

  /** A message that is too long to be held passes unread, unless this says that it is left out. Others than these are never long. */
  miss(type: number): boolean {
    if (type === codes.ParameterStatus) this.#texts.missParameter()
    else if (type === codes.Error) this.#ledger.missError()
    else if (type !== codes.Notice) violation('an answer of the database is too long')
    const isHidden = type === codes.Notice && this.#texts.hidesPlans
    if (type === codes.Notice && !isHidden) this.#ledger.hearShown()
    return isHidden
  }

  #hear(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    const ledger = this.#ledger
    switch (type) {
      case codes.CommandComplete:
        hearTag(ledger, bytes, from + headBytes)
        ledger.hearDone()
        return undefined
      case codes.EmptyQuery:
      case codes.PortalSuspended:
        ledger.hearDone()
        return undefined
      case codes.BindComplete:
        ledger.hearBound()
        return undefined
      case codes.Ready:
        this.#phase.status = bytes[from + headBytes] ?? 0
        ledger.hearReady(this.#phase.status === codes.idle)
        if (ledger.areSettingsKnown) this.#texts.settle()
        return undefined
      case codes.CopyIn:
        ledger.hearCopyIn()
        return undefined
      case codes.ParseComplete:
      case codes.CloseComplete:
        return ledger.hearComplete() ? nothing : undefined
      case codes.ParameterStatus:
        this.#texts.setParameter(...readParameter(bytes.subarray(from, to)))
        return undefined
      case codes.Notice: {
        const frame = bytes.subarray(from, to)
        if (this.#texts.hidesPlans && readSeverity(frame) === 'LOG') return nothing
        ledger.hearShown()
        return ledger.hearNotice(frame)
      }
      default: {
        const frame = bytes.subarray(from, to)
        const severity = readSeverity(frame)
        // The database has said goodbye itself.
        if (severity === 'FATAL' || severity === 'PANIC') this.#phase.isOver = true
        return ledger.hearError(frame)
      }
    }
  }
}

const prepareLength = 'PREPARE'.length

/** PREPARE, DEALLOCATE and DISCARD change by SQL which statement a name means. Runs for every statement that ends. */
function hearTag(ledger: StatementLedger, bytes: Buffer, at: number): void {
  const first = bytes[at]
  const second = bytes[at + 1]
  // PR: PREPARE, but not PREPARE TRANSACTION. DI: DISCARD. DEA: DEALLOCATE.
  if (first === 0x50 && second === 0x52 && bytes[at + prepareLength] === 0) ledger.hearPrepare()
  else if (first === 0x44 && (second === 0x49 || (second === 0x45 && bytes[at + 2] === 0x41)))
    ledger.hearDeallocate()
}
