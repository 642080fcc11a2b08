import { type Failure, PendingRuns, readFailure } from '../../audit/pending-runs.ts'
import type { SessionTouches } from '../../audit/session-touches.ts'
import type { StatementEffect } from '../../audit/touch.ts'
import type { SentText } from '../../rewrite/text-analysis.ts'
import { Pipeline } from './pipeline.ts'
import { nameless, neverRenewed, type PreparedStatement, type PreparedText } from './prepared-statement.ts'
import { PreparedStatements } from './prepared-statements.ts'
import { isUnknown, type ReadingState, RunCounter, unknownPath } from './run-counter.ts'
import { SettingsReport } from './settings-report.ts'

/** Statements whose Close or renewal has no answer. Beyond, the gateway prepares none of them again. */
const maxUnsettled = 10_000
/**
 * Renewals of one statement for the same masks that have no answer. A client that pipelines more gets along with these, unless
 * they fail in a failed transaction.
 */
const maxRenewals = 16
/** An error that was not read may be any. */
const unreadFailure: Failure = { isDenial: false, mayShow: true }

/**
 * The statements that a session has sent to its server and those that the server has prepared for it.
 *
 * Invariant: for every name, the ledger holds every statement that the server may run under that name: the last one that the
 * server confirmed, and those sent after it whose answers are pending. So each run is counted as what it was, or as more, and
 * only a statement that the server is certain to have is prepared again. Names beyond a bound are not
 * held, nor those that a text prepared which the gateway did not read: a run by a name that may be one of them may touch anything.
 */
export class StatementLedger {
  readonly #touches: SessionTouches
  readonly #statements = new PreparedStatements()
  readonly #pending: PendingRuns
  readonly #runs: RunCounter
  readonly #settings = new SettingsReport()
  readonly #pipeline = new Pipeline((statement) => {
    if (!this.#pipeline.isMixed) this.#statements.refuse(statement)
  })
  /** Statements with a Close or a renewal that the server has not answered. */
  readonly #unsettled = new Set<PreparedStatement>()
  /** Counts Syncs and queries: an error skips what follows it in the same segment, and nothing else. */
  #segment = 0
  /** The server has some prepared statement by another text than the client's. */
  #hasMoved = false

  constructor(touches: SessionTouches) {
    this.#touches = touches
    this.#pending = new PendingRuns(
      (touch) => touches.count(touch),
      () => this.#pipeline.isMixed,
    )
    this.#runs = new RunCounter(touches, this.#pending, this.#statements)
  }

  get isAwaited(): boolean {
    return this.#pipeline.isAwaited
  }

  get isOurs(): boolean {
    return this.#pipeline.isOurs
  }

  /** True when no ParameterStatus can be pending. */
  get areSettingsKnown(): boolean {
    return this.#settings.isComplete
  }

  /** A function call that touches no relation. */
  sendFunctionCall(): void {
    this.#endSegment()
    this.#pipeline.sendLast()
  }

  /** The client's query. */
  sendQuery(effects: readonly StatementEffect[], state: ReadingState, moved?: SentText): void {
    this.#touches.statements++
    this.#segment++
    if (state.isUnmasked) this.#statements.missNames()
    const prepares = this.#runs.runQuery(effects, state, this.#segment, !this.#pipeline.isMixed)
    this.#pending.sendQuery()
    this.#endSegment()
    this.#pipeline.sendLast(moved, prepares)
  }

  /** A query of the gateway's own, which the client does not hear of. */
  sendOwnQuery(): void {
    this.#pending.endSegment()
    this.#pipeline.sendOwn()
  }

  sendParse(
    name: string,
    effects: readonly StatementEffect[],
    state: ReadingState,
    { moved, text }: { readonly moved?: SentText | undefined; readonly text?: PreparedText | undefined } = {},
  ): void {
    this.#hasMoved ||= moved !== undefined
    if (state.isUnmasked) this.#statements.missNames()
    if (isUnknown(name, state)) {
      this.#pipeline.sendParse(moved, this.#statements.addNameless())
      return
    }
    const { version, path = unknownPath } = state
    const { isMixed } = this.#pipeline
    const isKnown = name === '' && effects.length === 0 && this.#statements.isUnnamedClean(version)
    const prepared = isKnown
      ? undefined
      : this.#statements.add(
          // The gateway prepares nothing again in a mixed session.
          { name, effects, version, path, text: isMixed ? undefined : text },
          this.#segment,
          !isMixed,
        )
    this.#pipeline.sendParse(moved, prepared)
  }

  /** A Parse that is too long to be read: any name may mean it. */
  sendUnreadParse(effects: readonly StatementEffect[], state: ReadingState): void {
    this.#touches.statements++
    const { version, path = unknownPath } = state
    this.#statements.addUnread({ effects, version, path }, this.#segment)
    this.#pipeline.sendParse(undefined)
  }

  /** A Bind that is too long to be read: it may run any statement, by a portal of any name. */
  sendUnreadBind(effects: readonly StatementEffect[], state: ReadingState): void {
    this.#runs.runText(effects, state, this.#segment)
    this.#bind(true)
  }

  /** The statement whose name begins at `start`, as it was sent last. */
  find(bytes: Buffer, start: number): PreparedStatement | undefined {
    return this.#statements.find(bytes, start)
  }

  /** Runs for every execution. `isNamed`: to a portal that has a name. */
  sendBind(statement: PreparedStatement | undefined, state: ReadingState, isNamed = false): void {
    const run = statement ?? this.#statements.unread
    if (run) this.#runs.runPrepared(run, state, this.#segment)
    this.#bind(isNamed)
  }

  #bind(isNamed: boolean): void {
    this.#touches.statements++
    this.#pipeline.sendOpen()
    if (this.#pipeline.isSkipping && !this.#pipeline.isMixed) this.#pending.skip()
    this.#pending.sendBind(isNamed)
    this.#settings.run()
  }

  sendExecute(isNamed = false): void {
    this.#pipeline.sendOpen()
    this.#pending.sendExecute(isNamed)
    this.#settings.run()
  }

  sendDescribe(): void {
    this.#pipeline.sendOpen()
  }

  /** Undefined: a portal, or a statement that the ledger does not hold. */
  sendClose(statement?: PreparedStatement): void {
    if (statement === nameless) {
      this.#pipeline.sendClose()
      return
    }
    // Those before one that is closing are closing too: a pipeline may have many under one name.
    if (!this.#pipeline.isMixed)
      for (let one = statement; one && !one.isClosing; one = one.previous) {
        one.isClosing = true
        this.#unsettle(one)
      }
    this.#pipeline.sendClose(statement)
  }

  sendSync(): void {
    this.#endSegment()
    this.#pipeline.sendSync()
  }

  sendCopyEnd(): void {
    this.#pipeline.sendCopyEnd()
  }

  /** Whether the server is certain to have the statement, but for other masks than those of now. */
  needsRenewal(statement: PreparedStatement, version: number): boolean {
    const { renewedIn, renewals, state, text, isClosing } = statement
    if (statement.version === version) {
      if (renewedIn === neverRenewed || renewedIn === this.#segment) return false
      if (renewals >= maxRenewals) return false
    }
    if (state !== 'held' || !text || isClosing) return false
    // The gateway sends nothing of its own while it cannot tell which answers are its own.
    return !this.#pipeline.isSkipping && !this.#pipeline.isMixed
  }

  /** The gateway has read the statement under the masks of now. */
  readAgain(statement: PreparedStatement, effects: readonly StatementEffect[], state: ReadingState): void {
    statement.readAgain({ effects, version: state.version, path: state.path ?? unknownPath })
  }

  /** By the settings of now it would be another statement. */
  dropText(statement: PreparedStatement): void {
    this.#statements.dropText(statement)
  }

  /** The server may have closed the statement without preparing it again. */
  mayBeMissing({ renewedIn }: PreparedStatement): boolean {
    return renewedIn !== neverRenewed
  }

  /** Close and Parse of the statement, sent before the client's message that uses it. */
  sendRenewal(statement: PreparedStatement, text: PreparedText, moved: SentText | undefined): void {
    this.#hasMoved ||= moved !== undefined
    statement.text = text
    statement.renewals++
    statement.renewedIn = this.#segment
    this.#unsettle(statement)
    this.#pipeline.sendRenewal(statement, moved)
  }

  /** `isIdle`: no transaction is open. */
  hearReady(isIdle = false): void {
    this.#pending.hearReady(this.#pipeline.ready())
    if (isIdle) this.#touches.hearIdle(this.#pending.over)
    if (!this.#pipeline.isDone) return
    this.#settings.ready()
    this.#segment++
    for (const statement of this.#unsettled) {
      statement.isClosing = false
      statement.renewals = 0
    }
    this.#unsettled.clear()
  }

  hearCopyIn(): void {
    this.#pipeline.copying()
  }

  /** ParseComplete or CloseComplete. Returns whether it answers the gateway alone. */
  hearComplete(): boolean {
    const { prepared, closes, renews, isRenewal = false } = this.#pipeline.answered() ?? {}
    if (this.#pipeline.isMixed) return isRenewal
    if (prepared) this.#statements.confirm(prepared)
    if (closes) this.#statements.close(closes)
    if (renews && --renews.renewals === 0) renews.renewedIn = neverRenewed
    return isRenewal
  }

  /** BindComplete. */
  hearBound(): void {
    this.#pending.hearBound()
  }

  /** Rows, data of a COPY or a notice passed to the client. */
  hearShown(): void {
    this.#pending.hearShown()
  }

  /** A statement of a query, or an Execute, is done. */
  hearDone(): void {
    this.#pending.hearDone()
  }

  /** By SQL, a name came to mean a statement. */
  hearPrepare(): void {
    const statement = this.#pipeline.answeredPrepare()
    if (statement && !this.#pipeline.isMixed) this.#statements.confirm(statement)
  }

  /** By SQL, names came to mean no statement: DEALLOCATE, DISCARD. The server does not say which names. */
  hearDeallocate(): void {
    this.#statements.dropTexts()
  }

  /** The same notice about the client's own text; undefined: it is as it came. */
  hearNotice(frame: Buffer): Buffer | undefined {
    return this.#pipeline.correct(frame, this.#hasMoved)
  }

  /** The same error about the client's own text; undefined: it is as it came. */
  hearError(frame: Buffer): Buffer | undefined {
    const corrected = this.#pipeline.correct(frame, this.#hasMoved)
    this.#fail(readFailure(corrected ?? frame))
    return corrected
  }

  /** An error that the client gets as it is. */
  missError(): void {
    this.#fail(unreadFailure)
  }

  /** The session is over. */
  end(): void {
    this.#pending.settleAll()
  }

  #fail(failure: Failure): void {
    if (failure.mayShow) this.#touches.fail()
    this.#pipeline.failed()
    this.#pending.hearError(failure)
  }

  /** A client that always has something under way never settles anything. */
  #unsettle(statement: PreparedStatement): void {
    if (this.#unsettled.size >= maxUnsettled && !this.#unsettled.has(statement)) {
      for (const one of this.#unsettled) this.#statements.dropText(one)
      this.#unsettled.clear()
    }
    this.#unsettled.add(statement)
  }

  #endSegment(): void {
    this.#pending.endSegment()
    this.#settings.end()
    this.#segment++
  }
}
