import type { Sql } from '../../db/sql.ts'

/** What is left of a twin that had to go while objects of others read it: a view that reads nothing. */
export interface EmptiedTwin {
  readonly schema: string
  readonly name: string
  /** Something depends on it, or on the type of its rows. */
  readonly isRead: boolean
}

/** Every other view in a schema of twins reads at least one relation. */
export async function readEmptied(tx: Sql, twinOwner: string): Promise<EmptiedTwin[]> {
  return await tx<EmptiedTwin[]>`
    with emptied as materialized (
      select c.oid, n.nspname, c.relname, c.reltype, w.oid as rule
      from pg_catalog.pg_roles r join pg_catalog.pg_namespace n on n.nspowner = r.oid
      join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_namespace'::regclass and d.refobjid = n.oid
        and d.classid = 'pg_catalog.pg_class'::regclass
      join pg_catalog.pg_class c on c.oid = d.objid and c.relkind = 'v'
      join pg_catalog.pg_rewrite w on w.ev_class = c.oid and w.rulename = '_RETURN'
      where r.rolname = ${twinOwner} and not exists (
        select 1 from pg_catalog.pg_depend o where o.classid = 'pg_catalog.pg_rewrite'::regclass and o.objid = w.oid
          and o.refclassid = 'pg_catalog.pg_class'::regclass and o.refobjid <> c.oid)
    )
    select e.nspname::text as schema, e.relname::text as name, exists (
        select 1 from pg_catalog.pg_depend d where d.deptype = 'n' and d.objid <> e.rule and (
          d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = e.oid
          or d.refclassid = 'pg_catalog.pg_type'::regclass and d.refobjid in (
            e.reltype, (select t.typarray from pg_catalog.pg_type t where t.oid = e.reltype)))) as "isRead"
    from emptied e order by e.oid`
}
