import { isDeepStrictEqual } from 'node:util'
import type { Database } from '../../db/database.ts'
import { endSessions } from '../../sessions/end-sessions.ts'
import { isRole, type OpenEntry } from '../../sessions/open-sessions.ts'
import type { TurnResult } from '../turn.ts'

interface Options {
  /** Login roles that the service made, by OID. */
  readonly logins: readonly number[]
  /** Other servers than the primary serve sessions. */
  readonly hasStandbys: boolean
  readonly isAllClosed: boolean
}

/**
 * Ends the sessions of roles that are no longer exempt, which the record lists: an open cursor would go on returning raw
 * rows. Waits for no table. While a lock keeps a relation from being closed, the roles stay on the list, and each try
 * looks at the sessions of the first one alone: sessions that began later read through masks, and must not be ended
 * again and again. Once everything is closed the sessions themselves are on the list, until they are gone.
 */
export async function endRawSessions(
  database: Database,
  { open, snapshot }: Pick<TurnResult, 'open' | 'snapshot'>,
  { logins, hasStandbys, isAllClosed }: Options,
): Promise<readonly OpenEntry[]> {
  const roles = open.filter((one) => isRole(one) && one.left === undefined)
  const due = isAllClosed ? roles : roles.filter(({ isSeen }) => !isSeen)
  const ended = await endSessions(database.sql, {
    roles: due.map(({ role }) => role),
    sessions: open.flatMap(({ pid, role }) => (pid === undefined ? [] : [{ pid, role }])),
    ...{ scope: 'here', endsStarting: true, inherit: { database, roles: logins } },
  })
  const elsewhere = [...open.filter(({ left }) => left), ...(isAllClosed ? roles : [])]
  const rest = [
    ...(isAllClosed ? [] : roles.map((entry) => ({ ...entry, isSeen: true }))),
    ...(hasStandbys ? elsewhere.map(({ isSeen: _, ...entry }) => entry) : []),
    ...ended.open,
  ]
  await replaceOpen(database, snapshot.guard.schema, open, rest)
  return rest
}

/** Leaves the list as it is where another node changed it meanwhile: the next turn does the same again. */
export async function replaceOpen(
  { sql }: Database,
  schema: string,
  before: readonly OpenEntry[],
  after: readonly OpenEntry[],
): Promise<void> {
  if (isDeepStrictEqual(before, after)) return
  await sql`
    update ${sql(schema)}.policy set open = ${sql.json(after)}::jsonb where open = ${sql.json(before)}::jsonb`
}
