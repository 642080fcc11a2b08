import type { Tx } from '../db/transaction.ts'
import type { Relation } from './catalog.ts'
import type { ViewSource } from './view-facts.ts'

/** Of all rules together, as they are when uncompressed. A masked role can make many rules of megabytes. */
const mostBytes = 67_108_864

interface SourceRow extends Pick<ViewSource, 'isFilled'> {
  readonly oid: number
  readonly columns: readonly { readonly oid: number; readonly number: number; readonly type: string }[]
  /** Types of the rows that it reads as a whole, by oid. Null: it was not looked at. */
  readonly types: readonly string[] | null
}

/** The type of a row that is of no relation: of a subquery, or of a function. */
const anyRow = '2249'

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
  // A row as a whole is attribute 0, of which no dependency is kept. Each rule is uncompressed once: its dependencies are too many to
  // search it for each of them. The shortest come first, and the length of a text is known without uncompressing it.
  const rows = await tx<SourceRow[]>`
    with rule as materialized (
      select c.oid, c.relispopulated, w.oid as rule, w.ev_action::text as tree,
        pg_catalog.sum(pg_catalog.octet_length(w.ev_action::text)) over (order by pg_catalog.octet_length(w.ev_action::text), c.oid) as bytes
      from pg_catalog.pg_class c join pg_catalog.pg_rewrite w on w.ev_class = c.oid and w.rulename = '_RETURN'
      where c.oid = any(${[...read].map(({ oid }) => oid)}::int8[]::oid[])
    )
    select r.oid::int8 as oid, r.relispopulated as "isFilled",
      case when r.bytes <= ${mostBytes}::int8 then array(
        select distinct pg_catalog.split_part(pg_catalog.left(p.piece, 12), ' ', 1)
        from unnest(pg_catalog.string_to_array(r.tree, ':varattno 0 :vartype ')) with ordinality as p(piece, at) where p.at > 1) end as types,
      coalesce((select jsonb_agg(distinct jsonb_build_object('oid', d.refobjid::int8, 'number', d.refobjsubid, 'type', t.reltype::text))
        from pg_catalog.pg_depend d join pg_catalog.pg_class t on t.oid = d.refobjid
        where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = r.rule
          and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> r.oid), '[]') as columns
    from rule r`
  return new Map(rows.map((row) => [row.oid, describeSource(row)]))
}

function describeSource({ isFilled, columns, types }: SourceRow): ViewSource {
  const taken = new Set(types)
  return {
    isFilled,
    isWhole: types === null || taken.has(anyRow),
    rows: [...new Set(columns.filter(({ type }) => taken.has(type)).map(({ oid }) => oid))],
    columns: columns.map(({ oid, number }) => ({ oid, number })),
  }
}
