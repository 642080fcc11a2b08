import { isDeepStrictEqual } from 'node:util'
import type { Sql } from '../../db/sql.ts'
import { endOpenSessions, type OpenEntry, type RawPlace } from '../../sessions/open-sessions.ts'
import type { TurnResult } from '../turn.ts'

/** Ends the sessions that the record lists, and writes the list anew. Returns what is left to do. */
export async function endRawSessions(
  place: RawPlace,
  { open, snapshot }: Pick<TurnResult, 'open' | 'snapshot'>,
  isAllClosed: boolean,
): Promise<readonly OpenEntry[]> {
  const left = await endOpenSessions(place, open, isAllClosed)
  await replaceOpen(place.database.sql, snapshot.guard.schema, open, left)
  return left
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
