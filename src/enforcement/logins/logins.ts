import type { Database } from '../../db/database.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { sqlstateOf } from '../../db/sqlstate.ts'
import type { Tx } from '../../db/transaction.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import { FewAtOnce } from '../few-at-once.ts'
import { idleMs } from '../lease.ts'
import type { Note } from '../plan.ts'
import { readMark } from '../read-replay.ts'
import { type Applied, applyLogins, createLogin, dropLogin, renewPassword } from './apply-logins.ts'
import type { LoginChange, LoginPlan } from './diff-logins.ts'
import { endLoginSessions, waitUntilGone } from './end-login-sessions.ts'
import { noteIntruders } from './note-intruders.ts'
import type { ObservedLogin } from './observe-logins.ts'
import { findLogin, isEmpty, planLogins, refuse } from './plan-logins.ts'
import type { LeftLogin, LoginOutcome, LoginPassword, LoginsOptions, SettledLogins } from './ports.ts'
import { replaceMark } from './replace-mark.ts'
import { noGrants, revokeLoginGrants } from './revoke-login-grants.ts'

export type { LeftLogin, LoginKeys, LoginOutcome, LoginRights, LoginSource, SettledLogins } from './ports.ts'
export { loginCodes, noLogins } from './ports.ts'

type Made = 'changed' | 'nothing' | 'blocked'

const attempts = 6

/** Of sessions that change the same roles at the same time, and of a node that was held up for longer than `idleMs`. */
const conflicts: readonly string[] = [
  sqlstate.lockNotAvailable,
  sqlstate.idleInTransactionTimeout,
  sqlstate.internalError,
  sqlstate.uniqueViolation,
  sqlstate.duplicateObject,
  sqlstate.undefinedObject,
]

const beaten: readonly string[] = [
  sqlstate.lockNotAvailable,
  sqlstate.internalError,
  sqlstate.undefinedObject,
]

/** Passes by itself. */
class Busy extends Error {
  readonly code = sqlstate.lockNotAvailable

  constructor() {
    super('login roles are being changed by another session')
  }
}

/** A session that changes its own role in an open transaction must not delay the revocation of it. */
const lockTimeoutMs = 400

/** So many logins change login roles at a time: the roles of several people may be locked, and turns need connections too (GATE-295). */
const mostLogins = 2

/**
 * Keeps the login roles of databases as the directory and the mappings say: observe → desire → diff → apply, in one
 * transaction for a database. There is no lock that others could not hold as well, so after each change it is looked again
 * whether the directory still says the same: of two nodes the one that comes last corrects what it did on old news.
 */
export class Logins {
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

  /** All login roles of a database. Sessions of those that lost something are ended. `isLogin`: because of a login, not of a turn. */
  async settle(database: Database, databaseId: string, isLogin = false): Promise<SettledLogins> {
    const { log } = this.#options
    let [changed, ended] = [0, 0]
    let blocked: readonly string[] = []
    const granted = new Map<number, ObservedLogin>()
    for (let attempt = 1; ; attempt++) {
      const planned = await planLogins(this.#options, database.sql, databaseId)
      const { snapshot, wanted, plan, notes } = planned
      for (const login of snapshot.logins) if (login.intruders.length > 0) granted.set(login.oid, login)
      const marked = await this.#endMarked(database, databaseId, snapshot.logins)
      ended += marked.ended
      ended += await this.#endStrays(database, snapshot.logins)
      if (isEmpty(plan) || attempt === attempts) {
        // Not before a login: its grantors could delay it by locks.
        const grants = isLogin ? noGrants : await revokeLoginGrants(database, snapshot)
        if (grants.revoked > 0)
          log.warn({ databaseId, revoked: grants.revoked }, 'privileges of login roles revoked')
        return {
          changed,
          ended,
          notes: [
            ...notes,
            ...(isEmpty(plan) ? [] : blocked.map(blockedNote)),
            ...grants.notes,
            ...(await noteIntruders(database.sql, [...granted.values()])),
          ],
          logins: snapshot.logins.filter(({ mark }) => wanted.has(mark.principalId)),
          dismissed: snapshot.logins.filter(({ mark }) => !wanted.has(mark.principalId)),
          left: marked.left,
        }
      }
      const applied = await this.#change(
        database,
        databaseId,
        plan,
        async (tx) => {
          const current = await planLogins(this.#options, tx, databaseId)
          return applyLogins(tx, current.plan)
        },
        isLogin,
      )
      changed += applied.changed
      if (applied.changed > 0) log.info({ databaseId, changed: applied.changed }, 'login roles changed')
      blocked = applied.blocked
      if (applied.busy.length > 0) await this.#clear(database, databaseId, applied.busy, attempt)
      // Changes that the database refuses are not retried at once.
      else if (applied.changed === 0) attempt = attempts - 1
    }
  }

  /** Takes away roles that have nothing left. After the masks: these may have given them something. */
  async sweep(database: Database, { dismissed, left }: SettledLogins): Promise<void> {
    const isLeft = (oid: number) => left.some((each) => each.oid === oid)
    const empty = dismissed.filter(
      ({ oid, memberships, canLogin }) => memberships.length === 0 && !canLogin && !isLeft(oid),
    )
    if (empty.length === 0) return
    const oids = empty.map(({ oid }) => oid)
    const drop = database.transaction(async (tx) => {
      await tx`select set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`
      const rows = await tx<{ name: string }[]>`
        select rolname::text as name from pg_catalog.pg_roles r where oid = any(${oids}::int8[]::oid[]) and not rolcanlogin
          and not exists (select 1 from pg_catalog.pg_auth_members where member = r.oid)
          and not exists (select 1 from pg_catalog.pg_stat_activity where usesysid = r.oid)
          -- Owns something, or was given something: PostgreSQL would refuse.
          and not exists (select 1 from pg_catalog.pg_shdepend d
            where d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and d.refobjid = r.oid)`
      for (const { name } of rows) await dropLogin(tx, name)
    })
    await drop.catch((error: unknown) => {
      if (!isBeaten(error)) throw error
    })
  }

  /** Lists the login roles and their principals, without a change. */
  async list(sql: Sql, databaseId: string): Promise<readonly ObservedLogin[]> {
    const { snapshot, wanted } = await planLogins(this.#options, sql, databaseId)
    return snapshot.logins.filter(({ mark }) => wanted.has(mark.principalId))
  }

  async #prepare(
    database: Database,
    databaseId: string,
    principalId: string,
    reset: boolean,
    binding: string,
  ): Promise<LoginOutcome> {
    const derived = this.#options.keys.derive(databaseId, principalId, binding)
    let isChanged = false
    for (let attempt = 1; attempt < attempts; attempt++) {
      const planned = await planLogins(this.#options, database.sql, databaseId, principalId)
      await this.#endMarked(database, databaseId, planned.snapshot.logins)
      const login = findLogin(planned, principalId)
      const refusal = refuse(planned, principalId)
      if (refusal) {
        if (login?.canLogin) await this.settle(database, databaseId, true)
        return refusal
      }
      const isReset = reset && attempt === 1
      if (login?.isFresh && isEmpty(planned.plan) && !isReset) {
        const { password } = derived
        const access = { role: login.name, oid: login.oid, password, version: binding }
        return { kind: 'ready', login: access, changed: isChanged }
      }
      const made = await this.#change(
        database,
        databaseId,
        planned.plan,
        (tx) => this.#make(tx, databaseId, principalId, derived),
        true,
      )
      if (made === 'changed') isChanged = true
      if (made !== 'blocked') continue
      const { snapshot, wanted } = await planLogins(this.#options, database.sql, databaseId, principalId)
      await this.#endMarked(database, databaseId, snapshot.logins)
      return { kind: 'blocked', role: wanted.get(principalId)?.role ?? '' }
    }
    throw new Busy()
  }

  /** Plans again within the transaction. A principal that is refused only there is refused at the next attempt. */
  async #make(tx: Tx, databaseId: string, principalId: string, derived: LoginPassword): Promise<Made> {
    const planned = await planLogins(this.#options, tx, databaseId, principalId)
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
    isLogin: boolean,
  ): Promise<T> {
    const change = () =>
      database.transaction(async (tx) => {
        await tx`
          select set_config('search_path', 'pg_catalog, pg_temp', true),
            set_config('lock_timeout', ${String(lockTimeoutMs)}, true),
            set_config('idle_in_transaction_session_timeout', ${String(idleMs)}, true)`
        return await run(tx)
      })
    for (let attempt = 1; ; attempt++)
      try {
        return await (isLogin ? this.#places.run(databaseId, change) : change())
      } catch (error) {
        if (attempt === attempts || !conflicts.includes(sqlstateOf(error))) throw error
        await this.#clear(database, databaseId, changes, attempt)
      }
  }

  /** Ends the sessions of roles that lose rights: an open transaction that changes such a role must not preserve them. */
  async #clear(
    database: Database,
    databaseId: string,
    changes: readonly LoginChange[],
    attempt: number,
  ): Promise<void> {
    if (attempt >= attempts - 1) throw new Busy()
    this.#options.log.info({ databaseId }, 'login roles are being changed by another session')
    const losing = changes.filter(({ isLosing }) => isLosing).map(({ login }) => login)
    if (losing.length > 0) await endLoginSessions(database, losing)
    await pause(25 * 2 ** attempt)
  }

  /** Stays marked until it has been done: first here, then at the other servers (`finishLeft`). */
  async #endMarked(
    database: Database,
    databaseId: string,
    logins: readonly ObservedLogin[],
  ): Promise<{ ended: number; left: LeftLogin[] }> {
    const ending = logins.filter(({ mark }) => mark.ending)
    const before = logins.flatMap(({ oid, mark: { left } }) => (left ? [{ oid, left }] : []))
    if (ending.length === 0) return { ended: 0, left: before }
    const ended = await endLoginSessions(database, ending)
    // Undefined where the binding has one host.
    const left = database.primary() && (await readMark(database)).lsn
    for (const login of ending) await this.#remark(database, databaseId, login, left)
    if (ended > 0) {
      this.#options.log.info({ ended }, 'sessions of login roles that lost rights ended')
      await waitUntilGone(database.sql, ending)
    }
    return {
      ended,
      left: [...before, ...(left === undefined ? [] : ending.map(({ oid }) => ({ oid, left })))],
    }
  }

  /** Their sessions have ended at every server. A role that has lost something more meanwhile stays marked. */
  async finishLeft(database: Database, databaseId: string, done: readonly LeftLogin[]): Promise<void> {
    if (done.length === 0) return
    const { snapshot } = await planLogins(this.#options, database.sql, databaseId)
    const isDone = ({ oid, mark }: ObservedLogin) =>
      done.some((each) => each.oid === oid && each.left === mark.left)
    for (const login of snapshot.logins.filter(isDone))
      await this.#remark(database, databaseId, login, undefined)
  }

  /** A principal that set its own password can connect to other databases of the server until the password expires. */
  async #endStrays(database: Database, logins: readonly ObservedLogin[]): Promise<number> {
    const ended = await endLoginSessions(database, logins, 'elsewhere')
    if (ended > 0) this.#options.log.warn({ ended }, 'sessions of login roles in other databases ended')
    return ended
  }

  async #remark(
    database: Database,
    databaseId: string,
    login: ObservedLogin,
    left: string | undefined,
  ): Promise<void> {
    try {
      await replaceMark(database, login, left, this.#options.keys.sign)
    } catch (error) {
      if (!isBeaten(error)) throw error
      this.#options.askForTurn(databaseId)
    }
  }
}

function blockedNote(role: string): Note {
  const message = `${quoteIdentifier(role)} has more than the mappings give it, by grants or attributes that the role of the binding cannot revoke. Logins as it are refused until that is corrected.`
  return { code: 'LoginRole', target: role, message }
}

/** Another node or session made the same change at the same time. */
function isBeaten(error: unknown): boolean {
  return beaten.includes(sqlstateOf(error))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
