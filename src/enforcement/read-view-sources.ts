import type { Tx } from '../db/transaction.ts'
import type { Relation } from './catalog.ts'
import type { ViewSource } from './view-facts.ts'

const mostStoredBytes = 262_144

/**
 * Reads which columns views and materialized views read that the role of the binding may not manage, and the views under these.
 * `deferred`: views whose owners see no raw values. A masked role can make thousands of them, so they count only under another view.
 */
export async function readViewSources(
  tx: Tx,
  relations: readonly Relation[],
  deferred: ReadonlySet<number>,
): Promise<ReadonlyMap<number, ViewSource>> {
  const views = new Map(relations.filter((one) => one.definition !== null).map((one) => [one.oid, one]))
  const read = new Set([...views.values()].filter((one) => one.managed === 'not' && !deferred.has(one.oid)))
  for (const view of read)
    for (const oid of view.reads) {
      const below = views.get(oid)
      if (below) read.add(below)
    }
  if (read.size === 0) return new Map()
  // A row as a whole is attribute 0, of which no dependency is kept. Its type is that of the relation, or `record`.
  const rows = await tx<(ViewSource & { oid: number })[]>`
    select c.oid::int8 as oid, c.relispopulated as "isFilled",
      case when pg_catalog.pg_column_size(w.ev_action) > ${mostStoredBytes} then true
        else pg_catalog.strpos(w.ev_action::text, ':varattno 0 :vartype 2249 ') > 0 end as "isWhole",
      array(select distinct r.oid::int8 from pg_catalog.pg_depend d join pg_catalog.pg_class r on r.oid = d.refobjid
        where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
          and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> c.oid
          and pg_catalog.pg_column_size(w.ev_action) <= ${mostStoredBytes}
          and pg_catalog.strpos(w.ev_action::text, ':varattno 0 :vartype ' || r.reltype || ' ') > 0) as rows,
      coalesce((select jsonb_agg(distinct jsonb_build_object('oid', d.refobjid::int8, 'number', d.refobjsubid))
        from pg_catalog.pg_depend d where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
          and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> c.oid), '[]') as columns
    from pg_catalog.pg_class c join pg_catalog.pg_rewrite w on w.ev_class = c.oid and w.rulename = '_RETURN'
    where c.oid = any(${[...read].map(({ oid }) => oid)}::int8[]::oid[])`
  return new Map(rows.map(({ oid, ...source }) => [oid, source]))
}
