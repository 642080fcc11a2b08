import type { Sql } from '../../db/sql.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Definition, Oid } from '../model.ts'

type Texts = ReadonlyMap<Oid, Definition | null>

/** So long for one statement that prints, and for all of them. */
const [eachMs, allMs] = [1_000, 3_000]

/**
 * Texts of views. PostgreSQL locks every relation of a view to print it, so this comes after all closings.
 * `isCareful`: a view that cannot be printed in time, as behind a lock, is null and keeps no other from its twin.
 */
export async function readDefinitions(
  tx: Tx,
  oids: readonly Oid[],
  isCareful: boolean,
  statementTimeout: string,
): Promise<Texts> {
  if (!isCareful) return await print(tx, oids)
  const setLimit = (limit: string) => tx`select set_config('statement_timeout', ${limit}, true)`
  const end = Date.now() + allMs
  const tryPrint = (some: readonly Oid[]): Promise<Texts | null> =>
    tx
      .savepoint(async () => {
        await setLimit(String(eachMs))
        const texts = await print(tx, some)
        await setLimit(statementTimeout)
        return texts
      })
      .catch(() => null)
  const texts = new Map(await tryPrint(oids))
  for (const oid of texts.size === 0 ? oids : [])
    texts.set(oid, Date.now() > end ? null : ((await tryPrint([oid]))?.get(oid) ?? null))
  return texts
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
