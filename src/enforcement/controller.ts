import { isDeepStrictEqual } from 'node:util'
import type { Database } from '../db/database.ts'
import type { Sql } from '../db/sql.ts'
import { CoalescedJobs } from './coalesced-jobs.ts'
import { Connections } from './connections.ts'
import type { ControllerOptions } from './controller-options.ts'
import type { Outcome } from './in-turn.ts'
import { isAsMeant } from './is-as-meant.ts'
import { createNoteLog } from './logins/create-note-log.ts'
import { createStandbyEnding } from './logins/end-at-standbys.ts'
import { createNeighbourFinder } from './logins/find-neighbours.ts'
import { type LoginOutcome, Logins, loginCodes, noLogins } from './logins/logins.ts'
import { foreignServer } from './notes.ts'
import type { Step } from './plan.ts'
import type { Policy, Proposal } from './policy.ts'
import { PolicyReader } from './policy-reader.ts'
import { createExemptElsewhere } from './preflight/exempt-elsewhere.ts'
import { dryRun } from './reconcile.ts'
import { ReleaseWatch } from './sessions/release-watch.ts'
import { Standbys } from './standbys.ts'
import { attempts, type Occasion, pauseMs, settleMs } from './states/attempts.ts'
import { findCause, Obstructions } from './states/find-cause.ts'
import { OrderedWrites } from './states/ordered-writes.ts'
import { type Report, unenforcedChange } from './states/state-store.ts'
import { TurnQueue } from './turn-queue.ts'
import { TurnSteps } from './turn-steps.ts'
import { createNeighbourWarning } from './warn-neighbours.ts'

type Written = Report | undefined

/** Keeps databases as their policies say: at once after a change, and again and again after that. */
export class Controller {
  readonly #options: ControllerOptions
  readonly #auditEveryMs: number
  readonly #connections: Connections
  /** The last outcome of this node: tables that have not changed since are skipped, unless another node wrote in between. */
  readonly #enforced = new Map<string, Pick<Outcome, 'policy' | 'record' | 'notes'>>()
  readonly #logins: Logins
  readonly #policies: PolicyReader
  readonly #warnNeighbours: ReturnType<typeof createNeighbourWarning>
  readonly standbys: Standbys
  readonly #tell: ReturnType<typeof createNoteLog>
  readonly #audits: CoalescedJobs
  readonly #turns = new TurnQueue<Written>()
  readonly #writes = new OrderedWrites()
  readonly #steps: TurnSteps
  readonly #obstructions: Obstructions
  readonly #releases = new ReleaseWatch((databaseId) => this.#audit(databaseId))
  #timer: NodeJS.Timeout | undefined
  #round: Promise<void> = Promise.resolve()
  #closed = false

  constructor(options: ControllerOptions) {
    this.#options = options
    this.#tell = createNoteLog(options.log)
    this.#auditEveryMs = options.timing.auditSeconds * 1000
    const limitMs = options.timing.lockLimitSeconds * 1000
    this.#audits = new CoalescedJobs(settleMs, (databaseId, err) =>
      options.log.warn({ databaseId, err }, 'a masked database could not be looked at'),
    )
    this.#connections = new Connections(options.source, (databaseId) => this.#enforced.delete(databaseId))
    this.standbys = new Standbys(this, options.source)
    this.#obstructions = new Obstructions(limitMs)
    const { source, loginKeys: keys, log } = options
    const list = options.states.listExemptElsewhere
    const readExemptElsewhere = createExemptElsewhere(list)
    const bindingOf = this.#connections.keyOf.bind(this.#connections)
    const askForTurn = (databaseId: string) => this.#auditAfter(databaseId, pauseMs)
    this.#logins = new Logins({ source, keys, log, bindingOf, readExemptElsewhere, askForTurn })
    this.#policies = new PolicyReader({ ...options, logins: this.#logins })
    const endAtStandbys = createStandbyEnding({
      logins: this.#logins,
      listOthers: (databaseId, primary) => {
        const target = this.#connections.targetOf(databaseId)
        if (!target) throw new Error('the binding was removed')
        return this.standbys.listOthers(databaseId, target, primary)
      },
    })
    const parts = {
      ...options,
      endAtStandbys,
      connections: this.#connections,
      logins: this.#logins,
      policies: this.#policies,
      releases: this.#releases,
      standbys: this.standbys,
      auditEveryMs: this.#auditEveryMs,
      auditAfter: this.#auditAfter.bind(this),
      ask: this.#ask.bind(this),
    }
    this.#steps = new TurnSteps(parts, limitMs)
    this.#warnNeighbours = createNeighbourWarning({
      connections: this.#connections,
      logins: this.#logins,
      log,
      endAtStandbys,
      audit: (id) => this.#audit(id),
    })
  }

  start(): void {
    const tick = () => {
      this.#round = this.#auditDue().finally(() => {
        if (!this.#closed) this.#timer = setTimeout(tick, Math.min(1000, this.#auditEveryMs)).unref()
      })
    }
    tick()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#releases.close()
    await this.#round
    await this.#audits.close()
    await Promise.all([this.standbys.close(), this.#connections.close()])
  }

  async report(databaseId: string): Promise<Report> {
    return this.#options.states.read(databaseId)
  }

  /** After a change of the policy: enforces it now where that is possible. */
  async settle(databaseId: string): Promise<Report> {
    const written = await this.#takeTurn(databaseId, 'change')
    if (written) return written
    const report = await this.report(databaseId)
    // A later change keeps the turn from writing that this one is enforced. One turn more enforces both.
    if (report.reason !== unenforcedChange) return report
    return (await this.#takeTurn(databaseId, 'change')) ?? this.report(databaseId)
  }

  /** The dry run: what would be done, and nothing is. */
  async plan(databaseId: string): Promise<readonly Step[]> {
    const database = await this.#connections.open(databaseId)
    if (!database) return []
    const claimant = this.#options.source.claimantOf(databaseId)
    const kept = this.#options.states.keptRecordsOf(databaseId)
    const findNeighbours = createNeighbourFinder(databaseId, this.#options.loginKeys)
    return dryRun(database, (sql) => this.#policies.read(sql, databaseId), { claimant, kept, findNeighbours })
  }

  /** The policy, or a proposed one, with principals resolved to roles of the database. */
  async readPolicy(databaseId: string, proposed?: Proposal, within?: Sql): Promise<Policy> {
    const sql = within ?? (await this.#connections.open(databaseId))?.sql
    return sql
      ? this.#policies.read(sql, databaseId, undefined, proposed)
      : this.#options.source.readPolicy(databaseId, proposed)
  }

  /** After a change of the directory: enforces what it changes in the database, if anything. True: something was. */
  async follow(databaseId: string): Promise<boolean> {
    const parts = { connections: this.#connections, logins: this.#logins, policies: this.#policies }
    if (await isAsMeant(parts, databaseId)) return false
    await this.#takeTurn(databaseId, 'login')
    return true
  }

  /**
   * Before a user or application of the directory logs in: creates or corrects its login role, and applies its
   * exemption. `reset`: the database did not take the password.
   */
  async prepareLogin(
    databaseId: string,
    principalId: string,
    options: { readonly reset?: boolean } = {},
  ): Promise<LoginOutcome> {
    const database = await this.#connections.openFit(databaseId)
    if (!database) return { kind: 'notBound' }
    const outcome = await this.#logins.prepare(database, databaseId, principalId, options)
    if (outcome.kind !== 'ready') return outcome
    // Without exemptions, the controller gives a login role only the roles it is a member of; turns revoke other privileges.
    if (outcome.changed && (await this.#policies.hasExempt(databaseId)))
      await this.#takeTurn(databaseId, 'login')
    const isEnding = await this.#policies.isStillExempt(database.sql, databaseId, principalId, outcome.login)
    return isEnding ? { kind: 'stillExempt' } : outcome
  }

  /** A connection to the bound database, for those who look at it (exposures, previews). Null: it is not bound. */
  async connect(databaseId: string): Promise<Database | null> {
    return this.#connections.open(databaseId)
  }

  async #auditDue(): Promise<void> {
    try {
      await this.#connections.sweep()
      for (const databaseId of await this.#options.states.takeDue(this.#auditEveryMs)) this.#audit(databaseId)
    } catch (err) {
      this.#options.log.warn({ err }, 'the audit of masked databases could not run')
    }
  }

  #audit(databaseId: string): void {
    this.#audits.request(databaseId, () => this.#takeTurn(databaseId, 'audit'))
  }

  /** A turn at a former binding, whose server may hang, delays none at the next one. */
  async #takeTurn(databaseId: string, asked: Occasion): Promise<Written> {
    const database = await this.#connections.open(databaseId).catch(() => null)
    const key = `${databaseId} ${database && this.#connections.keyOf(database)}`
    return this.#turns.request(key, asked, (occasion, leave) => this.#enforce(databaseId, occasion, leave))
  }

  /** Returns the state that it wrote, where the policy is enforced. `leave`: the next turn may begin. */
  async #enforce(databaseId: string, occasion: Occasion, leave: () => void, turn = 1): Promise<Written> {
    const { states, log, onDrift } = this.#options
    const writes = this.#writes.begin(databaseId)
    let hasLeft = false
    try {
      const { lastChange, hasUnmasked } = await states.readBeforeTurn(databaseId)
      const database = await this.#connections.openFit(databaseId)
      if (!database) return void (await states.forget(databaseId))
      const before = this.#enforced.get(databaseId)
      const logins = await this.#steps.settleLogins(database, databaseId)
      const settled = 'error' in logins ? noLogins : logins
      this.#tell(databaseId, settled.notes)
      // A look at some tables would not see the others that are not masked. The turn before may not have written its state yet.
      const isUnmasked = hasUnmasked || before?.notes.some(({ code }) => code === 'NotMasked')
      const isPartial = occasion === 'change' && settled.changed === 0 && !('error' in logins) && !isUnmasked
      const known = 'error' in logins ? undefined : logins
      const { outcome, unfinished } = await this.#steps.reconcile(
        { database, databaseId, occasion },
        known,
        isPartial && before,
      )
      this.#obstructions.forget(databaseId)
      if (unfinished.length === 0) this.#enforced.set(databaseId, outcome)
      else this.#enforced.delete(databaseId)
      const isUnasked = occasion === 'audit' && before !== undefined && settled.changed === 0
      const drifted =
        isUnasked && outcome.steps.length > 0 && isDeepStrictEqual(before.policy, outcome.policy)
      const open = await this.#steps.endSessions(database, databaseId, settled, outcome, unfinished)
      // A standby that lags must not delay the next turn, which may be a withdrawal. After an error this one may be taken again.
      hasLeft = !('error' in logins)
      if (hasLeft) leave()
      const { heldRoles = [] } = outcome.policy
      const warned = this.#warnNeighbours(heldRoles)
      const notes = [...settled.notes, ...open.notes, ...database.strangers().map(foreignServer)]
      const ended = await this.#steps.endAtStandbys(databaseId, database, settled, occasion, writes)
      const renewed = known ? loginCodes : []
      const left = { ...open, notes, writes, renewed, unended: ended.pending }
      const facts = { drifted, lastChange }
      const written = await this.#steps.writeState(databaseId, database, outcome, unfinished, left, facts)
      if (drifted) {
        log.warn({ databaseId, steps: outcome.steps.map(({ why }) => why) }, 'drift repaired')
        onDrift?.(databaseId, outcome.steps.length)
      }
      if (outcome.desired.masked.length > 0 && !this.#closed)
        await this.#connections.watch(databaseId, () => this.#audit(databaseId))
      await this.#logins.sweep(database, { ...settled, left: ended.left })
      if ('error' in logins) throw logins.error
      if (heldRoles.length === 0 || occasion !== 'change') return written
      await warned
      return await this.#takeTurn(databaseId, 'login')
    } catch (error) {
      this.#enforced.delete(databaseId)
      const cause = await findCause(error, () => this.#ask(databaseId), this.#obstructions)
      const { state, reason, dueMs, isHeld = null } = cause
      log.warn({ databaseId, reason, err: error }, 'masks or login roles could not be enforced')
      // The session in the way has been ended: an audit would wait as long as this turn took.
      if (dueMs === 0 && turn < attempts && !hasLeft)
        return await this.#enforce(databaseId, occasion, leave, turn + 1)
      this.#auditAfter(databaseId, dueMs)
      const expect = () => this.#releases.expect(databaseId, isHeld)
      return void (await writes.fail(expect, () => states.writeFailure(databaseId, state, reason)))
    }
  }

  async #ask(databaseId: string) {
    const database = await this.#connections.open(databaseId)
    if (!database) return null
    const policy = await this.#policies
      .read(database.sql, databaseId)
      .catch(() => this.#options.source.readPolicy(databaseId))
    const { login = { user: '', database: '' } } = this.#connections.targetOf(databaseId) ?? {}
    return { databaseId, database, policy, login }
  }

  /** A session is due to be ended then, if it is still in the way, or a mark to be removed. */
  #auditAfter(databaseId: string, ms: number | null): void {
    if (ms !== null && !this.#closed) setTimeout(() => this.#audit(databaseId), ms + 50).unref()
  }
}
