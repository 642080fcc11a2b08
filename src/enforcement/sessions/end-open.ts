import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import type { Note } from '../plan.ts'
import { isListed, type OpenEntry } from './read-open.ts'
import { endSessionOf, findSessions, type Session } from './signal-session.ts'

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

const roleOf = ({ role }: OpenEntry) => role

function describeSession({ pid, name }: Session, standby: string | undefined): Note {
  const place = standby === undefined ? '' : ` at the standby ${standby}`
  const there = standby === undefined ? '' : ' there'
  const message = `Session ${pid} of role ${quoteIdentifier(name)}${place}, which is no longer exempt, may hold raw rows of an open cursor, and the role of the binding may not end it. Run${there}: SELECT pg_terminate_backend(${pid}).`
  return { code: 'OpenSession', target: name, message }
}
