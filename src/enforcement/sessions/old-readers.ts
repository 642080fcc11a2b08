import type { Database } from '../../db/database.ts'
import { quoteLiteral, quoteQualified } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import type { Note, Step } from '../plan.ts'
import { type HoldingRole, nameRole } from './holder.ts'
import { endSession } from './signal-session.ts'

/**
 * Records the transactions that hold a lock on relations of which columns are hidden now: a cursor that was opened before
 * goes on reading them raw. The identity of a transaction is in pg_locks, which every role may read. Records all sessions
 * too: pg_stat_activity tells the start of a session to few roles.
 */
export function recordReaders(schema: string, oids: readonly number[]): Step {
  return {
    sql: `UPDATE ${quoteQualified(schema, 'policy')} SET readers = readers || coalesce((
      SELECT jsonb_agg(DISTINCT jsonb_build_object('pid', l.pid, 'transaction', l.virtualtransaction, 'since', now()))
      FROM pg_locks l JOIN pg_database d ON d.oid = l.database
      WHERE d.datname = current_database() AND l.granted AND l.pid <> pg_backend_pid()
        AND l.relation = ANY (${quoteLiteral(`{${oids.join(',')}}`)}::oid[])), '[]'),
      hidden_at = now(), older = coalesce((
      SELECT jsonb_agg(jsonb_build_object('pid', a.pid, 'role', a.usesysid::int8)) FROM pg_stat_activity a
      WHERE a.datname = current_database() AND a.usesysid IS NOT NULL AND a.usename IS DISTINCT FROM current_user), '[]')`,
    why: 'transactions that have read the columns before',
  }
}

/** A transaction may have opened a cursor after the step above and before the commit that hid the columns. */
export async function recordLateReaders(
  { sql }: Database,
  schema: string,
  oids: readonly number[],
): Promise<void> {
  if (oids.length === 0) return
  await sql.unsafe(recordReaders(schema, oids).sql).catch((error: unknown) => {
    // Another node has removed the last mask since.
    if (codeOf(error) !== sqlstate.undefinedTable) throw error
  })
}

interface Reader extends HoldingRole {
  readonly pid: number
  readonly ageMs: number
}

/**
 * Ends the sessions of masked roles whose transactions are older than a mask that they read past, after a limit. Returns
 * notes about those that are left.
 */
export async function endOldReaders(
  { sql }: Database,
  schema: string,
  limitMs: number,
): Promise<{ notes: Note[]; ended: number; dueMs: number | null }> {
  const readers = await findReaders(sql, schema)
  const notes: Note[] = []
  let ended = 0
  for (const reader of readers)
    if (reader.ageMs >= limitMs && (await endSession(sql, reader.pid))) ended++
    else notes.push(describeReader(reader, reader.ageMs >= limitMs))
  await forgetReaders(sql, schema, readers)
  const waits = readers.filter(({ ageMs }) => ageMs < limitMs).map(({ ageMs }) => limitMs - ageMs)
  return { notes, ended, dueMs: waits.length === 0 ? null : Math.min(...waits) }
}

async function findReaders(sql: Sql, schema: string): Promise<Reader[]> {
  return await sql<Reader[]>`
    select a.pid::int4 as pid, coalesce(r.rolname::text, a.usesysid::text) as role, r.oid is null as "isDropped",
      max(extract(epoch from now() - (e ->> 'since')::timestamptz) * 1000)::int4 as "ageMs"
    from ${sql(schema)}.policy p cross join lateral pg_catalog.jsonb_array_elements(p.readers) e
    join pg_catalog.pg_stat_activity a on a.pid = (e ->> 'pid')::int4
    left join pg_catalog.pg_roles r on r.oid = a.usesysid
    where a.usesysid is not null and not coalesce(r.rolsuper or r.rolname = current_user or r.rolname = any(p.exempt), false)
      and not 'public' = any(p.exempt)
      and exists (select 1 from pg_catalog.pg_locks l
        where l.pid = a.pid and l.virtualtransaction = e ->> 'transaction' and l.locktype = 'relation')
    group by 1, 2, 3 order by 1`
}

/** Transactions that are over are no longer of interest. */
async function forgetReaders(sql: Sql, schema: string, readers: readonly Reader[]): Promise<void> {
  await sql`
    update ${sql(schema)}.policy set readers = coalesce((
      select jsonb_agg(e) from pg_catalog.jsonb_array_elements(readers) e
      where (e ->> 'pid')::int4 = any(${readers.map(({ pid }) => pid)}::int4[])), '[]')`
}

function describeReader({ pid, ...role }: Reader, isDue: boolean): Note {
  const action = isDue
    ? `The role of the binding may not end it. Run: SELECT pg_terminate_backend(${pid})`
    : 'It is ended soon, unless its transaction ends before'
  return {
    code: 'OpenSession',
    target: role.role,
    message: `Session ${pid} of ${nameRole(role)} has a transaction that is older than a mask, and a cursor of it may still read raw values. ${action}.`,
  }
}
