import { randomUUID } from 'node:crypto'
import type { Database } from '../../db/database.ts'
import { longestMark } from '../../db/login-mark.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import type { Tx } from '../../db/transaction.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import { findStarting, outwait, type Starting } from '../sessions/starting.ts'
import { markPrefix } from './mark.ts'

interface Role {
  readonly oid: number
  readonly name: string
}

const goneAfterMs = 1000
/** Most sessions have started by then, so that no role has to be made. Others wait for this too (`createNeighbourWarning`). */
const startMs = 300
const greatestOid = 2 ** 32 - 1

class Undo extends Error {}

/** `elsewhere`: in other databases than the role's own, where no login through the gateway leads. Numbers: process ids. */
type Scope = 'everywhere' | 'elsewhere' | readonly number[]

/**
 * Ends the sessions of login roles, in whatever database. Without the right to do so the role of the binding is one of
 * theirs for a moment: in a transaction that is undone, as a signal cannot be. `everywhere` includes sessions that PostgreSQL is still
 * starting: a client can delay that for half an hour.
 */
export async function endLoginSessions(
  database: Database,
  roles: readonly Role[],
  scope: Scope = 'everywhere',
): Promise<number> {
  if (roles.length === 0) return 0
  const starting = scope === 'everywhere' ? await findStarting(database.sql, scope) : []
  const ended = await endShown(database, roles, scope)
  if (starting.length === 0) return ended
  const left = await outwait(database.sql, starting, 'everywhere', startMs)
  const shown = starting.filter((one) => !left.includes(one)).map(({ pid }) => pid)
  return ended + (await endShown(database, roles, shown)) + (await endStarting(database, roles, left))
}

/** Those that show their role. */
async function endShown(database: Database, roles: readonly Role[], scope: Scope): Promise<number> {
  const { sql } = database
  const open = await sql<{ oid: number }[]>`
    select distinct usesysid::int8 as oid from pg_catalog.pg_stat_activity
    where usesysid = any(${roles.map(({ oid }) => oid)}::int8[]::oid[]) ${within(sql, scope)}`
  if (open.length === 0) return 0
  const [may] = await sql<{ signals: boolean; version: number }[]>`
    select rolsuper or pg_catalog.pg_has_role('pg_signal_backend', 'USAGE') as signals,
      current_setting('server_version_num')::int as version
    from pg_catalog.pg_roles where rolname = current_user`
  let ended = 0
  for (const { oid, name } of roles.filter((role) => open.some((each) => each.oid === role.oid)))
    ended += may?.signals
      ? await terminate(sql, oid, scope)
      : await terminateAs(database, { oid, name }, scope, may?.version ?? 0)
  return ended
}

/**
 * PostgreSQL lets a role end the sessions of the roles that it inherits, whether or not it shows whose they are: a role that inherits
 * the login roles for a moment ends theirs, and those of no other role. Rejects where it could not inherit one of them.
 */
async function endStarting(
  database: Database,
  roles: readonly Role[],
  starting: readonly Starting[],
): Promise<number> {
  if (starting.length === 0) return 0
  let ended = 0
  const judge = quoteIdentifier(`masquerade judge ${randomUUID()}`)
  const refused = await undo(database, async (tx) => {
    ended = 0
    let failure: unknown
    const named = await tx<{ name: string }[]>`
      select rolname::text as name from pg_catalog.pg_roles where oid = any(${roles.map(({ oid }) => oid)}::int8[]::oid[])`
    await tx.unsafe(`CREATE ROLE ${judge}`)
    await tx.unsafe(`GRANT ${judge} TO CURRENT_USER`)
    for (const { name } of named)
      await tx.attempt(`GRANT ${quoteIdentifier(name)} TO ${judge}`).catch((error: unknown) => {
        failure ??= error
      })
    await tx.unsafe(`SET LOCAL ROLE ${judge}`)
    for (const { pid } of starting) if (await isEnded(tx, pid)) ended++
    return failure
  })
  if (refused) throw refused
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

/**
 * Ends those backends of a login role of the database, by their process ids. A number that another role's backend has by now is left
 * alone. OID and process ids are told by the server of the session, which the database may not be bound to any more: they may
 * name any role of the present one.
 */
export function createBackendEnding(controller: { connect(databaseId: string): Promise<Database | null> }) {
  return async (databaseId: string, roleOid: number, processIds: readonly number[]): Promise<void> => {
    if (roleOid > greatestOid) return
    const database = await controller.connect(databaseId)
    if (!database) return
    const roles = await database.sql<Role[]>`
      select r.oid::int8 as oid, r.rolname::text as name from pg_catalog.pg_roles r
      join pg_catalog.pg_shdescription d on d.objoid = r.oid and d.classoid = 'pg_catalog.pg_authid'::pg_catalog.regclass
      where r.oid = ${roleOid}::int8::oid and case when pg_catalog.pg_column_size(d.description) <= ${longestMark}
        then starts_with(d.description, ${markPrefix(databaseId)}) end`
    await endLoginSessions(database, roles, processIds)
  }
}

function within(sql: Sql, scope: Scope) {
  if (scope === 'everywhere') return sql``
  return scope === 'elsewhere'
    ? sql`and datname <> pg_catalog.current_database()`
    : sql`and pid = any(${scope}::int8[])`
}

async function terminate(sql: Sql, oid: number, scope: Scope): Promise<number> {
  const [row] = await sql<{ ended: number }[]>`
    select count(*) filter (where pg_catalog.pg_terminate_backend(pid))::int as ended from pg_catalog.pg_stat_activity
    where usesysid = ${oid}::int8::oid and pid <> pg_catalog.pg_backend_pid() ${within(sql, scope)}`
  return row?.ended ?? 0
}

async function terminateAs(
  database: Database,
  { oid, name }: Role,
  scope: Scope,
  version: number,
): Promise<number> {
  const role = quoteIdentifier(name)
  return await undo(database, async (tx) => {
    await tx.unsafe(
      `GRANT ${role} TO CURRENT_USER${version >= 160000 ? ' WITH SET TRUE, INHERIT FALSE' : ''}`,
    )
    await tx.unsafe(`SET LOCAL ROLE ${role}`)
    return await terminate(tx, oid, scope)
  })
}

/** Runs it in a transaction that is rolled back, and returns what it returned. */
async function undo<T>(database: Database, run: (tx: Tx) => Promise<T>): Promise<T> {
  let result: { readonly value: T } | undefined
  await database
    .transaction(async (tx) => {
      await tx`select set_config('lock_timeout', '400', true)`
      result = { value: await run(tx) }
      throw new Undo()
    })
    .catch((error: unknown) => {
      if (!(error instanceof Undo)) throw error
    })
  if (!result) throw new Error('a transaction was undone before its end')
  return result.value
}

/** A session that is being ended may hold temporary tables, and a role that owns something cannot go. */
export async function waitUntilGone(sql: Sql, logins: readonly Pick<Role, 'oid'>[]): Promise<void> {
  const until = Date.now() + goneAfterMs
  while (Date.now() < until) {
    const open = await sql`
      select 1 from pg_catalog.pg_stat_activity
      where usesysid = any(${logins.map(({ oid }) => oid)}::int8[]::oid[]) limit 1`
    if (open.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
