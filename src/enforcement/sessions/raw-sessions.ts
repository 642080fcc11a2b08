import type { Database } from '../../db/database.ts'
import type { Note } from '../plan.ts'
import { endExemptSessions } from './end-exempt-sessions.ts'
import { endOldReaders } from './old-readers.ts'
import { noteOlderSessions } from './older-sessions.ts'
import { type OpenEntry, readOpen, replaceOpen } from './read-open.ts'

/** A database in which sessions may hold raw rows. */
export interface RawPlace {
  readonly database: Database
  /** The schema of our records. */
  readonly schema: string
  readonly logins: readonly { readonly oid: number; readonly name: string }[]
  /** The servers of its cluster that may serve sessions, as host:port. */
  readonly standbys: readonly string[]
}

/** Sessions that may hold raw rows and could not be ended. */
export interface LeftOpen {
  readonly notes: readonly Note[]
  readonly open: readonly OpenEntry[]
  /** There were some before: the notes about them are to be written anew. */
  readonly hadOpen: boolean
}

export const noneLeft: LeftOpen = { notes: [], open: [], hadOpen: false }

/** Ends sessions that could go on reading raw values: of roles that lost an exemption, and from before a mask. */
export class RawSessions {
  readonly #limitMs: number

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  /** As soon as what can be closed is closed, and before anything is opened. */
  async endExempt(place: RawPlace): Promise<void> {
    const { open } = await readOpen(place.database.sql, place.schema)
    await endListed(place, open, false)
  }

  /** Returns what stays, and when the first session of it is due to be ended. */
  async end(
    place: RawPlace,
    isAllClosed: boolean,
  ): Promise<{ ended: number; dueMs: number | null; left: LeftOpen }> {
    const { database, schema } = place
    const { open, hasReaders, hasOlder } = await readOpen(database.sql, schema)
    const exempt = await endListed(place, open, isAllClosed)
    const readers = hasReaders
      ? await endOldReaders(database, schema, this.#limitMs)
      : { ended: 0, notes: [], dueMs: null }
    const older = hasOlder ? await noteOlderSessions(database.sql, schema) : []
    const notes: Note[] = [...exempt.notes, ...readers.notes, ...older]
    const ended = exempt.ended + readers.ended
    return { ended, dueMs: readers.dueMs, left: { notes, open: exempt.open, hadOpen: open.length > 0 } }
  }
}

async function endListed(
  { database, schema, ...place }: RawPlace,
  open: readonly OpenEntry[],
  isAllClosed: boolean,
) {
  const outcome = await endExemptSessions(database, { ...place, open, isAllClosed })
  await replaceOpen(database.sql, schema, open, outcome.open)
  return outcome
}
