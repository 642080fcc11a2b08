import { isDeepStrictEqual } from 'node:util'
import type { Sql } from '../../db/sql.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import { endOpenSessions, type OpenEntry, type RawPlace } from '../../sessions/open-sessions.ts'

/** Ends the sessions that the record lists, and writes the list anew. */
export async function endRawSessions(
  place: RawPlace,
  schema: string,
  isAllClosed: boolean,
): Promise<readonly OpenEntry[]> {
  const { sql } = place.database
  const open = await readOpen(sql, schema)
  const left = await endOpenSessions(place, open, isAllClosed)
  await replaceOpen(sql, schema, open, left)
  return left
}

/** The record's entries of sessions that may hold raw rows. */
async function readOpen(sql: Sql, schema: string): Promise<readonly OpenEntry[]> {
  // As JSON, because records of an earlier release have no such column.
  const [row] = await sql<{ open: OpenEntry[] }[]>`
    select coalesce(pg_catalog.to_jsonb(p) -> 'open', '[]') as open from ${sql(schema)}.policy p`.catch(
    (error: unknown) => {
      // Another node has removed the last mask since.
      if (codeOf(error) === sqlstate.undefinedTable) return []
      throw error
    },
  )
  return row?.open ?? []
}

/** Leaves the list as it is where another node changed it meanwhile: the next turn does the same again. */
export async function replaceOpen(
  sql: Sql,
  schema: string,
  before: readonly OpenEntry[],
  after: readonly OpenEntry[],
): Promise<void> {
  if (isDeepStrictEqual(before, after)) return
  await sql`
    update ${sql(schema)}.policy set open = ${sql.json(after)}::jsonb where open = ${sql.json(before)}::jsonb`
}
