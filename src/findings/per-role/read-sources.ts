import type { Sql } from '../../db/sql.ts'
import type { Source } from './follow-relations.ts'

/** A column that would be masked if the policy were enforced. */
export interface ObservedColumn {
  readonly schema: string
  readonly table: string
  readonly column: string
}

/** Columns that have a mask, and the same of the twins. */
export async function readSources(sql: Sql, guard: string): Promise<Source[]> {
  return await sql<Source[]>`
    with pinned as materialized (
      select distinct g.oid, p.number, g.twin
      from ${sql(guard)}.relation g cross join lateral pg_catalog.jsonb_to_recordset(g.pins) as p(number int)
      -- The rows of a materialized view may be from before: what it reads now says nothing of its columns.
      union all
      select g.oid, null, null from ${sql(guard)}.relation g join pg_catalog.pg_class c on c.oid = g.oid
      where g.hides_all and c.relkind = 'm'
    ), named as materialized (
      select p.oid, a.attnum, a.attname, pg_catalog.format('%I.%I.%I', n.nspname, c.relname, a.attname) as label,
        case when p.twin->>'name' is not null
          then pg_catalog.to_regclass(pg_catalog.format('%I.%I', p.twin->>'schema', p.twin->>'name'))::oid end as twin
      from pinned p join pg_catalog.pg_class c on c.oid = p.oid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_attribute a on a.attrelid = p.oid and a.attnum > 0
        and (a.attnum = p.number or p.number is null and c.relispopulated) and not a.attisdropped
    )
    select oid::int8 as oid, null::int8 as base, attnum::int as number, attname::text as attribute,
      label as column from named
    union
    select a.attrelid::int8, n.oid::int8, a.attnum::int, a.attname::text, n.label
    from named n join pg_catalog.pg_attribute a on a.attrelid = n.twin and a.attname = n.attname
    order by 1, 3`
}

/**
 * Columns that a policy in observe mode would mask, as `assignMasks` says: those that it names, the same in every part
 * of their table and in what that is part of, and columns that are computed from any of these. No table is masked yet,
 * so there are no twins.
 */
export async function readObservedSources(sql: Sql, columns: readonly ObservedColumn[]): Promise<Source[]> {
  return await sql<Source[]>`
    with recursive found (oid, number) as (
      select a.attrelid, a.attnum
      from unnest(${columns.map(({ schema }) => schema)}::text[], ${columns.map(({ table }) => table)}::text[],
        ${columns.map(({ column }) => column)}::text[]) as w(schema, relation, attribute)
      join pg_catalog.pg_namespace n on n.nspname = w.schema
      join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = w.relation
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = w.attribute and a.attnum > 0
        and not a.attisdropped
      union
      select k.attrelid, k.attnum from found f join pg_catalog.pg_attribute a on a.attrelid = f.oid
        and a.attnum = f.number
      cross join lateral (
        select inhrelid as oid from pg_catalog.pg_inherits where inhparent = f.oid
        union all select inhparent from pg_catalog.pg_inherits where inhrelid = f.oid
        union all select f.oid) kin
      join pg_catalog.pg_attribute k on k.attrelid = kin.oid and k.attnum > 0 and not k.attisdropped
      where case when kin.oid <> f.oid then k.attname = a.attname else k.attgenerated <> '' and exists (
        -- Up to 14 the column itself depends on what it is computed from; since, its expression does.
        select 1 from pg_catalog.pg_attrdef e join pg_catalog.pg_depend d
          on d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass and d.objid = e.oid
          or d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = e.adrelid and d.objsubid = e.adnum
        where e.adrelid = k.attrelid and e.adnum = k.attnum
          and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
          and d.refobjid = f.oid and d.refobjsubid = f.number) end
    )
    select c.oid::int8 as oid, null::int8 as base, a.attnum::int as number, a.attname::text as attribute,
      pg_catalog.format('%I.%I.%I', n.nspname, c.relname, a.attname) as column
    from found f join pg_catalog.pg_class c on c.oid = f.oid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_attribute a on a.attrelid = f.oid and a.attnum = f.number
    order by 1, 3`
}

export async function readTwins(sql: Sql, guard: string): Promise<Map<number, number>> {
  const rows = await sql<{ base: number; oid: number }[]>`
    select oid::int8 as base,
      pg_catalog.to_regclass(pg_catalog.format('%I.%I', twin->>'schema', twin->>'name'))::oid::int8 as oid
    from ${sql(guard)}.relation where twin is not null`
  return new Map(rows.map(({ base, oid }) => [base, oid]))
}
