import { isDeepStrictEqual } from 'node:util'
import type { BeforeTurn, DueDatabase, EnforcementReport } from '../../contracts/enforcement.ts'
import type { Database } from '../../db/database.ts'
import type { Place } from '../../db/database-url.ts'
import type { Sql } from '../../db/sql.ts'
import { CoalescedJobs, type Occasion, TurnQueue } from '../../kernel/jobs.ts'
import { Standbys } from '../../sessions/standbys.ts'
import type { Statement } from '../model.ts'
import type { Policy, Proposal } from '../policy.ts'
import { readStandings } from '../read/mask-version.ts'
import { takeTurn } from '../turn.ts'
import { Unfit } from '../unfit.ts'
import { Connections } from './connections.ts'
import type { LoginKeeper, LoginOutcome, OpenLogins, PolicyReader } from './login-port.ts'
import { type Taken, type TurnNeeds, Turns } from './take-turns.ts'
import { CatalogWatch, readSeen, unseen } from './watch-catalogs.ts'

interface ControllerOptions extends TurnNeeds {
  readonly openLogins: OpenLogins
  readonly timing: {
    readonly auditSeconds: number
    /** So long a session may hold a lock against enforcement. */
    readonly lockLimitSeconds: number
  }
  /** Has the function hear every few seconds whether a database is due. Returns what ends that. */
  askDue(hear: (isDue: boolean) => void): () => void
  /** For what is found out about a database after a turn, which waits for none of it. */
  afterTurn?(databaseId: string, hasChanged: boolean): void
}

/** Changes of a catalog come in bursts: one look is enough for all of one. */
const gatherMs = 100

/** The reason that the trigger `note_policy_change` gives: a change was stored after the last turn that wrote a state began. */
const unenforcedChange = 'A change has not been enforced yet.'

/** Keeps databases as their policies say: at once after a change, and again and again after that. */
export class Controller {
  readonly #options: ControllerOptions
  readonly #auditEveryMs: number
  readonly #connections: Connections
  readonly #logins: LoginKeeper
  readonly #policies: PolicyReader
  readonly standbys: Standbys
  readonly #audits: CoalescedJobs
  readonly #catalogs: CatalogWatch
  readonly #queue = new TurnQueue<Taken>()
  readonly #turns: Turns
  #stopAsking = () => {}
  #round: Promise<void> | undefined
  #closed = false

  constructor(options: ControllerOptions) {
    this.#options = options
    const { source, log, timing } = options
    this.#auditEveryMs = timing.auditSeconds * 1000
    const warn = (databaseId: string, err: unknown) =>
      log.warn({ databaseId, err }, 'a masked database could not be looked at')
    this.#audits = new CoalescedJobs(gatherMs, warn)
    const audit = (databaseId: string) => this.#audit(databaseId)
    const auditEveryMs = this.#auditEveryMs
    const connections = new Connections(source, options.findings, (databaseId) => {
      this.#turns.forget(databaseId)
      this.#catalogs.forget(databaseId)
    })
    this.#connections = connections
    this.standbys = new Standbys(connections, readStandings)
    const read = async (databaseId: string, guard: string | null) => {
      // Asking the store each time would take longer than the reading.
      const database = connections.recall(databaseId)
      return database ? readSeen(database.sql, guard) : unseen
    }
    const giveWay = connections.giveWay.bind(connections)
    this.#catalogs = new CatalogWatch({ auditEveryMs, read, audit, giveWay })
    const { logins, policies } = options.openLogins(connections.keyOf.bind(connections))
    this.#logins = logins
    this.#policies = policies
    this.#turns = new Turns({
      ...options,
      ...{ connections, audit, auditEveryMs, standbys: this.standbys, catalogs: this.#catalogs },
      ...{ logins, policies, lockLimitMs: timing.lockLimitSeconds * 1000 },
      auditAfter: (databaseId, ms) => this.#auditAfter(databaseId, ms),
    })
  }

  start(): void {
    const look = (isDue: boolean) => {
      this.#round ??= this.#auditDue(isDue).finally(() => {
        this.#round = undefined
      })
    }
    this.#stopAsking = this.#options.askDue(look)
    look(true)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopAsking()
    this.#turns.close()
    await this.#round
    await this.#audits.close()
    await Promise.all([this.standbys.close(), this.#connections.close()])
  }

  async report(databaseId: string): Promise<EnforcementReport> {
    return this.#options.states.read(databaseId)
  }

  /** After a change of the policy: enforces it now where that is possible. */
  async settle(databaseId: string): Promise<EnforcementReport> {
    const written = await this.#takeTurn(databaseId, 'change')
    if (written) return written
    const report = await this.report(databaseId)
    // A later change keeps the turn from writing that this one is enforced. One turn more enforces both.
    if (report.reason !== unenforcedChange) return report
    return (await this.#takeTurn(databaseId, 'change')) ?? this.report(databaseId)
  }

  /**
   * The dry run: what would be done, and nothing is. None where the masks belong to another resource, which the state
   * says.
   */
  async plan(databaseId: string): Promise<readonly Statement[]> {
    const database = await this.#connections.open(databaseId)
    if (!database) return []
    const claimant = this.#options.source.claimantOf(databaseId)
    const readPolicy = (sql: Sql) => this.#policies.read(sql, databaseId)
    return takeTurn(database, readPolicy, { dryRun: true, claimant }).then(
      ({ steps }) => steps,
      (error: unknown) => {
        if (error instanceof Unfit) return []
        throw error
      },
    )
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
    // Enforcing will say what is wrong, and will be tried again.
    if (await this.#isAsMeant(databaseId).catch(() => false)) return false
    await this.#takeTurn(databaseId, 'login')
    return true
  }

  /** False: login roles were changed, or other roles are exempt than this node has seen. */
  async #isAsMeant(databaseId: string): Promise<boolean> {
    const database = await this.#connections.openFit(databaseId)
    if (!database) return true
    const settled = await this.#logins.settle(database, databaseId)
    if (settled.changed > 0 || settled.dismissed.length > 0) return false
    const { exemptRoles } = await this.#policies.read(database.sql, databaseId, settled)
    return isDeepStrictEqual(exemptRoles, this.#turns.recallExempt(databaseId))
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
    // Without exemptions, the controller gives a login role only the roles it is a member of; turns revoke other
    // privileges.
    if (outcome.changed && (await this.#policies.hasExempt(databaseId)))
      await this.#takeTurn(databaseId, 'login')
    const isEnding = await this.#policies.isStillExempt(database.sql, databaseId, principalId, outcome.login)
    return isEnding ? { kind: 'stillExempt' } : outcome
  }

  /** A connection to the bound database, for those who look at it (exposures, previews). Null: it is not bound. */
  async connect(databaseId: string): Promise<Database | null> {
    return this.#connections.open(databaseId)
  }

  /**
   * Where the primary of a database on several hosts is. It is asked first: where it does not answer, its connections
   * look for the next one. Undefined: none answers, or the database has one host.
   */
  async findPrimary(databaseId: string): Promise<Place | undefined> {
    const database = await this.connect(databaseId)
    if (!database) return undefined
    return await database.sql`select`.then(
      () => database.primary(),
      () => undefined,
    )
  }

  async #auditDue(isDue: boolean): Promise<void> {
    try {
      await this.#connections.sweep()
      const due = isDue ? await this.#options.states.takeDue(this.#auditEveryMs) : []
      // A server that hangs delays no other.
      void Promise.all([
        this.#catalogs.readDue(this.#connections.list()),
        ...due.map((one) => this.#auditUnlessQuiet(one)),
      ])
    } catch (err) {
      this.#options.log.warn({ err }, 'the audit of masked databases could not run')
    }
  }

  async #auditUnlessQuiet({ id, lastChange }: DueDatabase): Promise<void> {
    if (lastChange === null || !(await this.#isQuiet(id, lastChange).catch(() => false))) this.#audit(id)
    else await this.#options.states.noteChecked(id).catch(() => {})
  }

  async #isQuiet(databaseId: string, lastChange: number): Promise<boolean> {
    if (!(await this.#catalogs.isQuiet(databaseId, lastChange))) return false
    // A session that sets its own password, or begins in another database, moves no counter.
    const database = await this.#connections.openFit(databaseId)
    const settled = database && (await this.#logins.settle(database, databaseId))
    return settled?.changed === 0 && settled.notes.length === 0
  }

  #audit(databaseId: string): void {
    this.#audits.request(databaseId, () => this.#takeTurn(databaseId, 'audit'))
  }

  /** A session is due to be ended then, or a mark to be removed. */
  #auditAfter(databaseId: string, ms: number): void {
    if (!this.#closed) setTimeout(() => this.#audit(databaseId), ms).unref()
  }

  /** A turn at a former binding, whose server may hang, delays none at the next one. */
  async #takeTurn(databaseId: string, asked: Occasion): Promise<EnforcementReport | undefined> {
    let known: BeforeTurn | undefined = await this.#options.states.readBeforeTurn(databaseId)
    const turn = this.#queue.request(`${databaseId} ${known.binding}`, asked, async (occasion) => {
      const taken = await this.#turns.take(databaseId, occasion, known)
      this.#options.afterTurn?.(databaseId, taken.hasChanged)
      return taken
    })
    // A turn that has waited reads it anew.
    known = undefined
    return (await turn).report
  }
}
