import type { Sql } from '../../db/sql.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'

/** The record's entries of sessions that may hold raw rows. */
export interface OpenSessions {
  /** Roles that are no longer exempt and whose sessions are to end. */
  readonly ending: readonly string[]
  readonly hasReaders: boolean
  readonly hasOlder: boolean
}

export async function readOpen(sql: Sql, schema: string): Promise<OpenSessions> {
  const nothing = { ending: [], hasReaders: false, hasOlder: false }
  const [row] = await sql<OpenSessions[]>`
    select ending, readers <> '[]' as "hasReaders", older <> '[]' as "hasOlder" from ${sql(schema)}.policy`.catch(
    (error: unknown) => {
      // Another node has removed the last mask since.
      if (codeOf(error) === sqlstate.undefinedTable) return []
      throw error
    },
  )
  return row ?? nothing
}
