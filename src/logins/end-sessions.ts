import { randomUUID } from 'node:crypto'
import type { Database } from '../db/database.ts'
import { longestMark, markPrefix } from '../db/login-mark.ts'
import { quoteIdentifier } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'
import type { Tx } from '../db/transaction.ts'
import { codeOf, sqlstate } from '../kernel/sqlstate.ts'
import { findStarting, outwait } from '../sessions/starting.ts'

interface Role {
  readonly oid: number
  readonly name: string
}

/** A session that shows its role. */
interface Shown {
  readonly pid: number
  readonly role: number
}

/** A session that changes its own role in an open transaction must not delay the revocation of it. */
export const lockTimeoutMs = 400

const goneAfterMs = 1_000
/** Most sessions have started by then. */
const startMs = 300
const greatestOid = 2 ** 32 - 1

class Undo extends Error {}

/** `elsewhere`: in other databases than the role's own, where no login through the gateway leads. Numbers: pids. */
type Scope = 'everywhere' | 'elsewhere' | readonly number[]

/**
 * Ends the sessions of login roles at the primary, in whatever database. `everywhere` includes sessions that PostgreSQL
 * is still starting: a client can delay that for half an hour.
 */
export async function endLoginSessions(
  database: Database,
  roles: readonly Role[],
  scope: Scope = 'everywhere',
): Promise<number> {
  if (roles.length === 0) return 0
  const { sql } = database
  // Before those that show their role: one becomes the other.
  const starting =
    scope === 'everywhere' ? await outwait(sql, await findStarting(sql, scope), scope, startMs) : []
  const shown = await findShown(
    sql,
    roles.map(({ oid }) => oid),
    scope,
  )
  if (shown.length === 0 && starting.length === 0) return 0
  const concerned =
    starting.length > 0 ? roles : roles.filter(({ oid }) => shown.some(({ role }) => role === oid))
  return await endAs(
    database,
    concerned.map(({ oid }) => oid),
    shown.map(({ pid }) => pid),
    starting.map(({ pid }) => pid),
  )
}

export async function findShown(sql: Sql, roles: readonly number[], scope: Scope): Promise<Shown[]> {
  const within =
    scope === 'everywhere'
      ? sql``
      : scope === 'elsewhere'
        ? sql`and datname <> pg_catalog.current_database()`
        : sql`and pid = any(${scope}::int8[])`
  return await sql<Shown[]>`
    select pid::int4 as pid, usesysid::int8 as role from pg_catalog.pg_stat_activity
    where usesysid = any(${roles}::int8[]::oid[]) ${within}`
}

/**
 * PostgreSQL lets a role end the sessions of the roles that it inherits, whether or not it shows whose they are: a role
 * that inherits the login roles for a moment ends theirs, and those of no other role. In a transaction that is undone,
 * as a signal cannot be. Rejects where it could not inherit one of them.
 */
async function endAs(
  database: Database,
  roles: readonly number[],
  shown: readonly number[],
  starting: readonly number[],
): Promise<number> {
  let ended = 0
  let failure: unknown
  const work = database.transaction(async (tx) => {
    await tx`select set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`
    const named = await tx<{ name: string }[]>`
      select rolname::text as name from pg_catalog.pg_roles where oid = any(${roles}::int8[]::oid[])`
    const ender = quoteIdentifier(`masquerade ${randomUUID()}`)
    await tx.unsafe(`CREATE ROLE ${ender}`)
    await tx.unsafe(`GRANT ${ender} TO CURRENT_USER`)
    for (const { name } of named)
      await tx.attempt(`GRANT ${quoteIdentifier(name)} TO ${ender}`).catch((error: unknown) => {
        failure ??= error
      })
    await tx.unsafe(`SET LOCAL ROLE ${ender}`)
    const [told] = await tx<{ count: number }[]>`
      select count(*) filter (where pg_catalog.pg_terminate_backend(pid))::int as count
      from pg_catalog.pg_stat_activity where pid = any(${shown}::int8[])
        and usesysid = any(${roles}::int8[]::oid[]) and pg_catalog.pg_has_role(usesysid, 'USAGE')`
    ended = told?.count ?? 0
    for (const pid of starting) if (await isEnded(tx, pid)) ended++
    throw new Undo()
  })
  await work.catch((error: unknown) => {
    if (!(error instanceof Undo)) throw error
  })
  if (failure) throw failure
  return ended
}

/** False: it is of a role that the present one does not inherit, or gone. */
async function isEnded(tx: Tx, pid: number): Promise<boolean> {
  try {
    const end = () => tx<{ done: boolean }[]>`select pg_catalog.pg_terminate_backend(${pid}) as done`
    const [row] = await tx.savepoint(end)
    return row?.done ?? false
  } catch (error) {
    if (codeOf(error) === sqlstate.insufficientPrivilege) return false
    throw error
  }
}

/** A session that is being ended may hold temporary tables, and a role that owns something cannot go. */
export async function waitUntilGone(sql: Sql, logins: readonly Pick<Role, 'oid'>[]): Promise<void> {
  const until = Date.now() + goneAfterMs
  const oids = logins.map(({ oid }) => oid)
  while (Date.now() < until && (await findShown(sql, oids, 'everywhere')).length > 0)
    await new Promise((resolve) => setTimeout(resolve, 20))
}

/**
 * Ends those backends of a login role of the database, by their process ids, and none that another role has by now. OID
 * and process ids are told by the server of the session, which the database may not be bound to any more: they may name
 * any role of the present one.
 */
export function createBackendEnding(controller: { connect(databaseId: string): Promise<Database | null> }) {
  return async (databaseId: string, roleOid: number, processIds: readonly number[]): Promise<void> => {
    if (roleOid > greatestOid) return
    const database = await controller.connect(databaseId)
    if (!database) return
    const roles = await database.sql<Role[]>`
      select r.oid::int8 as oid, r.rolname::text as name from pg_catalog.pg_roles r
      join pg_catalog.pg_shdescription d
        on d.objoid = r.oid and d.classoid = 'pg_catalog.pg_authid'::pg_catalog.regclass
      where r.oid = ${roleOid}::int8::oid and case when pg_catalog.pg_column_size(d.description) <= ${longestMark}
        then starts_with(d.description, ${markPrefix(databaseId)}) end`
    await endLoginSessions(database, roles, processIds)
  }
}
