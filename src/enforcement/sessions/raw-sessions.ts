import type { Database } from '../../db/database.ts'
import type { Note } from '../plan.ts'
import { ExemptSessions } from './end-exempt-sessions.ts'
import { endOldReaders } from './old-readers.ts'
import { noteOlderSessions } from './older-sessions.ts'
import { readOpen } from './read-open.ts'

/** A database in which sessions may hold raw rows. */
export interface RawPlace {
  readonly database: Database
  readonly databaseId: string
  /** The schema of our records. */
  readonly schema: string
  readonly logins: readonly { readonly oid: number; readonly name: string }[]
}

/** Ends sessions that could go on reading raw values: of roles that lost an exemption, and from before a mask. */
export class RawSessions {
  readonly #limitMs: number
  readonly #exempt = new ExemptSessions()

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  /** As soon as what can be closed is closed, and before anything is opened. */
  async endExempt({ database, databaseId, schema, logins }: RawPlace): Promise<void> {
    const { ending: roles } = await readOpen(database.sql, schema)
    await this.#exempt.end(database, { databaseId, schema, roles, logins, isAllClosed: false })
  }

  /** Returns notes about sessions that stay, when the first of them is due to be ended, and the roles that lost an exemption. */
  async end({ database, databaseId, schema, logins }: RawPlace, isAllClosed: boolean) {
    const { ending: roles, hasReaders, hasOlder } = await readOpen(database.sql, schema)
    const exempt = await this.#exempt.end(database, { databaseId, schema, roles, logins, isAllClosed })
    const readers = hasReaders
      ? await endOldReaders(database, schema, this.#limitMs)
      : { ended: 0, notes: [], dueMs: null }
    const older = hasOlder ? await noteOlderSessions(database.sql, schema) : []
    const notes: Note[] = [...exempt.notes, ...readers.notes, ...older]
    return { ended: exempt.ended + readers.ended, notes, dueMs: readers.dueMs, roles }
  }
}
