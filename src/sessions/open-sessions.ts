import type { Note } from '../contracts/note.ts'
import type { Database } from '../db/database.ts'
import { endSessions } from './end-sessions.ts'
import { nameRole } from './holder.ts'

/** A role that is no longer exempt and whose sessions are to end, or such a session that is still open. */
export interface OpenEntry {
  /** Its OID: the role may be renamed or dropped, and another one may take the name. */
  readonly role: number
  readonly name: string
  /** Absent: the role. */
  readonly pid?: number
  /** Its sessions were looked at once, and not everything is closed. */
  readonly isSeen?: boolean
  /** Its sessions at the primary have ended. A standby that has replayed so far shows the loss. */
  readonly left?: string
}

/** A database in which sessions may hold raw rows. */
export interface RawPlace {
  readonly database: Database
  /** Login roles that the service made, by OID. */
  readonly logins: readonly number[]
  /** Other servers of its cluster serve sessions. */
  readonly hasStandbys: boolean
}

/**
 * Ends the sessions of roles that are no longer exempt: an open cursor would go on returning raw rows. Waits for no
 * table. While a lock keeps a relation from being closed, the roles stay on the list, and each try looks at the
 * sessions of the first one alone: sessions that began later read through masks, and must not be ended again and
 * again. Once everything is closed the sessions themselves are on the list, until they are gone.
 */
export async function endOpenSessions(
  { database, logins, hasStandbys }: RawPlace,
  open: readonly OpenEntry[],
  isAllClosed: boolean,
): Promise<readonly OpenEntry[]> {
  const roles = open.filter((one) => isRole(one) && one.left === undefined)
  const due = isAllClosed ? roles : roles.filter(({ isSeen }) => !isSeen)
  const ended = await endSessions(database.sql, {
    roles: due.map(({ role }) => role),
    sessions: open.flatMap(({ pid, role }) => (pid === undefined ? [] : [{ pid, role }])),
    ...{ scope: 'here', endsStarting: true, inherit: { database, roles: logins } },
  })
  const elsewhere = [...open.filter(({ left }) => left), ...(isAllClosed ? roles : [])]
  return [
    ...(isAllClosed ? [] : roles.map((entry) => ({ ...entry, isSeen: true }))),
    ...(hasStandbys ? elsewhere.map(({ isSeen: _, ...entry }) => entry) : []),
    ...ended.open,
  ]
}

export const isRole = ({ pid }: OpenEntry) => pid === undefined

/** About sessions that go on, and those at standbys that may. */
export function noteOpen(open: readonly OpenEntry[]): Note[] {
  return open
    .filter(({ pid, left }) => pid !== undefined || left !== undefined)
    .map(({ role, name, pid }) => {
      const what = `of ${nameRole(name, role)}, which is no longer exempt, may hold raw rows of open cursors`
      const message =
        pid === undefined
          ? `Sessions at standbys ${what}, and go on.`
          : `Session ${pid} ${what}, and goes on. Run: SELECT pg_terminate_backend(${pid}).`
      return { code: 'OpenSession', target: name, message }
    })
}
