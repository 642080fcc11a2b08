import type { Logger } from 'pino'
import type { Database } from '../db/database.ts'
import { changedTables } from './changed-tables.ts'
import { CoalescedJobs } from './coalesced-jobs.ts'
import type { Claimant } from './guard/claim.ts'
import { isExemptAsMeant } from './guard/compare-exempt.ts'
import { type DriftWatch, watchDrift } from './guard/watch-drift.ts'
import {
  type LoginKeys,
  type LoginOutcome,
  type LoginSource,
  Logins,
  type SettledLogins,
} from './logins/logins.ts'
import type { Note, Step } from './plan.ts'
import type { Policy } from './policy.ts'
import { checkVersion, describeFinding, examine } from './preflight/preflight.ts'
import { dryRun, type Outcome, reconcile } from './reconcile.ts'
import { endSessions } from './sessions/end-exempt-sessions.ts'
import { explainFailure, Unfit } from './states/explain-failure.ts'
import type { Report, StateStore } from './states/state-store.ts'

/** A bound database, as the management side knows it. */
export interface BoundTarget {
  /** Changes with the binding: a new address needs a new connection. */
  readonly key: string
  connect(): Database
}

export interface Source extends LoginSource {
  find(databaseId: string): Promise<BoundTarget | null>
  /** Reads the rules and the policy as they are now. Principals of the directory are exempt through their login roles. */
  readPolicy(databaseId: string): Promise<Policy & { readonly exemptPrincipals: readonly string[] }>
  /** For masks that may be another bound database's. */
  claimantOf(databaseId: string): Claimant
}

export interface ControllerOptions {
  readonly source: Source
  readonly loginKeys: LoginKeys
  readonly states: StateStore
  readonly log: Logger
  readonly auditEveryMs: number
  onDrift?(databaseId: string, steps: number): void
}

const attempts = 6

/** Changes of a catalog come in bursts: one look is enough for all of one. */
const settleMs = 100

const noLogins: SettledLogins = { changed: 0, ended: 0, notes: [], logins: [], dismissed: [] }

interface Connection {
  readonly key: string
  readonly target: BoundTarget
  readonly database: Database
  watch: DriftWatch | null
  fit: boolean
}

/** Keeps databases as their policies say: at once after a change, and again and again after that. */
export class Controller {
  readonly #options: ControllerOptions
  readonly #connections = new Map<string, Connection>()
  /** The last outcome of this node: tables that have not changed since are skipped, unless another node wrote in between. */
  readonly #enforced = new Map<string, Pick<Outcome, 'policy' | 'record'>>()
  readonly #logins: Logins
  readonly #told = new Map<string, string>()
  readonly #audits: CoalescedJobs
  #timer: NodeJS.Timeout | undefined
  #round: Promise<void> = Promise.resolve()
  #closed = false

  constructor(options: ControllerOptions) {
    this.#options = options
    this.#audits = new CoalescedJobs(settleMs, (databaseId, err) =>
      options.log.warn({ databaseId, err }, 'a masked database could not be looked at'),
    )
    this.#logins = new Logins({ source: options.source, keys: options.loginKeys, log: options.log })
  }

  start(): void {
    const tick = () => {
      this.#round = this.#auditDue().finally(() => {
        if (!this.#closed) this.#timer = setTimeout(tick, Math.min(1000, this.#options.auditEveryMs)).unref()
      })
    }
    tick()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#round
    await this.#audits.close()
    await Promise.all([...this.#connections.values()].map(disconnect))
  }

  async report(databaseId: string): Promise<Report> {
    return this.#options.states.read(databaseId)
  }

  /** After a change of the policy: enforces it now where that is possible. */
  async settle(databaseId: string): Promise<Report> {
    await this.#enforce(databaseId, 'change')
    return this.report(databaseId)
  }

  /** The dry run: what would be done, and nothing is. */
  async plan(databaseId: string): Promise<readonly Step[]> {
    const database = await this.#connect(databaseId)
    if (!database) return []
    const claimant = this.#options.source.claimantOf(databaseId)
    return dryRun(database, () => this.#readPolicy(database, databaseId), claimant)
  }

  /** The policy with principals resolved to roles of the database. */
  async readPolicy(databaseId: string): Promise<Policy> {
    const database = await this.#connect(databaseId)
    return database ? this.#readPolicy(database, databaseId) : this.#options.source.readPolicy(databaseId)
  }

  /** After a change of the directory: enforces what it changes in the database, if anything. True: something was. */
  async follow(databaseId: string): Promise<boolean> {
    if (await this.#isAsMeant(databaseId)) return false
    await this.#enforce(databaseId, 'login')
    return true
  }

  async #isAsMeant(databaseId: string): Promise<boolean> {
    try {
      const database = await this.#connect(databaseId)
      if (!database) return true
      const logins = await this.#logins.settle(database, databaseId)
      if (logins.changed > 0 || logins.dismissed.length > 0) return false
      const { exemptRoles } = await this.#readPolicy(database, databaseId, logins)
      return await isExemptAsMeant(database.sql, exemptRoles)
    } catch {
      // Enforcing will say what is wrong, and will be tried again.
      return false
    }
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
    const database = await this.#connect(databaseId)
    if (!database) return { kind: 'notBound' }
    const outcome = await this.#logins.prepare(database, databaseId, principalId, options)
    if (outcome.kind !== 'ready' || !outcome.changed) return outcome
    const { exemptRoles } = await this.#options.source.readPolicy(databaseId)
    // Without exempt roles, a login role has only the privileges of the roles it is a member of.
    if (exemptRoles.length > 0) await this.#enforce(databaseId, 'login')
    return outcome
  }

  /** A connection to the bound database, for those who look at it (exposures, previews). Null: it is not bound. */
  async connect(databaseId: string): Promise<Database | null> {
    return this.#connect(databaseId)
  }

  async #auditDue(): Promise<void> {
    try {
      for (const databaseId of await this.#options.states.takeDue(this.#options.auditEveryMs))
        this.#audit(databaseId)
    } catch (err) {
      this.#options.log.warn({ err }, 'the audit of masked databases could not run')
    }
  }

  #audit(databaseId: string): void {
    this.#audits.request(databaseId, () => this.#enforce(databaseId, 'audit'))
  }

  async #enforce(databaseId: string, cause: 'change' | 'login' | 'audit'): Promise<void> {
    const { states, log, onDrift } = this.#options
    try {
      const database = await this.#connect(databaseId)
      if (!database) return await states.forget(databaseId)
      await this.#requireFit(databaseId)
      const before = this.#enforced.get(databaseId)
      const logins = await this.#settleLogins(database, databaseId)
      const settled = 'error' in logins ? noLogins : logins
      this.#tell(databaseId, settled.notes)
      const isPartial = cause === 'change' && settled.changed === 0 && !('error' in logins)
      const known = 'error' in logins ? undefined : logins
      const outcome = await this.#reconcile(database, databaseId, known, isPartial ? before : undefined)
      this.#enforced.set(databaseId, outcome)
      const isUnasked = cause === 'audit' && before !== undefined && settled.changed === 0
      const drifted = isUnasked && outcome.steps.length > 0 && same(before.policy, outcome.policy)
      await states.writeEnforced(
        databaseId,
        outcome.isWhole ? [...outcome.notes, ...settled.notes] : null,
        drifted,
        this.#options.auditEveryMs,
      )
      const unmasked = outcome.notes.find(({ code }) => code === 'NotMasked')
      if (unmasked) await states.writeFailure(databaseId, 'Failed', unmasked.message)
      if (drifted) {
        log.warn({ databaseId, steps: outcome.steps.map(({ why }) => why) }, 'drift repaired')
        onDrift?.(databaseId, outcome.steps.length)
      }
      if (outcome.desired.masked.length > 0) await this.#watch(databaseId)
      const ended = await endSessions(database, settled.logins)
      if (ended > 0) log.info({ databaseId, ended }, 'sessions of roles that are no longer exempt ended')
      await this.#logins.sweep(database, settled)
      if ('error' in logins) throw logins.error
    } catch (error) {
      this.#enforced.delete(databaseId)
      const { passing, reason: why, lacksPrivilege } = explainFailure(error)
      const reason = (lacksPrivilege && (await this.#findMissing(databaseId))) || why
      log.warn({ databaseId, reason, err: error }, 'masks or login roles could not be enforced')
      await states.writeFailure(databaseId, passing ? 'Pending' : 'Failed', reason)
    }
  }

  /** Once, and again when there is something else to say. */
  #tell(databaseId: string, notes: readonly Note[]): void {
    const messages = notes.map(({ message }) => message)
    const text = messages.join('\n')
    if (text === (this.#told.get(databaseId) ?? '')) return
    this.#told.set(databaseId, text)
    if (text !== '') this.#options.log.warn({ databaseId, messages }, 'login roles are not as mappings say')
  }

  /** A server that shows samples of hidden columns is not masked: that would only look safe. */
  async #requireFit(databaseId: string): Promise<void> {
    const connection = this.#connections.get(databaseId)
    if (!connection || connection.fit) return
    const [row] = await connection.database.sql<{ version: number }[]>`
      select current_setting('server_version_num')::int as version`
    const [tooOld] = checkVersion(row?.version ?? 0)
    if (tooOld) throw new Unfit(describeFinding(tooOld))
    connection.fit = true
  }

  /** The missing privileges as statements; null when none is missing. */
  async #findMissing(databaseId: string): Promise<string | null> {
    try {
      const database = await this.#connect(databaseId)
      if (!database) return null
      const { rules } = await this.#options.source.readPolicy(databaseId)
      const { refusals } = await examine(database.sql, rules)
      return refusals.length === 0 ? null : refusals.map(describeFinding).join(' ')
    } catch {
      return null
    }
  }

  /** An error with login roles must not keep tables from being masked: it is thrown after that. */
  async #settleLogins(database: Database, databaseId: string): Promise<SettledLogins | { error: unknown }> {
    try {
      return await this.#logins.settle(database, databaseId)
    } catch (error) {
      return { error }
    }
  }

  /** A login role counts by whom it was made for: one that others made under its name is not exempt with it. */
  async #readPolicy(
    database: Database,
    databaseId: string,
    known?: Pick<SettledLogins, 'logins'>,
  ): Promise<Policy> {
    const { exemptPrincipals, ...policy } = await this.#options.source.readPolicy(databaseId)
    if (exemptPrincipals.length === 0) return policy
    const logins = known?.logins ?? (await this.#logins.list(database.sql, databaseId))
    const exempt = new Set(exemptPrincipals)
    const roles = logins.filter(({ mark }) => exempt.has(mark.principalId)).map(({ name }) => name)
    return { ...policy, exemptRoles: [...new Set([...policy.exemptRoles, ...roles])].sort() }
  }

  /** "tuple concurrently updated" and locks held for a moment are tried again; nothing is ever half applied. */
  async #reconcile(
    database: Database,
    databaseId: string,
    logins: Pick<SettledLogins, 'logins'> | undefined,
    before: Pick<Outcome, 'policy' | 'record'> | undefined,
  ): Promise<Outcome> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await reconcile(database, () => this.#readPolicy(database, databaseId, logins), {
          claimant: this.#options.source.claimantOf(databaseId),
          focus: (policy, record) =>
            before?.record === record ? changedTables(before.policy, policy) : undefined,
        })
      } catch (error) {
        const { passing, reason } = explainFailure(error)
        if (!passing || attempt === attempts || reason.includes('reached')) throw error
        await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** attempt))
      }
    }
  }

  /** Where the database tells of changes, they are audited within a second; elsewhere the periodic audit finds them. */
  async #watch(databaseId: string): Promise<void> {
    const connection = this.#connections.get(databaseId)
    if (!connection || (connection.watch && !connection.watch.lost) || this.#closed) return
    const wake = () => this.#audit(databaseId)
    connection.watch = await watchDrift(connection.database, wake).catch(() => null)
  }

  async #connect(databaseId: string): Promise<Database | null> {
    const target = await this.#options.source.find(databaseId)
    const known = this.#connections.get(databaseId)
    if (target && known?.key === target.key) return known.database
    this.#connections.delete(databaseId)
    this.#enforced.delete(databaseId)
    if (known) void disconnect(known)
    if (!target) return null
    const database = target.connect()
    this.#connections.set(databaseId, {
      key: target.key,
      target,
      database,
      watch: null,
      fit: false,
    })
    return database
  }
}

async function disconnect({ database, watch }: Connection): Promise<void> {
  watch?.close()
  await database.close()
}

function same(one: Policy, other: Policy): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
