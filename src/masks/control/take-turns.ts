import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { BeforeTurn, EnforcementReport, StateStore } from '../../contracts/enforcement.ts'
import type { Note } from '../../contracts/note.ts'
import type { Database } from '../../db/database.ts'
import type { Sql } from '../../db/sql.ts'
import { sqlstateOf } from '../../db/sqlstate.ts'
import type { Occasion } from '../../kernel/jobs.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import { NameHeld } from '../../sessions/holder.ts'
import { findLockHolders, type Obstructed, SessionsInTheWay } from '../../sessions/in-the-way.ts'
import { noteOpen } from '../../sessions/open-sessions.ts'
import { hasStandbys, type Standbys } from '../../sessions/standbys.ts'
import { mayPass } from '../apply/outcomes.ts'
import type { Policy, Target } from '../policy.ts'
import { listExemptNames } from '../read/snapshot.ts'
import { type TurnOptions, type TurnResult, takeTurn } from '../turn.ts'
import type { Connections } from './connections.ts'
import type { FindingsPort, Look } from './findings-port.ts'
import { type LoginKeeper, noLogins, type PolicyReader, type SettledLogins } from './login-port.ts'
import { endRawSessions, replaceOpen } from './open-record.ts'
import type { Source } from './source.ts'
import { type CatalogWatch, readActivity } from './watch-catalogs.ts'

export interface TurnNeeds {
  readonly source: Source
  readonly states: StateStore
  readonly findings: FindingsPort
  readonly log: Logger
  onDrift?(databaseId: string, steps: number): void
}

interface Parts extends TurnNeeds {
  readonly logins: LoginKeeper
  readonly connections: Connections
  readonly policies: PolicyReader
  readonly standbys: Standbys
  readonly catalogs: CatalogWatch
  readonly auditEveryMs: number
  /** How long a session may be in the way before it is ended. */
  readonly lockLimitMs: number
  readonly audit: (databaseId: string) => void
  readonly auditAfter: (databaseId: string, ms: number) => void
}

/** What a turn leaves. */
export interface Taken {
  /** The state that it wrote, where the policy is enforced. */
  readonly report?: EnforcementReport | undefined
  readonly hasChanged: boolean
}

interface Turn {
  readonly database: Database
  readonly databaseId: string
  /** Of the policy, from before the turn. */
  readonly lastChange: number | null
  readonly settled: SettledLogins
  readonly startedAt: number
}

const nothing: Taken = { hasChanged: false }
/** Between turns of which each makes some of very many twins. */
const portionMs = 1_000

/** Takes a turn in a database, ends the sessions that have to end, and writes the state. */
export class Turns {
  readonly #parts: Parts
  readonly #inTheWay: SessionsInTheWay
  /**
   * The last outcome of this node: tables that have not changed since are skipped, unless another node wrote in
   * between.
   */
  readonly #enforced = new Map<string, Pick<TurnResult, 'policy' | 'version'>>()
  readonly #places = new Map<string, string | null>()

  constructor(parts: Parts) {
    this.#parts = parts
    this.#inTheWay = new SessionsInTheWay(parts.lockLimitMs, parts.audit)
  }

  forget(databaseId: string): void {
    this.#enforced.delete(databaseId)
  }

  /** The roles that this node has seen exempt; undefined: nothing is known. */
  recallExempt(databaseId: string): readonly string[] | undefined {
    return this.#enforced.get(databaseId)?.policy.exemptRoles
  }

  close(): void {
    this.#inTheWay.close()
  }

  /** `known`: read by the caller just now. */
  async take(databaseId: string, occasion: Occasion, known?: BeforeTurn): Promise<Taken> {
    const { states, findings, log, audit } = this.#parts
    try {
      return await this.#enforce(databaseId, occasion, known)
    } catch (error) {
      this.#enforced.delete(databaseId)
      const cleared = await this.#clearAll(databaseId, error).catch(() => null)
      const blockers = cleared?.blockers ?? null
      const { state, reason } = await findings.explainTurn(error, blockers, this.#look(databaseId))
      log.warn({ databaseId, reason, err: error }, 'masks or login roles could not be enforced')
      await states.writeFailure(databaseId, state, reason)
      if (cleared && cleared.ended > 0) audit(databaseId)
      return nothing
    }
  }

  #look(databaseId: string): Look {
    const { connections } = this.#parts
    return {
      open: async () => {
        const database = await connections.open(databaseId)
        return database && { sql: database.sql, policy: await this.#readPolicy(databaseId, database.sql) }
      },
    }
  }

  #readPolicy(databaseId: string, sql: Sql): Promise<Policy> {
    const { policies, source } = this.#parts
    return policies.read(sql, databaseId).catch(() => source.readPolicy(databaseId))
  }

  /** Sessions that hold every lock of the server, or a name that the masks need, are in the way of everything. */
  async #clearAll(databaseId: string, error: unknown) {
    const isHeld = error instanceof NameHeld
    if (!isHeld && sqlstateOf(error) !== sqlstate.outOfMemory) return null
    const { connections } = this.#parts
    const database = await connections.open(databaseId)
    if (!database) return null
    const sql = (!isHeld && connections.keptOf(databaseId)) || database.sql
    const { exemptRoles: exempt } = await this.#readPolicy(databaseId, sql)
    const holders = isHeld ? error.holders : await findLockHolders(sql)
    const waiting = [{ target: '', oids: [], holders, isClosed: false }]
    return await this.#inTheWay.clear(databaseId, { sql, exempt, waiting })
  }

  async #enforce(databaseId: string, occasion: Occasion, known?: BeforeTurn): Promise<Taken> {
    const { states, connections, catalogs, logins, policies, log } = this.#parts
    const { lastChange, notes: stored, binding } = known ?? (await states.readBeforeTurn(databaseId))
    const database = await connections.openFit(databaseId, binding)
    catalogs.forget(databaseId)
    if (!database) {
      await states.forget(databaseId)
      return nothing
    }
    const before = this.#enforced.get(databaseId)
    const [activity, settling] = await Promise.all([
      // After a change a full look comes in any case.
      occasion === 'change' ? null : readActivity(database.sql),
      // An error with login roles must not keep tables from being masked: it is thrown after that.
      logins.settle(database, databaseId).catch((error: unknown) => ({ error })),
    ])
    const own = 'error' in settling ? undefined : settling
    const settled = own ?? noLogins
    // A look at some tables would not see the others that are not masked.
    const isUnmasked = stored.some(({ code }) => code === 'NotMasked')
    const isPartial = occasion === 'change' && own?.changed === 0 && !isUnmasked
    const turn: Turn = { database, databaseId, lastChange, settled, startedAt: Date.now() }
    const readPolicy = (sql: Sql) => policies.read(sql, databaseId, own)
    const options = this.#chooseOptions(turn, isPartial ? before : undefined)
    const result = await takeTurn(database, readPolicy, options)
    if (result.unfinished.length === 0) this.#enforced.set(databaseId, result)
    else this.#enforced.delete(databaseId)
    await this.#recordPlace(databaseId, result)
    const { snapshot } = result
    const drifted = occasion === 'audit' && isDrift(before, settled, result)
    const { report, isOpen } = await this.#finish(turn, result, stored, drifted)
    if (drifted) {
      log.warn({ databaseId, steps: result.steps.map(({ why }) => why) }, 'drift repaired')
      this.#parts.onDrift?.(databaseId, result.steps.length)
    }
    const hasChanged = occasion === 'change' || result.steps.length > 0
    const isCounted = report !== undefined && !isOpen && database.primary() === undefined && !hasChanged
    catalogs.watch(databaseId, {
      guard:
        result.plan.masked.length > 0 && snapshot.server.binding.isSuperuser ? snapshot.guard.schema : null,
      quiet: isCounted && activity !== null && lastChange !== null ? { activity, lastChange } : null,
      needsLook: report !== undefined && hasChanged,
    })
    if ('error' in settling) throw settling.error
    return { report, hasChanged }
  }

  /** Sessions of roles that lost their exemption end as soon as what can be closed is closed. */
  #chooseOptions(turn: Turn, before: Pick<TurnResult, 'policy' | 'version'> | undefined): TurnOptions {
    const { source, states } = this.#parts
    const { databaseId } = turn
    return {
      claimant: source.claimantOf(databaseId),
      isMasked: (place: string) => states.isMaskedPlace(databaseId, place),
      overdue: () => this.#inTheWay.listOverdue(databaseId),
      onClosed: (closed: TurnResult) => this.#endRaw(turn, closed, false),
      onUnopened: async (closed: TurnResult) => {
        await this.#endRaw(turn, closed, isAllClosed(closed))
        await this.#inTheWay.clear(databaseId, obstructed(turn, closed))
      },
      focus: (policy: Policy, version: string) =>
        before?.version === version ? changedTables(before.policy, policy) : undefined,
    }
  }

  /** Ends sessions that hold raw rows. Returns those that stay. */
  #endRaw({ database, databaseId, settled }: Turn, result: TurnResult, isAllClosed: boolean) {
    const isServing = hasStandbys(this.#parts.connections.targetOf(databaseId))
    const logins = settled.logins.map(({ oid }) => oid)
    return endRawSessions(database, result, { logins, hasStandbys: isServing, isAllClosed })
  }

  /** Ends sessions, compares standbys, and writes the state. */
  async #finish(turn: Turn, result: TurnResult, stored: readonly Note[], drifted: boolean) {
    const { states, findings, log, auditEveryMs, logins, standbys } = this.#parts
    const { database, databaseId, settled, lastChange } = turn
    const { unfinished, snapshot } = result
    const here = await this.#endRaw(turn, result, isAllClosed(result))
    const { blockers, ended } = await this.#inTheWay.clear(databaseId, obstructed(turn, result))
    if (ended > 0) this.#parts.audit(databaseId)
    const isCut = unfinished.some(({ sqlstate: code }) => code === sqlstate.programLimitExceeded)
    if (isCut) this.#parts.auditAfter(databaseId, portionMs)
    const losing = { open: here, logins: settled.left }
    const left = await standbys.settle(databaseId, database, result.version, losing)
    const { open, pending: waits } = left
    await replaceOpen(database, snapshot.guard.schema, here, open)
    await logins.finish(database, databaseId, settled, left.logins)
    const strangers = database.strangers()
    const more = [...settled.notes, ...noteOpen(open)]
    const turned = { result, blockers, notes: more, waits, strangers, stored }
    const { state, reason, notes } = await findings.judgeTurn(turned, this.#look(databaseId))
    const isOpen = settled.notes.length + strangers.length + open.length > 0
    if (state === null)
      return {
        isOpen,
        report: await states.writeEnforced(databaseId, { notes, drifted, auditEveryMs, lastChange }),
      }
    log.warn({ databaseId, reason }, 'some relations could not be enforced')
    await states.writeFailure(databaseId, state, reason, notes)
    return { isOpen, report: undefined }
  }

  /** For a restore of the database, and for servers that hold it. */
  async #recordPlace(databaseId: string, { version, snapshot }: TurnResult): Promise<void> {
    const place = version === '' ? null : snapshot.server.place
    if (this.#places.get(databaseId) === place) return
    await this.#parts.states.recordPlace(databaseId, place)
    this.#places.set(databaseId, place)
  }
}

const isAllClosed = ({ unfinished }: TurnResult) => unfinished.every(({ isClosed }) => isClosed)

/** What a turn left unfinished and may go on by itself. */
function obstructed(
  { database: { sql }, startedAt: since }: Turn,
  { snapshot, unfinished }: TurnResult,
): Obstructed {
  const waiting = unfinished.filter(mayPass)
  return { sql, exempt: listExemptNames(snapshot), waiting, since, twins: snapshot.records }
}

/** The turn repaired changes by hand: neither the policy nor login roles had changed. */
function isDrift(
  before: Pick<TurnResult, 'policy'> | undefined,
  { changed }: SettledLogins,
  { steps, policy }: TurnResult,
): boolean {
  return before !== undefined && changed === 0 && steps.length > 0 && isDeepStrictEqual(before.policy, policy)
}

/**
 * The tables to look at after a change of rules, however many others there are. Undefined: the change concerns all of
 * them.
 */
function changedTables(before: Policy, after: Policy): Target[] | undefined {
  const readRest = ({ exemptRoles, suspended }: Policy) => JSON.stringify([exemptRoles, suspended])
  if (before.rules.length === 0 || after.rules.length === 0) return undefined
  if (readRest(before) !== readRest(after)) return undefined
  // Rules that were not read anew are the same objects.
  const [old, current] = [new Set(before.rules), new Set(after.rules)]
  const gone = before.rules.filter((rule) => !current.has(rule))
  const come = after.rules.filter((rule) => !old.has(rule))
  return [...gone, ...come].map(({ schema, table }) => ({ schema, table }))
}
