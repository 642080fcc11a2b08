import type { Database } from '../db/database.ts'
import type { Sql } from '../db/sql.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import { changedTables } from './changed-tables.ts'
import type { Connections } from './connections.ts'
import type { ControllerOptions } from './controller-options.ts'
import { describeHeld } from './hold-exempt.ts'
import { isGuarded, type Outcome } from './in-turn.ts'
import type { EndAtStandbys, EndedAtStandbys } from './logins/end-at-standbys.ts'
import { createNeighbourFinder } from './logins/find-neighbours.ts'
import type { Logins, SettledLogins } from './logins/logins.ts'
import type { Note } from './plan.ts'
import type { Policy } from './policy.ts'
import type { PolicyReader } from './policy-reader.ts'
import { reconcilePatiently } from './reconcile-patiently.ts'
import { BlockerWatch, findBlockers } from './sessions/blockers.ts'
import { type LeftOpen, noneLeft, RawSessions } from './sessions/raw-sessions.ts'
import type { ReleaseWatch } from './sessions/release-watch.ts'
import { listStandbys, type Standbys } from './standbys.ts'
import { type Occasion, pauseMs } from './states/attempts.ts'
import { joinReasons } from './states/cap-notes.ts'
import { findMissing } from './states/find-cause.ts'
import { judgeUnfinished, mergeNotes } from './states/judge-unfinished.ts'
import type { OrderedWrites } from './states/ordered-writes.ts'
import type { Enforced, Report } from './states/state-store.ts'
import type { Unfinished } from './unfinished.ts'

type Writes = ReturnType<OrderedWrites['begin']>

interface Parts extends Pick<ControllerOptions, 'source' | 'states' | 'loginKeys' | 'leaseOf' | 'log'> {
  readonly connections: Connections
  readonly logins: Logins
  readonly policies: PolicyReader
  readonly releases: ReleaseWatch
  readonly standbys: Standbys
  readonly endAtStandbys: EndAtStandbys
  readonly auditEveryMs: number
  /** Null: no audit is due. */
  readonly auditAfter: (databaseId: string, ms: number | null) => void
  readonly ask: (databaseId: string) => ReturnType<Parameters<typeof findMissing>[0]>
}

/** What one turn of the controller does in a database, step by step; the controller says when and in which order. */
export class TurnSteps {
  readonly #parts: Parts
  readonly #blockers: BlockerWatch
  readonly #raw: RawSessions

  /** `limitMs`: how long a session may be in the way before it is ended. */
  constructor(parts: Parts, limitMs: number) {
    this.#parts = parts
    this.#blockers = new BlockerWatch(limitMs)
    this.#raw = new RawSessions(limitMs)
  }

  /** An error with login roles must not keep tables from being masked: it is thrown after that. */
  async settleLogins(database: Database, databaseId: string): Promise<SettledLogins | { error: unknown }> {
    try {
      return await this.#parts.logins.settle(database, databaseId)
    } catch (error) {
      return { error }
    }
  }

  /** Sessions of roles that lost their exemption end as soon as what can be closed is closed. */
  async reconcile(
    { database, databaseId, occasion }: { database: Database; databaseId: string; occasion: Occasion },
    logins: Pick<SettledLogins, 'logins'> | undefined,
    before: Pick<Outcome, 'policy' | 'record'> | false | undefined,
  ): Promise<{ outcome: Outcome; unfinished: readonly Unfinished[] }> {
    const own = logins?.logins ?? []
    const options = {
      claimant: this.#parts.source.claimantOf(databaseId),
      kept: this.#parts.states.keptRecordsOf(databaseId),
      findNeighbours: createNeighbourFinder(databaseId, this.#parts.loginKeys),
      lease: this.#parts.leaseOf(databaseId),
      overdue: () => this.#blockers.listOverdue(databaseId),
      onClosed: (schema: string) =>
        this.#raw.endExempt({
          database,
          schema,
          logins: own,
          standbys: listStandbys(this.#parts.connections.targetOf(databaseId)),
        }),
      onUnopened: async (closed: Outcome, unfinished: readonly Unfinished[]) => {
        await this.endSessions(database, databaseId, { logins: own }, closed, unfinished)
        this.#parts.auditAfter(databaseId, (await clear(closed, unfinished)).dueMs)
      },
      focus: (policy: Policy, record: string) =>
        before && before.record === record ? changedTables(before.policy, policy) : undefined,
    }
    const readPolicy = (sql: Sql) => this.#parts.policies.read(sql, databaseId, logins)
    const clear = (outcome: Outcome, unfinished: readonly Unfinished[]) =>
      this.#blockers.clear(database.sql, databaseId, outcome, unfinished)
    return await reconcilePatiently(database, readPolicy, options, occasion, clear)
  }

  /** Ends sessions that hold raw rows. Returns notes about those that stay, and the list of them. */
  async endSessions(
    database: Database,
    databaseId: string,
    { logins }: Pick<SettledLogins, 'logins'>,
    outcome: Outcome,
    unfinished: readonly Unfinished[],
  ): Promise<LeftOpen> {
    if (!isGuarded(outcome)) return noneLeft
    const place = {
      database,
      schema: guardOf(outcome),
      logins,
      standbys: listStandbys(this.#parts.connections.targetOf(databaseId)),
    }
    const isAllClosed = unfinished.every(({ isClosed }) => isClosed)
    const { ended, dueMs, left } = await this.#raw.end(place, isAllClosed)
    if (ended > 0) this.#parts.log.info({ databaseId, ended }, 'sessions that could hold raw rows ended')
    this.#parts.auditAfter(databaseId, dueMs)
    return left
  }

  /** Ends sessions of login roles that lost something at the other servers of the binding. */
  async endAtStandbys(
    databaseId: string,
    database: Database,
    logins: SettledLogins,
    occasion: Occasion,
    writes: Writes,
  ): Promise<EndedAtStandbys> {
    // No change waits for them.
    const strays = occasion === 'audit' ? [...logins.logins, ...logins.dismissed] : []
    const suspend = (reason: string) => this.#suspend(databaseId, writes, reason)
    return await this.#parts.endAtStandbys(databaseId, database, logins, { strays, suspend })
  }

  async #suspend(databaseId: string, writes: Writes, reason: string): Promise<void> {
    await writes.fail(
      () => {},
      () => this.#parts.states.suspendEnforced(databaseId, reason),
    )
  }

  async writeState(
    databaseId: string,
    database: Database,
    outcome: Outcome,
    unfinished: readonly Unfinished[],
    {
      writes,
      renewed,
      unended,
      ...left
    }: LeftOpen & {
      readonly writes: Writes
      /** Codes of which the notes are complete. */
      readonly renewed: readonly Note['code'][]
      /** Where sessions of login roles that lost something may go on; empty: nowhere. */
      readonly unended: string
    },
    { drifted, lastChange }: Pick<Enforced, 'drifted' | 'lastChange'>,
  ): Promise<Report | undefined> {
    const { states, log, auditEveryMs } = this.#parts
    const schema = guardOf(outcome)
    const clearing = await this.#blockers.clear(database.sql, databaseId, outcome, unfinished)
    const isCut = unfinished.some(({ sqlstate: code }) => code === sqlstate.programLimitExceeded)
    this.#parts.auditAfter(databaseId, isCut ? pauseMs : clearing.dueMs)
    const isHeld = async () => (await findBlockers(database.sql, schema, unfinished)).length > 0
    const expect = () => this.#parts.releases.expect(databaseId, clearing.blockers.length > 0 ? isHeld : null)
    if (!writes.isOvertaken()) expect()
    const judgement = judgeUnfinished(outcome, unfinished, clearing.blockers)
    const target = this.#parts.connections.targetOf(databaseId)
    const record = { schema, open: left.open }
    const suspend = (reason: string) => this.#suspend(databaseId, writes, reason)
    const lease = this.#parts.leaseOf(databaseId)
    const lag = await this.#parts.standbys.judge(databaseId, target, database, { record, lease, suspend })
    this.#parts.auditAfter(databaseId, lag.dueMs)
    const more = [...left.notes, ...judgement.notes, ...lag.notes]
    const codes = left.hadOpen ? [...renewed, 'OpenSession' as const] : renewed
    const notes = await mergeNotes(states, databaseId, outcome, more, codes)
    const held = joinReasons(outcome.policy.heldRoles?.map(describeHeld) ?? [])
    if (judgement.state === null && lag.pending === null && held === '' && unended === '')
      return await writes.write(expect, () =>
        states.writeEnforced(databaseId, {
          notes,
          drifted,
          auditEveryMs,
          lastChange,
          lastTurn: lag.lastTurn,
        }),
      )
    const missing = judgement.lacksPrivilege ? await findMissing(() => this.#parts.ask(databaseId)) : null
    const reason = [judgement.reason, lag.pending, unended, missing, held].filter(Boolean).join(' ')
    log.warn({ databaseId, reason }, 'some relations could not be enforced')
    const state = judgement.state ?? 'Pending'
    return void (await writes.fail(expect, () => states.writeFailure(databaseId, state, reason, notes)))
  }
}

const guardOf = ({ snapshot }: Outcome) => snapshot.guard.schema
