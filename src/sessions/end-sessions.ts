import { randomUUID } from 'node:crypto'
import type { Database } from '../db/database.ts'
import { quoteIdentifier } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'
import { findStarting, outwait } from './starting.ts'

/** A session that shows its role. */
export interface Session {
  readonly pid: number
  /** Its OID: the role may be renamed or dropped. */
  readonly role: number
  /** Of a role that was dropped, its OID. */
  readonly name: string
}

interface Due {
  /** By OID: all sessions of these roles end. */
  readonly roles: readonly number[]
  /** These too. A process id may be that of another role by now. */
  readonly sessions?: readonly Pick<Session, 'pid' | 'role'>[]
  /** Relative to the database of the connection. */
  readonly scope: 'here' | 'elsewhere' | 'everywhere'
  /**
   * Sessions that PostgreSQL is starting end, too: those of `roles` where all of these are inherited, else those of every
   * role, as PostgreSQL does not tell whose they are.
   */
  readonly endsStarting?: boolean
  /** Roles that the service made. It needs no right to end their sessions at the primary. */
  readonly inherit?: { readonly database: Database; readonly roles: readonly number[] }
}

interface Ended {
  /** Sessions that go on. */
  readonly open: readonly Session[]
  /** Process ids of sessions that PostgreSQL is still starting. */
  readonly starting: readonly number[]
  /** How many were told to end. */
  readonly ended: number
  /** Why a role could not be inherited. */
  readonly failure?: unknown
}

const nothing: Ended = { open: [], starting: [], ended: 0 }

interface Process {
  readonly pid: number
  /** Absent: whatever it is. */
  readonly role?: number
}

/** What starts for longer was delayed by its client, or the server is overloaded. */
const startMs = 1_000
const goneMs = 2_000
const pauseMs = 20
/** A session that changes its own role in an open transaction must not delay the end of it. */
const lockTimeoutMs = 400

class Undo extends Error {}

/** The one way to end sessions of roles, at the primary and at standbys. Waits a moment until they are gone. */
export async function endSessions(sql: Sql, due: Due): Promise<Ended> {
  const { roles, sessions = [], scope, inherit } = due
  const oids = [...roles, ...sessions.map(({ role }) => role)]
  if (oids.length === 0) return nothing
  // Before those that show their role: one becomes the other.
  const seen = due.endsStarting && roles.length > 0 ? await findStarting(sql, scope === 'here') : []
  const delayed: Process[] = (await outwait(sql, seen, startMs)).map(({ pid }) => ({ pid }))
  const isDue = (one: Session) =>
    roles.includes(one.role) || sessions.some(({ pid, role }) => pid === one.pid && role === one.role)
  const shown = (await findSessions(sql, oids, scope)).filter(isDue)
  if (shown.length + delayed.length === 0) return nothing
  const isPrecise = roles.every((role) => inherit?.roles.includes(role))
  let refused = await endEach(shown, sql)
  if (!isPrecise) refused.push(...(await endEach(delayed, sql)))
  let failure: unknown
  const rest = isPrecise ? [...refused, ...delayed] : refused
  const own = new Set(isPrecise && delayed.length > 0 ? roles : rest.map(({ role }) => role))
  const granted = inherit?.roles.filter((role) => own.has(role)) ?? []
  if (inherit && granted.length > 0) ({ refused, failure } = await endAs(inherit.database, granted, rest))
  const told = new Set([...shown, ...delayed].map(({ pid }) => pid))
  const goesOn = (pid: number) => refused.some((one) => one.pid === pid)
  for (const until = Date.now() + goneMs; ; await new Promise((resolve) => setTimeout(resolve, pauseMs))) {
    const open = (await findSessions(sql, oids, scope)).filter((one) => told.has(one.pid) && isDue(one))
    const starting = isPrecise ? [] : (await outwait(sql, seen, 0)).map(({ pid }) => pid)
    const isOver = [...open.map(({ pid }) => pid), ...starting].every(goesOn)
    if (isOver || Date.now() > until) return { open, starting, ended: told.size - refused.length, failure }
  }
}

/** By their OIDs: a session outlives its role, and its role's name. A superuser gains nothing by a session. */
async function findSessions(sql: Sql, roles: readonly number[], scope: Due['scope']): Promise<Session[]> {
  const here = sql`a.datname = pg_catalog.current_database()`
  const where = { here, elsewhere: sql`not ${here}`, everywhere: sql`true` }[scope]
  return await sql<Session[]>`
    select a.pid::int4 as pid, a.usesysid::int8 as role, coalesce(r.rolname, a.usesysid::text)::text as name
    from pg_catalog.pg_stat_activity a left join pg_catalog.pg_roles r on r.oid = a.usesysid
    where ${where} and a.usesysid = any(${[...new Set(roles)]}::int8[]::oid[])
      and r.rolname is distinct from current_user and r.rolsuper is not true`
}

/** Returns those that the role of the binding may not end. */
async function endEach(processes: readonly Process[], sql: Sql): Promise<Process[]> {
  const refused: Process[] = []
  for (const one of processes) await endProcess(sql, one).catch(() => refused.push(one))
  return refused
}

async function endProcess(sql: Sql, { pid, role }: Process): Promise<void> {
  // A session that starts may stand nowhere but among the locks.
  if (role === undefined) await sql`select pg_catalog.pg_terminate_backend(${pid})`
  else
    await sql`
      select pg_catalog.pg_terminate_backend(a.pid) from pg_catalog.pg_stat_activity a
      where a.pid = ${pid} and a.usesysid = ${role}::int8::oid`
}

/**
 * PostgreSQL lets a role end the sessions of the roles that it inherits, whether or not it shows whose they are: a role
 * that inherits them for a moment ends these, and those of no other role. In a transaction that is undone, as a signal
 * cannot be.
 */
async function endAs(database: Database, roles: readonly number[], processes: readonly Process[]) {
  const refused: Process[] = []
  let failure: unknown
  const work = database.transaction(async (tx) => {
    await tx`select set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`
    const named = await tx<{ name: string }[]>`
      select rolname::text as name from pg_catalog.pg_roles where oid = any(${[...roles]}::int8[]::oid[])`
    const ender = quoteIdentifier(`masquerade ${randomUUID()}`)
    await tx.unsafe(`CREATE ROLE ${ender}`)
    await tx.unsafe(`GRANT ${ender} TO CURRENT_USER`)
    for (const { name } of named)
      await tx.attempt(`GRANT ${quoteIdentifier(name)} TO ${ender}`).catch((error: unknown) => {
        failure ??= error
      })
    await tx.unsafe(`SET LOCAL ROLE ${ender}`)
    for (const one of processes) await tx.savepoint(() => endProcess(tx, one)).catch(() => refused.push(one))
    throw new Undo()
  })
  await work.catch((error: unknown) => {
    if (!(error instanceof Undo)) throw error
  })
  return { refused, failure }
}
