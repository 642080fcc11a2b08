import type { Sql } from '../../db/sql.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Definition, Oid } from '../model.ts'

type Texts = ReadonlyMap<Oid, Definition | null>

/** So long for one statement that prints before anything is closed, for one that does after it, and for all of these. */
const [earlyMs, lateMs, allMs] = [300, 1_000, 3_000]

/**
 * Texts of views. PostgreSQL locks every relation of a view to print it, and takes long for some: this fails then, where
 * nothing is closed yet. After all closings a view that is not printed in time is null, and keeps no other from its
 * twin.
 */
export async function readDefinitions(
  tx: Tx,
  oids: readonly Oid[],
  isClosed: boolean,
  statementTimeout: string,
): Promise<Texts> {
  // A query is sent when it is waited for: these in their order.
  const setLimit = async (limit: string) =>
    void (await tx`select set_config('statement_timeout', ${limit}, true)`)
  const printIn = async (some: readonly Oid[], ms: number) => {
    const [, texts] = await Promise.all([setLimit(String(ms)), print(tx, some), setLimit(statementTimeout)])
    return texts
  }
  if (!isClosed) return await printIn(oids, earlyMs)
  const end = Date.now() + allMs
  const tryPrint = async (some: readonly Oid[]): Promise<Texts> => {
    const isLate = Date.now() > end
    const texts = isLate ? null : await tx.savepoint(() => printIn(some, lateMs)).catch(() => null)
    if (texts) return texts
    if (isLate || some.length === 1) return new Map(some.map((oid) => [oid, null]))
    const half = Math.ceil(some.length / 2)
    return new Map([...(await tryPrint(some.slice(0, half))), ...(await tryPrint(some.slice(half)))])
  }
  return await tryPrint(oids)
}

async function print(sql: Sql, oids: readonly Oid[]): Promise<Texts> {
  const rows = await sql<{ oid: Oid; text: string | null; returnsSets: boolean }[]>`
    select v.oid::int8 as oid, pg_catalog.pg_get_viewdef(v.oid) as text, exists (
      select from pg_catalog.pg_rewrite w where w.ev_class = v.oid and w.rulename = '_RETURN'
        and w.ev_action::text like '%:hasTargetSRFs true%') as "returnsSets"
    from unnest(${[...oids]}::oid[]) v(oid)`
  return new Map(
    rows.map(({ oid, text, returnsSets }) => [oid, text === null ? null : { text, returnsSets }]),
  )
}
