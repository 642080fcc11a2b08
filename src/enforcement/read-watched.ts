import type { Sql } from '../db/sql.ts'
import { guardSchema } from './names.ts'

/** A masked column that a relation shows; the names of both may differ. */
export interface WatchedColumn {
  /** As SQL writes it: schema.table.column. */
  readonly column: string
  readonly attribute: string
  readonly isRaw: boolean
}

/** A relation that shows masked columns, raw or masked, to whom it may concern. */
export interface Watched {
  readonly schema: string
  readonly name: string
  readonly attributes: readonly string[]
  readonly masked: readonly WatchedColumn[]
  readonly shows: readonly WatchedColumn[]
}

interface Row {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly attributes: readonly string[]
  readonly masked: readonly Shown[]
  readonly shows: readonly Shown[]
}

interface Shown {
  readonly column: string
  readonly attribute: string
  /** Of the relation itself. */
  readonly number: number
  /** There is a mask on the way. */
  readonly isMasked: boolean
}

/**
 * Masked tables and their twins, and every view that reads a masked column of either, at any depth; for each role whether it
 * would see the values themselves. PostgreSQL writes down which columns a view reads; not those of a row that it reads as a
 * whole, so such a view is taken to read them all.
 */
export async function readWatched(sql: Sql, roles: readonly string[]): Promise<Map<string, Watched[]>> {
  const rows = await readRelations(sql)
  const readable = await readReadable(sql, roles, rows)
  return new Map(
    roles.map((role) => {
      const isRaw = (oid: number, { number, isMasked }: Shown) =>
        !isMasked && (readable.get(role)?.has(`${oid}/${number}`) ?? false)
      const see = (oid: number, list: readonly Shown[]) =>
        list.map((one) => ({ column: one.column, attribute: one.attribute, isRaw: isRaw(oid, one) }))
      return [
        role,
        rows.map(({ oid, schema, name, attributes, masked, shows }) => ({
          schema,
          name,
          attributes,
          masked: see(oid, masked),
          shows: see(oid, shows),
        })),
      ]
    }),
  )
}

async function readRelations(sql: Sql): Promise<Row[]> {
  const guards = sql`${sql(guardSchema)}.relation`
  return await sql<Row[]>`
    with recursive twin as (
      select pg_catalog.to_regclass(pg_catalog.format('%I.%I', twin->>'schema', twin->>'name'))::oid as oid, oid as base
      from ${guards} where twin is not null
    ), pinned as (
      select distinct g.oid, a.attname, a.attnum, pg_catalog.format('%I.%I.%I', n.nspname, c.relname, a.attname) as label
      from ${guards} g cross join lateral pg_catalog.jsonb_to_recordset(g.pins) as p(number int)
      join pg_catalog.pg_class c on c.oid = g.oid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_attribute a on a.attrelid = g.oid and a.attnum = p.number and not a.attisdropped
    ), source as (
      select oid, attname, attnum, label, false as is_masked from pinned
      union all
      select t.oid, a.attname, a.attnum, p.label, true from pinned p join twin t on t.base = p.oid
      join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attname = p.attname
    ), shown as (
      select w.ev_class as oid, s.label, s.is_masked or w.ev_class in (select oid from twin) as is_masked
      from source s join pg_catalog.pg_depend d on d.refobjid = s.oid
      join pg_catalog.pg_rewrite w on w.oid = d.objid and w.ev_type = '1' and w.ev_class <> s.oid
      where d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
        and d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
        and not exists (select 1 from twin t where t.oid = w.ev_class and t.base = s.oid)
        and (d.refobjsubid = s.attnum or w.ev_action::text like '%:varattno 0 %')
      union
      select w.ev_class, s.label, s.is_masked or w.ev_class in (select oid from twin)
      from shown s join pg_catalog.pg_depend d on d.refobjid = s.oid
      join pg_catalog.pg_rewrite w on w.oid = d.objid and w.ev_type = '1' and w.ev_class <> s.oid
      where d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
        and d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
    )
    select c.oid::int8 as oid, n.nspname::text as schema, c.relname::text as name,
      array(select a.attname::text from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0
        and not a.attisdropped order by a.attnum) as attributes,
      coalesce((select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('column', s.label, 'attribute', s.attname,
          'number', s.attnum, 'isMasked', s.is_masked) order by s.attnum)
        from source s where s.oid = c.oid), '[]') as masked,
      coalesce((select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('column', s.label, 'attribute', '',
          'number', 0, 'isMasked', s.is_masked) order by s.label, s.is_masked)
        from shown s where s.oid = c.oid), '[]') as shows
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid in (select oid from source union select oid from shown) order by 2, 3`
}

/** `oid/number` of what each role may read; number 0: some column of it. */
async function readReadable(
  sql: Sql,
  roles: readonly string[],
  rows: readonly Row[],
): Promise<Map<string, Set<string>>> {
  const wanted = rows.flatMap(({ oid, masked, shows }) =>
    [...masked, ...shows].filter(({ isMasked }) => !isMasked).map(({ number }) => ({ oid, number })),
  )
  const found = await sql<{ role: string; readable: string[] }[]>`
    select r.rolname::text as role, array(
      select distinct pg_catalog.concat(w.oid, '/', w.number)
      from unnest(${wanted.map(({ oid }) => oid)}::oid[], ${wanted.map(({ number }) => number)}::int2[]) as w(oid, number)
      where case w.number when 0 then pg_catalog.has_any_column_privilege(r.oid, w.oid, 'SELECT')
        else pg_catalog.has_column_privilege(r.oid, w.oid, w.number, 'SELECT') end) as readable
    from pg_catalog.pg_roles r where r.rolname = any(${roles}::text[])`
  return new Map(found.map(({ role, readable }) => [role, new Set(readable)]))
}
