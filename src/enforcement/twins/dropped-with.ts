import type { Fragment } from '../../db/query.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'

/** Of the objects that are named to an operator. */
const mostNames = 10

/**
 * SQL: what DROP SCHEMA … CASCADE of the schema `n` would drop beside twins, as a list of names. These are other objects in it, and objects
 * of any schema that read a twin or use its rows: views of people, columns of tables. `twins`: a query for the OIDs of all twins.
 */
export function droppedWith(sql: Sql, twins: Fragment): Fragment {
  return sql`array(
    with twin as materialized (
      select t.oid, t.relnamespace, y.oid as type from pg_catalog.pg_class t left join pg_catalog.pg_type y
        on y.oid = t.reltype or y.typelem = t.reltype and y.typcategory = 'A' where t.oid in (${twins})
    ), found as (
      select d.classid, d.objid, d.objsubid from pg_catalog.pg_depend d
      where d.refclassid = 'pg_catalog.pg_namespace'::regclass and d.refobjid = n.oid and d.deptype = 'n'
      union
      select d.classid, d.objid, d.objsubid from twin t join pg_catalog.pg_depend d on d.deptype = 'n'
        and (d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = t.oid
          or d.refclassid = 'pg_catalog.pg_type'::regclass and d.refobjid = t.type)
      where t.relnamespace = n.oid
    ), named as (
      -- A view depends by its rule.
      select case when w.oid is null then f.classid else 'pg_catalog.pg_class'::regclass::oid end as classid,
        coalesce(w.ev_class, f.objid) as objid, f.objsubid
      from found f left join pg_catalog.pg_rewrite w on f.classid = 'pg_catalog.pg_rewrite'::regclass and w.oid = f.objid
    )
    select distinct pg_catalog.left((pg_catalog.pg_identify_object(classid, objid, objsubid)).identity, 200)::text
    from named where not (classid = 'pg_catalog.pg_class'::regclass and objid in (select oid from twin))
    order by 1 limit ${mostNames})`
}

/** Without CASCADE where others would go as well: PostgreSQL refuses it then, and says what is in the way. */
export function writeDrop(schema: string, others: readonly string[]): string {
  return `DROP SCHEMA ${quoteIdentifier(schema)}${others.length > 0 ? '' : ' CASCADE'}`
}
