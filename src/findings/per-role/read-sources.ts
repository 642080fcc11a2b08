import type { ColumnPlace } from '../../contracts/inspection.ts'
import type { Fragment } from '../../db/query.ts'
import type { Sql } from '../../db/sql.ts'
import { assignMasks } from '../../masks/plan/assign-masks.ts'
import { findRelations, readRelations } from '../../masks/read/relations.ts'
import type { Source } from './follow-relations.ts'

/** Columns that have a mask, and the same of the twins. */
export async function readSources(sql: Sql, guard: string): Promise<Source[]> {
  return await nameSources(
    sql,
    sql`
    select distinct g.oid, p.number, case when g.twin->>'name' is not null
      then pg_catalog.to_regclass(pg_catalog.format('%I.%I', g.twin->>'schema', g.twin->>'name'))::oid end as twin
    from ${sql(guard)}.relation g cross join lateral pg_catalog.jsonb_to_recordset(g.pins) as p(number int)
    -- The rows of a materialized view may be from before: what it reads now says nothing of its columns.
    union all
    select g.oid, null, null from ${sql(guard)}.relation g join pg_catalog.pg_class c on c.oid = g.oid
    where g.hides_all and c.relkind = 'm' and c.relispopulated`,
  )
}

/** Columns that a policy in observe mode would mask. No table is masked yet, so there are no twins. */
export async function readObservedSources(sql: Sql, columns: readonly ColumnPlace[]): Promise<Source[]> {
  const [server] = await sql<{ version: number }[]>`
    select pg_catalog.current_setting('server_version_num')::int as version`
  const oids = await findRelations(sql, columns, null, true, [])
  const relations = await readRelations(sql, oids, server?.version ?? 0)
  const { masks } = assignMasks({ relations, records: new Map(), isWhole: true }, columns.map(maskWhole))
  const found = [...masks].flatMap(([oid, own]) => [...own.keys()].map((number) => ({ oid, number })))
  return await nameSources(
    sql,
    sql`select oid, number, null::oid as twin
    from unnest(${found.map(({ oid }) => oid)}::oid[], ${found.map(({ number }) => number)}::int[]) o(oid, number)`,
  )
}

const maskWhole = (place: ColumnPlace) => ({
  ...{ ...place, name: '', maskingFunction: 'Default' as const, replacementString: null },
  ...{ numberFrom: null, numberTo: null, prefixSize: null, suffixSize: null },
})

/** `pinned`: relations with the number of a column, or null for all of them, and the twin. */
async function nameSources(sql: Sql, pinned: Fragment): Promise<Source[]> {
  return await sql<Source[]>`
    with named as materialized (
      select p.oid, a.attnum, a.attname, pg_catalog.format('%I.%I.%I', n.nspname, c.relname, a.attname) as label, p.twin
      from (${pinned}) p join pg_catalog.pg_class c on c.oid = p.oid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_attribute a on a.attrelid = p.oid and a.attnum > 0
        and a.attnum = coalesce(p.number, a.attnum) and not a.attisdropped
    )
    select oid::int8 as oid, null::int8 as base, attnum::int as number, attname::text as attribute,
      label as column from named
    union
    select a.attrelid::int8, n.oid::int8, a.attnum::int, a.attname::text, n.label
    from named n join pg_catalog.pg_attribute a on a.attrelid = n.twin and a.attname = n.attname
    order by 1, 3`
}

/** The twin of each table that has one. */
export async function readTwins(sql: Sql, guard: string): Promise<Map<number, number>> {
  const rows = await sql<{ base: number; oid: number }[]>`
    select oid::int8 as base,
      pg_catalog.to_regclass(pg_catalog.format('%I.%I', twin->>'schema', twin->>'name'))::oid::int8 as oid
    from ${sql(guard)}.relation where twin is not null`
  return new Map(rows.map(({ base, oid }) => [base, oid]))
}
