import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import type { Note } from '../plan.ts'
import { nameRole } from './holder.ts'
import { isListed, listSession, type OpenEntry } from './read-open.ts'
import { endSession, endSessionOf, findSessions, type Session } from './signal-session.ts'
import { findStarting, outwait, type Starting } from './starting.ts'

/** What starts for longer was delayed by its client, or the server is overloaded. */
const startMs = 1000

/** Sessions of roles that lost an exemption, as one server shows them. */
export interface DueSessions {
  /** Also those that were told to end, which takes a moment. */
  readonly sessions: readonly Session[]
  /** All sessions of these roles are due: at standbys and after the last close the later ones too. */
  readonly roles: ReadonlySet<number>
}

/** The sessions that the entries list, and all of the roles that `isWhole` chooses. */
export async function findDue(
  sql: Sql,
  entries: readonly OpenEntry[],
  isWhole: (entry: OpenEntry) => boolean,
): Promise<DueSessions> {
  const roles = new Set(entries.filter((entry) => entry.pid === undefined && isWhole(entry)).map(roleOf))
  const found = await findSessions(sql, [...new Set(entries.map(roleOf))])
  const sessions = found.filter((one) => roles.has(one.role) || entries.some((entry) => isListed(entry, one)))
  return { sessions, roles }
}

/** Returns notes about sessions that the role of the binding may not end. `standby`: where they are, if not at the primary. */
export async function endEach(sql: Sql, sessions: readonly Session[], standby?: string): Promise<Note[]> {
  const notes: Note[] = []
  for (const session of sessions)
    if (!(await endSessionOf(sql, session))) notes.push(describeSession(session, standby))
  return notes
}

/** Sessions that PostgreSQL is still starting, which may be due. To be found before those that show their role: one becomes the other. */
export async function findUnshown(sql: Sql, isPatient: boolean): Promise<Starting[]> {
  const starting = await findStarting(sql, 'here')
  return isPatient ? await outwait(sql, starting, 'here', startMs) : starting
}

/**
 * Ends those of them that may be of one of these roles, of which all sessions are due, or that the entries list. Their roles are not known:
 * what still starts after a moment was delayed by its client. Returns those that the role of the binding may not end, once for each
 * role that they may turn out to be of, and notes about them.
 */
export async function endUnshown(
  sql: Sql,
  starting: readonly Starting[],
  entries: readonly OpenEntry[],
  roles: ReadonlySet<number>,
  standby?: string,
): Promise<{ ended: number; notes: Note[]; open: OpenEntry[] }> {
  const due = starting.filter(({ pid }) => roles.size > 0 || entries.some((entry) => entry.pid === pid))
  if (due.length === 0) return { ended: 0, notes: [], open: [] }
  const [may] = await sql<{ signals: boolean }[]>`
    select rolsuper or pg_catalog.pg_has_role('pg_signal_backend', 'USAGE') as signals
    from pg_catalog.pg_roles where rolname = current_user`
  const left: OpenEntry[][] = []
  for (const { pid } of due) {
    // One that may end sessions may not end those of superusers, which see raw values with or without an exemption.
    if ((await endSession(sql, pid)) || may?.signals) continue
    const possible = entries.filter(
      (entry) => (entry.pid ?? pid) === pid && (entry.pid === pid || roles.has(entry.role)),
    )
    const byRole = new Map(
      possible.map(({ role, name }) => [role, listSession({ pid, role, name, start: null }, standby)]),
    )
    left.push([...byRole.values()])
  }
  return {
    ended: due.length - left.length,
    notes: left.flatMap((one) => describeUnshown(one, standby)),
    open: left.flat(),
  }
}

const roleOf = ({ role }: OpenEntry) => role

function describeSession({ pid, name, isDropped = false }: Session, standby: string | undefined): Note {
  const place = standby === undefined ? '' : ` at the standby ${standby}`
  const there = standby === undefined ? '' : ' there'
  const message = `Session ${pid} of ${nameRole({ role: name, isDropped })}${place}, which is no longer exempt, may hold raw rows of an open cursor, and the role of the binding may not end it. Run${there}: SELECT pg_terminate_backend(${pid}).`
  return { code: 'OpenSession', target: name, message }
}

function describeUnshown([first]: readonly OpenEntry[], standby: string | undefined): Note[] {
  if (first?.pid === undefined) return []
  const place = standby === undefined ? '' : ` at the standby ${standby}`
  const there = standby === undefined ? '' : ' there'
  const message = `Session ${first.pid}${place} has delayed its start, may turn out to be one of a role that is no longer exempt, such as ${quoteIdentifier(first.name)}, and the role of the binding may not end it. Run${there}: SELECT pg_terminate_backend(${first.pid}).`
  return [{ code: 'OpenSession', target: first.name, message }]
}
