import type { Sql } from '../../db/sql.ts'
import type { StrayTwin } from '../catalog.ts'
import type { StoredGuard } from '../guard/stored-grants.ts'
import { type FoundRelation, measureView } from '../view-flood.ts'

export type FoundStray = Pick<
  StrayTwin,
  'oid' | 'schema' | 'name' | 'recordedFor' | 'grantees' | 'isSettable'
> & { readonly measured: FoundRelation }

/** The schema of our records, or those that the service keeps itself. */
export type Records = string | readonly StoredGuard[]

/** Each recorded twin, as a query of `schema` and `name`, with the `oid` of its relation. */
export function selectRecords(tx: Sql, records: Records) {
  if (typeof records === 'string')
    return tx`select oid, twin ->> 'schema' as schema, twin ->> 'name' as name from ${tx(records)}.relation`
  const kept = records.flatMap(({ oid, twin }) => (twin ? [{ oid, twin }] : []))
  return tx`select * from unnest(${kept.map(({ oid }) => oid)}::int8[]::oid[], ${kept.map(({ twin }) => twin.schema)}::text[],
    ${kept.map(({ twin }) => twin.name)}::text[]) as r(oid, schema, name)`
}

interface Search {
  /** In view, by oid. */
  readonly relations: readonly number[]
  /** Views in schemas of twins that read any of these, by oid. */
  readonly twins: readonly number[]
  readonly records: Records
  readonly twinOwner: string
  readonly version: number
  /** Every view in schemas of twins is looked at, whatever it reads. */
  readonly isWhole: boolean
}

/**
 * Finds views in schemas of twins that are not, or may not be, the twin of a masked relation: those without a record, and those
 * that read a relation in view other than their own, as the twin of a view does that was dropped or replaced since. Without a record
 * are twins that stayed for objects of others, also where nothing that they read is masked.
 */
export async function findStrays(
  tx: Sql,
  { relations, twins, records, twinOwner, version, isWhole }: Search,
): Promise<FoundStray[]> {
  if (relations.length === 0 && !isWhole) return []
  const rest = isWhole
    ? tx`union all
        select d.objid, false from home h join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_namespace'::regclass
          and d.refobjid = h.oid and d.classid = 'pg_catalog.pg_class'::regclass`
    : tx``
  const take = version >= 160000 ? 'SET' : 'MEMBER'
  return await tx<FoundStray[]>`
    with home as materialized (
      select n.oid, n.nspname from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner
      where r.rolname = ${twinOwner}
    ), found as materialized (
      select oid, bool_or(reads) as reads from (
        select unnest(${twins}::int8[]::oid[]) as oid, true as reads
        union all
        select c.oid, false from pg_catalog.pg_class o join pg_catalog.pg_class c on c.relname = o.relname
        join home h on h.oid = c.relnamespace where o.oid = any(${relations}::int8[]::oid[])
        ${rest}) each group by 1
    ), view as materialized (
      select c.oid, c.relname, c.relowner, c.relacl, n.nspname, f.reads, jsonb_build_object('oid', c.oid::int8, 'owner', c.relowner::int8,
        'view', ${measureView(tx)}) as measured
      from found f join pg_catalog.pg_class c on c.oid = f.oid and c.relkind = 'v' join home n on n.oid = c.relnamespace
    )
    select v.oid::int8 as oid, v.nspname::text as schema, v.relname::text as name, g.oid::int8 as "recordedFor", v.measured,
      pg_catalog.pg_has_role(v.relowner, ${take}) as "isSettable",
      array(select r.rolname::text from (
          select a.grantee from pg_catalog.aclexplode(v.relacl) a
          union select a.grantee from pg_catalog.pg_attribute c, pg_catalog.aclexplode(c.attacl) a
            where c.attrelid = v.oid and c.attnum > 0) given
        left join pg_catalog.pg_roles r on r.oid = given.grantee where given.grantee <> v.relowner) as grantees
    from view v left join (${selectRecords(tx, records)}) g on g.schema = v.nspname and g.name = v.relname
      -- That of a relation which is gone counts as none: another may have its name by now.
      and exists (select 1 from pg_catalog.pg_class k where k.oid = g.oid)
    where g.oid is null or v.reads and exists (
      select 1 from pg_catalog.pg_rewrite w join pg_catalog.pg_depend d on d.objid = w.oid
      where w.ev_class = v.oid and d.classid = 'pg_catalog.pg_rewrite'::regclass
        and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid not in (g.oid, v.oid)
        and d.refobjid = any(${relations}::int8[]::oid[]))`
}
