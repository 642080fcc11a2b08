import type { Database } from '../db/database.ts'
import { quoteIdentifier, quoteLiteral } from '../db/quote.ts'
import type { Tx } from '../db/transaction.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import type { Owner, Sign } from './mark.ts'
import type { Facts, LoginChange, LoginPlan, ObservedLogin, ObservedRole, WantedLogin } from './model.ts'
import { grant, mark } from './plan.ts'
import { readRole } from './read.ts'

export interface Applied {
  /** How many roles are not as they were. */
  readonly changed: number
  /** Roles that are not as they should be, which cannot be corrected: logins as them are refused. */
  readonly blocked: readonly string[]
  /** Changes of roles that another session is changing at the moment. */
  readonly busy: readonly LoginChange[]
}

/** A session that changes its own role in an open transaction must not delay the revocation of it. */
export const lockTimeoutMs = 400

type Result = 'done' | 'refused' | 'busy'

/** Errors that no retry changes: privileges, dependencies, grants. */
const isRefusal = /^(0L|0A|42501|2BP01)/
/** Locks that are held, and rows that another session changed first. */
const isBusy = /^(55P03|XX000)/

/** Passes by itself. */
export class Busy extends Error {
  readonly code = sqlstate.lockNotAvailable

  constructor() {
    super('login roles are being changed by another session')
  }
}

/** All closings, then all openings. What fails for one role does not keep the others from being put right. */
export async function applyLogins(tx: Tx, { aside, changes }: LoginPlan): Promise<Applied> {
  const changed = new Set<LoginChange>()
  const failed = { refused: new Set<LoginChange>(), busy: new Set<LoginChange>() }
  const run = async (change: LoginChange, steps: readonly string[]) => {
    const result = await runAll(tx, steps)
    if (result !== 'done') failed[result].add(change)
    else if (steps.length > 0) changed.add(change)
    return result
  }
  for (const change of changes) {
    const { closing, marking, lockOut } = change
    const result = await run(change, [...closing, ...marking])
    if (result === 'done') continue
    const each = result === 'busy' ? [...closing, ...marking] : [...lockOut, ...closing]
    for (const step of each) if ((await runAll(tx, [step])) === 'done') changed.add(change)
  }
  const closed = changes.filter((change) => !failed.refused.has(change) && !failed.busy.has(change))
  const moved = await runAll(tx, aside)
  // Throws, with the reason.
  if (moved === 'refused') for (const sql of aside) await tx.unsafe(sql)
  if (moved === 'busy') for (const change of closed) failed.busy.add(change)
  else for (const change of closed) await run(change, change.opening)
  return {
    changed: changed.size + (moved === 'done' ? aside.length : 0),
    blocked: [...failed.refused].map(({ login }) => login.name),
    busy: [...failed.busy],
  }
}

async function runAll(tx: Tx, steps: readonly string[]): Promise<Result> {
  if (steps.length === 0) return 'done'
  try {
    await tx.attempt(steps.join(';\n'))
    return 'done'
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (isRefusal.test(code)) return 'refused'
    if (isBusy.test(code)) return 'busy'
    throw error
  }
}

/**
 * Writes a mark by which no sessions are to end, or those at other servers alone (`left`). Throws where the role has
 * lost something since it was observed, as sessions may have begun in between. COMMENT waits for another transaction
 * that marks the role: it has less after that.
 */
export async function unmark(
  database: Database,
  login: ObservedLogin,
  left: string | undefined,
  sign: Sign,
): Promise<void> {
  await database.transaction(async (tx) => {
    await tx`select pg_catalog.set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`
    await tx.unsafe(mark(quoteIdentifier(login.name), login, { ending: false, left }, sign))
    const now = await readRole(tx, login.oid)
    // Another role may have got the name.
    if (now?.name !== login.name || rightsOf(now) !== rightsOf(login)) throw new Busy()
  })
}

const rightsOf = ({ canLogin, excess, memberships }: ObservedRole) =>
  JSON.stringify([canLogin, excess, memberships])

/**
 * Creates the role before its mark, which carries its OID. The transaction never shows other sessions a role without a
 * mark.
 */
export async function createLogin(
  tx: Tx,
  { until, version }: Facts,
  owner: Owner,
  { role: name, memberOf }: WantedLogin,
  verifier: string,
  sign: Sign,
): Promise<void> {
  const role = quoteIdentifier(name)
  await tx.unsafe(
    `CREATE ROLE ${role} LOGIN PASSWORD ${quoteLiteral(verifier)} VALID UNTIL ${quoteLiteral(until)}`,
  )
  const [made] = await tx<{ oid: number }[]>`
    select oid::int8 as oid from pg_catalog.pg_roles where rolname = ${name}::text::name`
  if (!made) throw new Error('a role that was made is not there')
  await tx.unsafe(mark(role, { oid: made.oid, mark: owner }, { ending: false }, sign))
  for (const of of memberOf) await tx.unsafe(grant(role, of, version))
}

/**
 * Sets the password for some minutes only. Every role may change its own password, and could then log in without a
 * token. The gateway has it renewed when it needs it again.
 */
export async function renewPassword(tx: Tx, { until }: Facts, name: string, verifier: string): Promise<void> {
  await tx.unsafe(
    `ALTER ROLE ${quoteIdentifier(name)} PASSWORD ${quoteLiteral(verifier)} VALID UNTIL ${quoteLiteral(until)}`,
  )
}

/** Drops those that have nothing: one that owns something, or was given privileges by hand, stays, without rights. */
export async function dropLogins(
  database: Database,
  logins: readonly { readonly oid: number }[],
): Promise<void> {
  const oids = logins.map(({ oid }) => oid)
  await database.transaction(async (tx) => {
    await tx`select set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`
    const rows = await tx<{ name: string }[]>`
      select rolname::text as name from pg_catalog.pg_roles r
      where oid = any(${oids}::int8[]::oid[]) and not rolcanlogin
        and not exists (select 1 from pg_catalog.pg_auth_members where member = r.oid)
        and not exists (select 1 from pg_catalog.pg_stat_activity where usesysid = r.oid)
        -- PostgreSQL would refuse.
        and not exists (select 1 from pg_catalog.pg_shdepend d
          where d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and d.refobjid = r.oid)`
    for (const { name } of rows) await runAll(tx, [`DROP ROLE ${quoteIdentifier(name)}`])
  })
}
