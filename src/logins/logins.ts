import type { Note } from '../contracts/note.ts'
import type { Database } from '../db/database.ts'
import { quoteIdentifier } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'
import { sqlstateOf } from '../db/sqlstate.ts'
import type { Tx } from '../db/transaction.ts'
import { FewAtOnce } from '../kernel/few-at-once.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import {
  type LoginKeeper,
  type LoginOutcome,
  noLogins,
  type SettledLogins,
} from '../masks/control/login-port.ts'
import { idleMs } from '../masks/read/start.ts'
import { endSessions } from '../sessions/end-sessions.ts'
import { readMark } from '../sessions/replay.ts'
import type { LostLogin } from '../sessions/standbys.ts'
import {
  type Applied,
  applyLogins,
  Busy,
  createLogin,
  dropLogins,
  lockTimeoutMs,
  renewPassword,
  unmark,
} from './apply.ts'
import type { LoginPassword } from './mark.ts'
import type { LoginChange, LoginPlan, LoginsOptions, ObservedLogin } from './model.ts'
import { findLogin, isEmpty, type PlannedLogins, planLogins, refuse } from './plan.ts'
import { hasLogins, readSnapshot } from './read.ts'

type Made = 'changed' | 'nothing' | 'blocked'

const attempts = 6

/** Another node or session made the same change at the same time. */
const beaten: readonly string[] = [
  sqlstate.lockNotAvailable,
  sqlstate.internalError,
  sqlstate.undefinedObject,
]

/** Of sessions that change the same roles at the same time, and of a node that was held up for longer than `idleMs`. */
const conflicts: readonly string[] = [
  ...beaten,
  sqlstate.idleInTransactionTimeout,
  sqlstate.uniqueViolation,
  sqlstate.duplicateObject,
]

/** So many logins change login roles at a time: several may be locked, and turns need connections too (GATE-295). */
const mostLogins = 2

/**
 * Keeps the login roles of databases as the directory and the mappings say: read, plan, apply, in one transaction for a
 * database. There is no lock that others could not hold as well, so after each change it is looked again whether the
 * directory still says the same: of two nodes the one that comes last corrects what it did on old news.
 */
export class Logins implements LoginKeeper {
  readonly #options: LoginsOptions
  readonly #preparing = new Map<string, Promise<LoginOutcome>>()
  readonly #places = new FewAtOnce(mostLogins)

  constructor(options: LoginsOptions) {
    this.#options = options
  }

  /** Makes or corrects the login role of one principal. `reset`: the database did not take the password. */
  prepare(
    database: Database,
    databaseId: string,
    principalId: string,
    { reset = false }: { readonly reset?: boolean } = {},
  ): Promise<LoginOutcome> {
    const binding = this.#options.bindingOf(database)
    const key = `${databaseId} ${binding} ${principalId} ${reset}`
    const running =
      this.#preparing.get(key) ??
      this.#prepare(database, databaseId, principalId.toLowerCase(), reset, binding).finally(() =>
        this.#preparing.delete(key),
      )
    this.#preparing.set(key, running)
    return running
  }

  /** All login roles of a database. Sessions of those that lost something are ended. */
  async settle(database: Database, databaseId: string): Promise<SettledLogins> {
    if (!(await hasLogins(database.sql, databaseId))) return noLogins
    let [changed, ended] = [0, 0]
    let blocked: readonly string[] = []
    for (let attempt = 1; ; attempt++) {
      const { snapshot, wanted, plan, notes } = await this.#plan(database.sql, databaseId)
      const { logins } = snapshot
      const marked = await this.#endMarked(database, logins)
      // A principal that set its own password can connect to other databases until that expires.
      ended += marked.ended + (await this.#end(database, logins, 'elsewhere'))
      if (isEmpty(plan) || attempt === attempts)
        return {
          changed,
          ended,
          notes: [...notes, ...(isEmpty(plan) ? [] : blocked.map(blockedNote))],
          logins: logins.filter(({ mark }) => wanted.has(mark.principalId)),
          dismissed: logins.filter(({ mark }) => !wanted.has(mark.principalId)),
          left: marked.left,
        }
      const apply = async (tx: Tx) => applyLogins(tx, (await this.#plan(tx, databaseId)).plan)
      const applied = await this.#change(database, databaseId, plan, apply)
      changed += applied.changed
      if (applied.changed > 0)
        this.#options.log.info({ databaseId, changed: applied.changed }, 'login roles changed')
      blocked = applied.blocked
      if (applied.busy.length > 0) await this.#clear(database, databaseId, applied.busy, attempt)
      // Changes that the database refuses are not retried at once.
      else if (applied.changed === 0) attempt = attempts - 1
    }
  }

  async finish(
    database: Database,
    databaseId: string,
    { dismissed, left: lost }: SettledLogins,
    left: readonly LostLogin[],
  ): Promise<void> {
    const isLeft = ({ oid }: { readonly oid: number }) => left.some((each) => each.oid === oid)
    await this.#finishLeft(
      database,
      databaseId,
      lost.filter((one) => !isLeft(one)),
    )
    const empty = dismissed.filter((one) => !isLeft(one))
    if (empty.length > 0) await unlessBeaten(dropLogins(database, empty))
  }

  /** Lists the login roles and their principals, without a change. */
  async list(sql: Sql, databaseId: string): Promise<readonly ObservedLogin[]> {
    const { snapshot, wanted } = await this.#plan(sql, databaseId)
    return snapshot.logins.filter(({ mark }) => wanted.has(mark.principalId))
  }

  /** Their sessions have ended at every server. A role that has lost something more meanwhile stays marked. */
  async #finishLeft(database: Database, databaseId: string, done: readonly LostLogin[]): Promise<void> {
    if (done.length === 0) return
    const { snapshot } = await this.#plan(database.sql, databaseId)
    const isDone = ({ oid, mark }: ObservedLogin) =>
      done.some((each) => each.oid === oid && each.left === mark.left)
    await this.#unmark(database, snapshot.logins.filter(isDone), () => undefined)
  }

  async #plan(sql: Sql, databaseId: string, principalId?: string): Promise<PlannedLogins> {
    const snapshot = await readSnapshot(this.#options, sql, databaseId, principalId)
    return planLogins(snapshot, this.#options.keys.sign)
  }

  async #prepare(
    database: Database,
    databaseId: string,
    principalId: string,
    reset: boolean,
    binding: string,
  ): Promise<LoginOutcome> {
    const derived = this.#options.keys.derive(databaseId, principalId, binding)
    const plan = () => this.#plan(database.sql, databaseId, principalId)
    let changed = false
    for (let attempt = 1; attempt < attempts; attempt++) {
      const planned = await plan()
      await this.#endMarked(database, planned.snapshot.logins)
      const login = findLogin(planned, principalId)
      const refusal = refuse(planned, principalId)
      if (refusal) {
        if (login?.canLogin) await this.#places.run(databaseId, () => this.settle(database, databaseId))
        return refusal
      }
      if (login?.isFresh && isEmpty(planned.plan) && !(reset && attempt === 1)) {
        const { password } = derived
        const access = { role: login.name, oid: login.oid, password, version: binding }
        return { kind: 'ready', login: access, changed }
      }
      const make = (tx: Tx) => this.#make(tx, databaseId, principalId, derived)
      const change = () => this.#change(database, databaseId, planned.plan, make)
      const made = await this.#places.run(databaseId, change)
      if (made === 'changed') changed = true
      if (made !== 'blocked') continue
      await this.#endMarked(database, (await plan()).snapshot.logins)
      return { kind: 'blocked', role: planned.wanted.get(principalId)?.role ?? '' }
    }
    throw new Busy()
  }

  /** Plans again within the transaction. A principal that is refused only there is refused at the next attempt. */
  async #make(tx: Tx, databaseId: string, principalId: string, derived: LoginPassword): Promise<Made> {
    const planned = await this.#plan(tx, databaseId, principalId)
    const { snapshot, plan } = planned
    const wanted = planned.wanted.get(principalId)
    if (!wanted || refuse(planned, principalId)) return 'nothing'
    const { blocked, busy } = await applyLogins(tx, plan)
    if (busy.length > 0) throw new Busy()
    if (blocked.length > 0) return 'blocked'
    const verifier = derived.verifier()
    if (findLogin(planned, principalId)) {
      await renewPassword(tx, snapshot, wanted.role, verifier)
      // A new password changes no rights.
      return isEmpty(plan) ? 'nothing' : 'changed'
    }
    await createLogin(tx, snapshot, { databaseId, principalId }, wanted, verifier, this.#options.keys.sign)
    return 'changed'
  }

  /** Retries on conflicts with another node or session that changes the same roles. */
  async #change<T extends Applied | Made>(
    database: Database,
    databaseId: string,
    { changes }: LoginPlan,
    run: (tx: Tx) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++)
      try {
        return await database.transaction(async (tx) => {
          await tx`
            select set_config('search_path', 'pg_catalog, pg_temp', true),
              set_config('lock_timeout', ${String(lockTimeoutMs)}, true),
              set_config('idle_in_transaction_session_timeout', ${String(idleMs)}, true)`
          return await run(tx)
        })
      } catch (error) {
        if (attempt === attempts || !conflicts.includes(sqlstateOf(error))) throw error
        await this.#clear(database, databaseId, changes, attempt)
      }
  }

  /** Ends the sessions of roles that lose rights: an open transaction that changes such a role must not keep them. */
  async #clear(
    database: Database,
    databaseId: string,
    changes: readonly LoginChange[],
    attempt: number,
  ): Promise<void> {
    if (attempt >= attempts - 1) throw new Busy()
    this.#options.log.info({ databaseId }, 'login roles are being changed by another session')
    const losing = changes.filter(({ marking }) => marking.length > 0).map(({ login }) => login)
    await this.#end(database, losing, 'everywhere')
    await new Promise((resolve) => setTimeout(resolve, 25 * 2 ** attempt))
  }

  /** They stay marked until it has been done: first here, then at the other servers, which it returns. */
  async #endMarked(
    database: Database,
    logins: readonly ObservedLogin[],
  ): Promise<{ ended: number; left: LostLogin[] }> {
    const ending = logins.filter(({ mark }) => mark.ending)
    await this.#unmark(
      database,
      logins.filter(({ isAdopted, mark }) => isAdopted && !mark.ending),
      ({ mark }) => mark.left,
    )
    const before = logins.flatMap(({ oid, mark: { left } }) => (left ? [{ oid, left }] : []))
    if (ending.length === 0) return { ended: 0, left: before }
    const ended = await this.#end(database, ending, 'everywhere')
    // Undefined where the binding has one host.
    const left = database.primary() && (await readMark(database)).lsn
    await this.#unmark(database, ending, () => left)
    const lost = left === undefined ? [] : ending.map(({ oid }) => ({ oid, left }))
    return { ended, left: [...before, ...lost] }
  }

  /** Rejects where the role of the binding could not inherit one of them. */
  async #end(
    database: Database,
    logins: readonly ObservedLogin[],
    scope: 'everywhere' | 'elsewhere',
  ): Promise<number> {
    const roles = logins.map(({ oid }) => oid)
    const endsStarting = scope === 'everywhere'
    const inherit = { database, roles }
    const { ended, failure } = await endSessions(database.sql, { roles, scope, endsStarting, inherit })
    if (ended > 0) this.#options.log.info({ ended, scope }, 'sessions of login roles that lost rights ended')
    if (failure) throw failure
    return ended
  }

  /** What another session was first to do is looked at again with the next turn or login. */
  async #unmark(
    database: Database,
    logins: readonly ObservedLogin[],
    leftOf: (login: ObservedLogin) => string | undefined,
  ): Promise<void> {
    for (const login of logins)
      await unlessBeaten(unmark(database, login, leftOf(login), this.#options.keys.sign))
  }
}

function blockedNote(role: string): Note {
  const message = `${quoteIdentifier(role)} has more than the mappings give it, by grants or attributes that the role \
of the binding cannot revoke. Logins as it are refused until that is corrected.`
  return { code: 'LoginRole', target: role, message }
}

async function unlessBeaten(work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!beaten.includes(sqlstateOf(error))) throw error
  })
}
