import type { Note } from '../contracts/note.ts'
import type { Database } from '../db/database.ts'
import { quoteIdentifier } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'
import { nameRole } from './holder.ts'
import { endSession, endSessionOf, type Session } from './signal-session.ts'
import { findStarting, outwait } from './starting.ts'

/** A role that is no longer exempt and whose sessions are to end, or such a session that is still open. */
export interface OpenEntry {
  /** Its OID: the role may be renamed or dropped, and another one may take the name. */
  readonly role: number
  readonly name: string
  /** The standby, as host:port. Absent: the primary. */
  readonly place?: string
  /** Absent: the role. */
  readonly pid?: number
  /** Null: not for the role of the binding to see. */
  readonly start?: string | null
  /** Its sessions were looked at once. */
  readonly isSeen?: boolean
}

/** A database in which sessions may hold raw rows. */
export interface RawPlace {
  readonly database: Database
  readonly open: readonly OpenEntry[]
  /** Login roles that we made: their sessions can be ended without any right. */
  readonly logins: readonly { readonly oid: number; readonly name: string }[]
  /** The servers of its cluster that may serve sessions, as host:port. */
  readonly standbys: readonly string[]
}

/** Sessions that may hold raw rows, as the record lists them, and notes about those that could not be ended. */
export interface LeftOpen {
  readonly notes: readonly Note[]
  readonly open: readonly OpenEntry[]
}

/** Of these login roles: all sessions, or those with the process ids. Returns how many were ended. */
type EndLoginSessions = (
  database: Database,
  logins: readonly { readonly oid: number; readonly name: string }[],
  processIds?: readonly number[],
) => Promise<number>

/** What starts for longer was delayed by its client, or the server is overloaded. */
const startMs = 1000

/**
 * Ends the sessions of roles that are no longer exempt: an open cursor would go on returning raw rows. Waits for no
 * table. While a lock keeps a relation from being closed, the roles stay on the list, and each try looks at the
 * sessions of the first one alone: sessions that began later read through masks, and must not be ended again and
 * again. Once everything is closed the sessions themselves are on the list, until they are gone.
 */
export async function endOpenSessions(
  { database, open, logins, standbys }: RawPlace,
  isAllClosed: boolean,
  endLoginSessions: EndLoginSessions,
): Promise<LeftOpen> {
  const { sql } = database
  const here = open.filter(({ place }) => place === undefined)
  const elsewhere = open.filter(({ place }) => place !== undefined && standbys.includes(place))
  const roles = here.filter(isRole)
  const due = rolesOf(roles.filter(({ isSeen }) => isAllClosed || !isSeen))
  const own = logins.filter(({ oid }) => due.has(oid))
  if (own.length > 0) await endLoginSessions(database, own)
  const ending = await endListed(sql, here, due, due.size > own.length, async ({ role, pid }) => {
    const login = logins.find(({ oid }) => oid === role)
    if (login) await endLoginSessions(database, [login], [pid])
    return login !== undefined
  })
  const rest = isAllClosed
    ? roles.flatMap(({ role, name }) => standbys.map((place) => ({ role, name, place })))
    : roles.map((entry) => ({ ...entry, isSeen: true }))
  const after = [...elsewhere, ...rest, ...ending.sessions.map((one) => listSession(one))]
  return { notes: ending.notes, open: after }
}

/**
 * The same at a standby: what ends sessions at the primary is not replayed. `isReplayed`: sessions that begin from
 * now on read through masks, so those of now alone stay on the list. Those that PostgreSQL is starting end then:
 * before, a slow server would lose all that start at each turn, whatever their role.
 */
export async function endAtStandby(
  { sql }: Pick<Database, 'sql'>,
  standby: string,
  entries: readonly OpenEntry[],
  isReplayed: boolean,
): Promise<LeftOpen> {
  const roles = entries.filter(isRole)
  const due = rolesOf(roles)
  const ending = await endListed(sql, entries, due, isReplayed && due.size > 0, undefined, standby)
  const again = isReplayed ? [] : roles
  return {
    notes: ending.notes,
    open: [...again, ...ending.sessions.map((one) => listSession(one, standby))],
  }
}

/** A server that could not be asked keeps its entries. */
export function noteUnasked(standby: string, entries: readonly OpenEntry[]): LeftOpen {
  const names = [...new Set(entries.map(({ name }) => quoteIdentifier(name)))].sort()
  const held = 'Sessions there of roles that are no longer exempt may hold raw rows of open cursors'
  const message = `The standby ${standby} cannot be asked. ${held}: ${names.slice(0, 10).join(', ')}.`
  return { notes: [{ code: 'OpenSession', target: standby, message }], open: entries }
}

/**
 * Ends the sessions that the entries list, and all of the roles in `due`. `endsStarting`: also those that do not show
 * their role yet; what still starts after a moment was delayed by its client. Returns also those that were told to end,
 * which takes a moment.
 */
async function endListed(
  sql: Sql,
  entries: readonly OpenEntry[],
  due: ReadonlySet<number>,
  endsStarting: boolean,
  endOtherwise: (session: Session) => Promise<boolean> = async () => false,
  standby?: string,
): Promise<{ readonly sessions: readonly Session[]; readonly notes: readonly Note[] }> {
  if (entries.length === 0) return { sessions: [], notes: [] }
  // Before those that show their role: one becomes the other.
  const unknown = endsStarting ? await outwait(sql, await findStarting(sql, 'here'), 'here', startMs) : []
  const found = await findSessions(sql, [...rolesOf(entries)])
  const sessions = found.filter((one) => due.has(one.role) || entries.some((entry) => isListed(entry, one)))
  const notes: Note[] = []
  for (const session of sessions)
    if (!(await endSessionOf(sql, session)) && !(await endOtherwise(session)))
      notes.push(describeSession(session, standby))
  for (const { pid } of unknown) await endSession(sql, pid)
  return { sessions, notes }
}

/** The sessions of these roles in the database, by their OIDs: a session outlives its role, and its role's name. */
async function findSessions(sql: Sql, roles: readonly number[]): Promise<Session[]> {
  return await sql<Session[]>`
    select a.pid::int4 as pid, a.usesysid::int8 as role, coalesce(r.rolname, a.usesysid::text)::text as name,
      r.oid is null as "isDropped", extract(epoch from a.backend_start)::text as start
    from pg_catalog.pg_stat_activity a left join pg_catalog.pg_roles r on r.oid = a.usesysid
    -- A superuser sees raw values with or without an exemption.
    where a.datname = current_database() and a.usesysid = any(${roles}::int8[]::oid[])
      and a.pid <> pg_backend_pid() and r.rolname is distinct from current_user and r.rolsuper is not true`
}

const isRole = ({ pid }: OpenEntry) => pid === undefined
const rolesOf = (entries: readonly OpenEntry[]) => new Set(entries.map(({ role }) => role))

function listSession({ pid, role, name, start }: Session, place?: string): OpenEntry {
  return { role, name, pid, start, ...(place === undefined ? {} : { place }) }
}

/** A process id is used again, by another role or later. */
function isListed({ pid, role, start = null }: OpenEntry, session: Session): boolean {
  const isSameStart = start === null || session.start === null || start === session.start
  return pid === session.pid && role === session.role && isSameStart
}

function describeSession({ pid, name, isDropped = false }: Session, standby: string | undefined): Note {
  const role = nameRole({ role: name, isDropped })
  const what = 'which is no longer exempt, may hold raw rows of an open cursor'
  const message = `Session ${pid} of ${role}${at(standby)}, ${what}, and ${runToEnd(pid, standby)}`
  return { code: 'OpenSession', target: name, message }
}

const at = (standby: string | undefined) => (standby === undefined ? '' : ` at the standby ${standby}`)

function runToEnd(pid: number, standby: string | undefined): string {
  const where = standby === undefined ? '' : ' there'
  return `the role of the binding may not end it. Run${where}: SELECT pg_terminate_backend(${pid}).`
}
