import type { Database } from '../../db/database.ts'
import { endLoginSessions } from '../logins/end-login-sessions.ts'
import type { Note } from '../plan.ts'
import { endEach, endUnshown, findDue, findUnshown } from './end-open.ts'
import { listSession, type OpenEntry } from './read-open.ts'

/** Roles that are no longer exempt, and the circumstances. */
export interface Ending {
  readonly open: readonly OpenEntry[]
  /** Login roles that we made: their sessions can be ended without any right. */
  readonly logins: readonly { readonly oid: number; readonly name: string }[]
  /** Nothing is readable any more that was only for exempt roles. */
  readonly isAllClosed: boolean
  /** The servers whose sessions are to end too, once they have replayed the change. */
  readonly standbys: readonly string[]
}

/**
 * Ends the sessions of roles that are no longer exempt: an open cursor would go on returning raw rows. Waits for no table.
 * While a lock keeps a relation from being closed, the roles stay on the list, and each try looks at the sessions of the
 * first one alone: sessions that began later read through masks, and must not be ended again and again. Once everything is
 * closed the sessions themselves are on the list, until they are gone. Returns the new list, and notes about sessions that
 * the role of the binding may not end.
 */
export async function endExemptSessions(
  database: Database,
  { open, logins, isAllClosed, standbys }: Ending,
): Promise<{ ended: number; notes: Note[]; open: readonly OpenEntry[] }> {
  const here = open.filter(({ place }) => place === undefined)
  const elsewhere = open.filter(({ place }) => place !== undefined && standbys.includes(place))
  if (here.length === 0) return { ended: 0, notes: [], open: elsewhere }
  const isWhole = ({ isSeen }: OpenEntry) => isAllClosed || !isSeen
  const unshown = await findUnshown(
    database.sql,
    here.some((entry) => entry.pid === undefined && isWhole(entry)),
  )
  const { sessions, roles } = await findDue(database.sql, here, isWhole)
  const own = logins.filter(({ oid }) => roles.has(oid) || sessions.some(({ role }) => role === oid))
  const [whole, listed] = [own.filter(({ oid }) => roles.has(oid)), own.filter(({ oid }) => !roles.has(oid))]
  const pids = sessions.map(({ pid }) => pid)
  const ofLogins =
    (await endLoginSessions(database, whole)) + (await endLoginSessions(database, listed, pids))
  const others = sessions.filter(({ role }) => !own.some(({ oid }) => oid === role))
  const notes = await endEach(database.sql, others)
  // Those of login roles have been ended above.
  const rest = new Set([...roles].filter((role) => !own.some(({ oid }) => oid === role)))
  const late = await endUnshown(database.sql, unshown, here, rest)
  const ending = here.filter(({ pid }) => pid === undefined)
  const left = isAllClosed
    ? ending.flatMap(({ role, name }) => standbys.map((place) => ({ role, name, place })))
    : ending.map((entry) => ({ ...entry, isSeen: true }))
  const ended = ofLogins + others.length - notes.length + late.ended
  return {
    ended,
    notes: [...notes, ...late.notes],
    open: [...elsewhere, ...left, ...sessions.map((one) => listSession(one)), ...late.open],
  }
}
