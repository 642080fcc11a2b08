import type { Tx } from '../db/transaction.ts'
import type { CopySource, Relation } from './catalog.ts'

const mostStoredBytes = 262_144

/**
 * Of materialized views that the role of the binding may not manage: what their data was read from, through views too. One
 * without data shows nothing and is left out. A masked role may fill one with columns that have no mask, so it matters which.
 */
export async function readCopySources(
  tx: Tx,
  relations: readonly Relation[],
): Promise<ReadonlyMap<number, CopySource>> {
  const copies = relations.filter(({ kind, managed }) => kind === 'materialized view' && managed === 'not')
  if (copies.length === 0) return new Map()
  // A row as a whole is attribute 0, of which no dependency is kept.
  const rows = await tx<(CopySource & { oid: number })[]>`
    with recursive reached as (
      select oid as copy, oid from pg_catalog.pg_class
      where oid = any(${copies.map(({ oid }) => oid)}::int8[]::oid[]) and relispopulated
      union
      select reached.copy, d.refobjid from reached
      join pg_catalog.pg_rewrite w on w.ev_class = reached.oid
      join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
        and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> reached.oid
      join pg_catalog.pg_class c on c.oid = d.refobjid and c.relkind in ('v', 'm')
    )
    select reached.copy::int8 as oid,
      bool_or(case when pg_catalog.pg_column_size(w.ev_action) > ${mostStoredBytes} then true
        else pg_catalog.strpos(w.ev_action::text, ':varattno 0 ') > 0 end) as "isWhole",
      jsonb_agg(distinct jsonb_build_object('oid', d.refobjid::int8, 'number', d.refobjsubid)) as columns
    from reached join pg_catalog.pg_rewrite w on w.ev_class = reached.oid and w.rulename = '_RETURN'
    join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
      and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> reached.oid
    group by 1`
  return new Map(rows.map(({ oid, ...source }) => [oid, source]))
}
