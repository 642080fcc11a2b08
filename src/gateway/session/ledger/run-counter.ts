import { isAscii } from '../../../sql/search-path.ts'
import type { PendingRuns } from '../../audit/pending-runs.ts'
import type { SessionTouches } from '../../audit/session-touches.ts'
import { type StatementEffect, type Touch, unparsed } from '../../audit/touch.ts'
import type { PreparedStatement } from './prepared-statement.ts'
import type { PreparedStatements } from './prepared-statements.ts'

/** Under which masks and search path the gateway reads texts now. */
export interface ReadingState {
  readonly version: number
  /** Undefined: the server may have another one by now. */
  readonly path: string | undefined
  /** The server may read other letters than ASCII differently. */
  readonly areLettersUnknown?: boolean | undefined
  /** Nothing is masked for any role: texts are not read. */
  readonly isUnmasked?: boolean | undefined
}

/** A search path that equals no other: the server may have any. */
export const unknownPath = ''
/** More statements than a name is likely to mean at once; beyond, the audit says that it does not know. */
const maxMeanings = 8

/** Finds what the statements of a message touch when they run, and notes what they prepare by PREPARE. */
export class RunCounter {
  readonly #touches: SessionTouches
  readonly #runs: PendingRuns
  readonly #statements: PreparedStatements

  constructor(touches: SessionTouches, runs: PendingRuns, statements: PreparedStatements) {
    this.#touches = touches
    this.#runs = runs
    this.#statements = statements
  }

  /**
   * A simple query runs. Returns what it prepares, in the order in which the server will confirm it. `isAnswerable`: the ledger
   * will recognise that.
   */
  runQuery(
    effects: readonly StatementEffect[],
    state: ReadingState,
    segment: number,
    isAnswerable: boolean,
  ): (PreparedStatement | undefined)[] | undefined {
    let prepared: (PreparedStatement | undefined)[] | undefined
    this.#run(effects, state, segment, (name, own, { version, path = unknownPath }) => {
      prepared ??= []
      if (isUnknown(name, state)) prepared.push(this.#statements.addNameless())
      else prepared.push(this.#statements.add({ name, effects: own, version, path }, segment, isAnswerable))
    })
    return prepared
  }

  /** A text runs by message: the server's answer does not tell which of its statements it is about. */
  runText(effects: readonly StatementEffect[], state: ReadingState, segment: number): void {
    const note = (
      name: string,
      own: readonly StatementEffect[],
      { version, path = unknownPath }: ReadingState,
    ) => {
      if (isUnknown(name, state)) {
        this.#statements.addNameless()
        return
      }
      const known = this.#statements.get(name)
      const isSame =
        known?.version === version &&
        known.effects[0]?.touch?.key === own[0]?.touch?.key &&
        known.effects[0]?.onError?.key === own[0]?.onError?.key
      if (!isSame || known.path !== (own[0]?.dependsOnPath ? path : undefined))
        this.#statements.add({ name, effects: own, version, path }, segment, false)
    }
    this.#run(effects, state, segment, note)
  }

  /** The client binds a prepared statement. Runs for every execution. */
  runPrepared(statement: PreparedStatement, state: ReadingState, segment: number): void {
    if (statement.hasLetters && state.areLettersUnknown) this.#findUnknown()
    if (statement.state === 'held') this.#runOne(statement, state, segment)
    else this.#eachMeaning(statement, segment, 0, (one) => this.#runOne(one, state, segment))
  }

  #runOne(statement: PreparedStatement, state: ReadingState, segment: number): void {
    if (isStale(statement, state)) this.#findUnknown()
    if (statement.effects.length > 0) this.runText(statement.effects, state, segment)
  }

  #run(
    effects: readonly StatementEffect[],
    state: ReadingState,
    segment: number,
    prepare: (name: string, effects: readonly StatementEffect[], state: ReadingState) => void,
  ): void {
    for (const { at, touch, onError, prepares, executes, dependsOnPath, isPathUnknown } of effects) {
      const here = isPathUnknown ? { ...state, path: undefined } : state
      if (touch?.isUnparsed) this.#statements.missNames()
      if (prepares === undefined) this.#find(touch, onError, at)
      else
        prepare(
          toLatin1(prepares),
          touch || onError || dependsOnPath ? [{ touch, onError, executes: [], dependsOnPath }] : [],
          here,
        )
      for (const name of executes) this.#execute(toLatin1(name), here, segment, at)
    }
  }

  /** EXECUTE. What it runs executes nothing further, so a statement that names itself ends. */
  #execute(name: string, state: ReadingState, segment: number, at: number | undefined): void {
    const statement = this.#statements.getMeant(name)
    if (!statement) return
    if (isUnknown(name, state)) this.#findUnknown(at)
    this.#eachMeaning(statement, segment, at, (one) => {
      if (isStale(one, state)) this.#findUnknown(at)
      for (const { touch, onError } of one.effects) this.#find(touch, onError, at)
    })
  }

  #find(touch: Touch | undefined, onError: Touch | undefined, at: number | undefined): void {
    if (touch) this.#runs.find(touch, at)
    if (onError) this.#touches.expose(onError, this.#runs.segment)
  }

  /** It may touch anything. */
  #findUnknown(at?: number): void {
    for (const { touch } of unparsed) if (touch) this.#runs.find(touch, at)
  }

  /** Every statement that the server may run under the name. One sent in this segment is certain: if it failed, so will the run. */
  #eachMeaning(
    head: PreparedStatement,
    segment: number,
    at: number | undefined,
    visit: (one: PreparedStatement) => void,
  ): void {
    let count = 0
    for (let one: PreparedStatement | undefined = head; one; one = one.previous) {
      while (one.previous?.state === 'gone') one.previous = one.previous.previous
      if (one.state === 'gone') continue
      if (++count > maxMeanings) {
        this.#findUnknown(at)
        return
      }
      visit(one)
      if (one.state === 'held' || one.segment === segment) return
    }
  }
}

/** Masks or the search path have changed since it was read: it may touch what was not found then. */
function isStale(
  statement: PreparedStatement,
  { version, path = unknownPath, isUnmasked }: ReadingState,
): boolean {
  if (isUnmasked) return false
  if (statement.version !== version) return true
  return statement.path !== undefined && (path === unknownPath || statement.path !== path)
}

/** It is not certain which name the server reads. */
export function isUnknown(name: string, { areLettersUnknown }: ReadingState): boolean {
  return areLettersUnknown === true && !isAscii(name)
}

/** Names come as letters from the parser and as bytes from the wire. */
function toLatin1(name: string): string {
  return Buffer.from(name).toString('latin1')
}
