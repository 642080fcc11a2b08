import { isDeepStrictEqual } from 'node:util'
import type { Sql } from '../../db/sql.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import type { Session } from './signal-session.ts'

/** A role that is no longer exempt and whose sessions are to end, or such a session that is still open. */
export interface OpenEntry {
  /** Its OID: the role may be renamed or dropped, and another one may take the name. */
  readonly role: number
  readonly name: string
  /** The standby, as host:port. Absent: the primary. */
  readonly place?: string
  /** Absent: the role. */
  readonly pid?: number
  /** Null: not for the role of the binding to see. */
  readonly start?: string | null
  /** Its sessions were looked at once. */
  readonly isSeen?: boolean
}

/** The record's entries of sessions that may hold raw rows. */
export interface OpenSessions {
  readonly open: readonly OpenEntry[]
  readonly hasReaders: boolean
  readonly hasOlder: boolean
}

export async function readOpen(sql: Sql, schema: string): Promise<OpenSessions> {
  const nothing = { open: [], hasReaders: false, hasOlder: false }
  // As JSON, because records of an earlier release have no such column.
  const [row] = await sql<OpenSessions[]>`
    select coalesce(pg_catalog.to_jsonb(p) -> 'open', '[]') as open, readers <> '[]' as "hasReaders", older <> '[]' as "hasOlder"
    from ${sql(schema)}.policy p`.catch((error: unknown) => {
    // Another node has removed the last mask since.
    if (codeOf(error) === sqlstate.undefinedTable) return []
    throw error
  })
  return row ?? nothing
}

/** Leaves the list as it is where another node changed it meanwhile: the next turn does the same again. */
export async function replaceOpen(
  sql: Sql,
  schema: string,
  before: readonly OpenEntry[],
  after: readonly OpenEntry[],
): Promise<void> {
  if (!isDeepStrictEqual(before, after))
    await sql`update ${sql(schema)}.policy set open = ${sql.json(after)}::jsonb where open = ${sql.json(before)}::jsonb`
}

export function listSession({ pid, role, name, start }: Session, place?: string): OpenEntry {
  return { role, name, pid, start, ...(place === undefined ? {} : { place }) }
}

/** A process id is used again, by another role or later. */
export function isListed({ pid, role, start = null }: OpenEntry, session: Session): boolean {
  const isSameStart = start === null || session.start === null || start === session.start
  return pid === session.pid && role === session.role && isSameStart
}
