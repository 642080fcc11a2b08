import type { Note } from '../contracts/note.ts'
import type { Database } from '../db/database.ts'
import { quoteIdentifier } from '../db/quote.ts'
import { endSessions, type Session } from './end-sessions.ts'
import { nameRole } from './holder.ts'

/** A role that is no longer exempt and whose sessions are to end, or such a session that is still open. */
export interface OpenEntry {
  /** Its OID: the role may be renamed or dropped, and another one may take the name. */
  readonly role: number
  readonly name: string
  /** The standby, as host:port. Absent: the primary. */
  readonly place?: string
  /** Absent: the role. */
  readonly pid?: number
  /** Its sessions were looked at once. */
  readonly isSeen?: boolean
}

/** A database in which sessions may hold raw rows. */
export interface RawPlace {
  readonly database: Database
  /** Login roles that the service made, by OID. */
  readonly logins: readonly number[]
  /** The servers of its cluster that may serve sessions, as host:port. */
  readonly standbys: readonly string[]
}

/**
 * Ends the sessions of roles that are no longer exempt: an open cursor would go on returning raw rows. Waits for no
 * table. While a lock keeps a relation from being closed, the roles stay on the list, and each try looks at the
 * sessions of the first one alone: sessions that began later read through masks, and must not be ended again and
 * again. Once everything is closed the sessions themselves are on the list, until they are gone.
 */
export async function endOpenSessions(
  { database, logins, standbys }: RawPlace,
  open: readonly OpenEntry[],
  isAllClosed: boolean,
): Promise<readonly OpenEntry[]> {
  const here = open.filter(({ place }) => place === undefined)
  const elsewhere = open.filter(({ place }) => place !== undefined && standbys.includes(place))
  const roles = here.filter(isRole)
  const left = await endSessions(database.sql, {
    roles: roles.filter(({ isSeen }) => isAllClosed || !isSeen).map(({ role }) => role),
    ...{ sessions: here.flatMap(listed), scope: 'here', endsStarting: true },
    inherit: { database, roles: logins },
  })
  const rest = isAllClosed
    ? roles.flatMap(({ role, name }) => standbys.map((place) => ({ role, name, place })))
    : roles.map((entry) => ({ ...entry, isSeen: true }))
  return [...elsewhere, ...rest, ...left.open]
}

export const isRole = ({ pid }: OpenEntry) => pid === undefined

export const listed = ({ pid, ...one }: OpenEntry) => (pid === undefined ? [] : [{ ...one, pid }])

/** About sessions that could not be ended, and about standbys of which that is not known. */
export function noteOpen(open: readonly OpenEntry[]): Note[] {
  const waiting = Map.groupBy(open.filter(isRole), ({ place }) => place)
  return [
    ...open.flatMap(listed).map(noteSession),
    ...[...waiting].flatMap(([place, entries]) => (place === undefined ? [] : [noteStandby(place, entries)])),
  ]
}

function noteSession({ pid, role, name, place }: OpenEntry & Pick<Session, 'pid'>): Note {
  const [at, there] = place === undefined ? ['', ''] : [` at the standby ${place}`, ' there']
  const who = `Session ${pid} of ${nameRole(name, role)}${at}`
  const what = 'is no longer exempt, may hold raw rows of an open cursor, and goes on'
  const message = `${who}, which ${what}. Run${there}: SELECT pg_terminate_backend(${pid}).`
  return { code: 'OpenSession', target: name, message }
}

function noteStandby(place: string, entries: readonly OpenEntry[]): Note {
  const names = [...new Set(entries.map(({ name }) => quoteIdentifier(name)))].sort()
  const what =
    'roles that are no longer exempt, which may hold raw rows of open cursors, go on until it can be asked'
  const message = `At the standby ${place} sessions of ${what}: ${names.slice(0, 10).join(', ')}.`
  return { code: 'OpenSession', target: place, message }
}
