import type { Logger } from 'pino'
import type { Database } from '../db/database.ts'
import type { Listening } from '../db/listen.ts'
import type { Note } from './assign-masks.ts'
import type { Step } from './diff.ts'
import { endSessions } from './end-sessions.ts'
import { explainFailure, Unfit } from './explain-failure.ts'
import { changedTables } from './focus.ts'
import { driftChannel } from './names.ts'
import type { Policy } from './policy.ts'
import { checkVersion, describeFinding, examine } from './preflight.ts'
import { type Outcome, reconcile } from './reconcile.ts'
import type { StateStore } from './state-store.ts'

/** A bound database, as the management side knows it. */
export interface BoundTarget {
  /** Changes with the binding: a new address needs a new connection. */
  readonly key: string
  connect(): Database
  /** Hears what the database notifies. */
  listen(channel: string, onNotification: () => void): Promise<Listening>
}

export interface Source {
  find(databaseId: string): Promise<BoundTarget | null>
  /** What the rules and the policy say right now. */
  readPolicy(databaseId: string): Promise<Policy>
}

export interface Report {
  readonly state: 'NotBound' | 'Enforced' | 'Pending' | 'Failed'
  readonly reason: string | null
  readonly notes: readonly Note[]
  readonly checkedAt: string | null
  readonly enforcedAt: string | null
  readonly driftRepairs: number
  readonly lastDriftAt: string | null
}

export interface ControllerOptions {
  readonly source: Source
  readonly states: StateStore
  readonly log: Logger
  readonly auditEveryMs: number
  onDrift?(databaseId: string, steps: number): void
}

const attempts = 6

/** Changes of a catalog come in bursts: one look is enough for all of one. */
const settleMs = 100

interface Connection {
  readonly key: string
  readonly target: BoundTarget
  readonly database: Database
  watch: Listening | null
  awake: NodeJS.Timeout | undefined
  fit: boolean
}

/** Keeps databases as their policies say: at once after a change, and again and again after that. */
export class Controller {
  readonly #options: ControllerOptions
  readonly #connections = new Map<string, Connection>()
  /** The policy that this node last saw enforced, to look only at what has changed since. */
  readonly #enforced = new Map<string, Policy>()
  #timer: NodeJS.Timeout | undefined
  #round: Promise<void> = Promise.resolve()
  #closed = false

  constructor(options: ControllerOptions) {
    this.#options = options
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
    const outcome = await reconcile(database, () => this.#options.source.readPolicy(databaseId), {
      dryRun: true,
    })
    return outcome.steps
  }

  /** A connection to the bound database, for those who look at it (exposures, previews). Null: it is not bound. */
  async connect(databaseId: string): Promise<Database | null> {
    return this.#connect(databaseId)
  }

  async #auditDue(): Promise<void> {
    try {
      for (const databaseId of await this.#options.states.takeDue(this.#options.auditEveryMs)) {
        if (this.#closed) return
        await this.#enforce(databaseId, 'audit')
      }
    } catch (err) {
      this.#options.log.warn({ err }, 'the audit of masked databases could not run')
    }
  }

  async #enforce(databaseId: string, cause: 'change' | 'audit'): Promise<void> {
    const { states, log, onDrift } = this.#options
    try {
      const database = await this.#connect(databaseId)
      if (!database) return await states.forget(databaseId)
      await this.#requireFit(databaseId)
      const before = this.#enforced.get(databaseId)
      const outcome = await this.#reconcile(database, databaseId, cause === 'change' ? before : undefined)
      this.#enforced.set(databaseId, outcome.policy)
      const drifted =
        cause === 'audit' && before !== undefined && outcome.steps.length > 0 && same(before, outcome.policy)
      await states.writeEnforced(
        databaseId,
        outcome.isWhole ? outcome.notes : null,
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
      const ended = await endSessions(database)
      if (ended > 0) log.info({ databaseId, ended }, 'sessions of roles that are no longer exempt ended')
    } catch (error) {
      this.#enforced.delete(databaseId)
      const { passing, reason: why, lacksPrivilege } = explainFailure(error)
      const reason = (lacksPrivilege && (await this.#findMissing(databaseId))) || why
      log.warn({ databaseId, reason, err: error }, 'masks could not be enforced')
      await states.writeFailure(databaseId, passing ? 'Pending' : 'Failed', reason)
    }
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

  /** What to grant, as statements; null when that is not what is wrong. */
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

  /** "tuple concurrently updated" and locks held for a moment are tried again; nothing is ever half applied. */
  async #reconcile(database: Database, databaseId: string, before: Policy | undefined): Promise<Outcome> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await reconcile(database, () => this.#options.source.readPolicy(databaseId), {
          focus: (policy) => changedTables(before, policy),
        })
      } catch (error) {
        const { passing, reason } = explainFailure(error)
        if (!passing || attempt === attempts || reason.includes('reached')) throw error
        await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** attempt))
      }
    }
  }

  /** Where the database tells of changes, we listen; where it cannot, the audit has to do. */
  async #watch(databaseId: string): Promise<void> {
    const connection = this.#connections.get(databaseId)
    if (!connection || (connection.watch && !connection.watch.lost) || this.#closed) return
    const wake = () => {
      connection.awake ??= setTimeout(() => {
        connection.awake = undefined
        if (this.#closed) return
        this.#enforce(databaseId, 'audit').catch((err) =>
          this.#options.log.warn({ databaseId, err }, 'a masked database could not be looked at'),
        )
      }, settleMs)
    }
    connection.watch = await connection.target.listen(driftChannel, wake).catch(() => null)
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
      awake: undefined,
      fit: false,
    })
    return database
  }
}

async function disconnect({ database, watch, awake }: Connection): Promise<void> {
  clearTimeout(awake)
  await watch?.close()
  await database.close()
}

function same(one: Policy, other: Policy): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
