import type { Sql } from '../../db/sql.ts'

/**
 * The tables of other owners that are read when row policies apply to `c`, as JSON: by its policies, and by the
 * policies of its owner's tables that these read. All are read with the rights of the reader of `c`. A view has those
 * of its own owner, and a function those of the session, so that neither is looked into. Superusers and the role of
 * the binding may read what a twin reads. A stranger's own policies are not followed: it could lead them anywhere.
 */
export function selectStrangers(sql: Sql) {
  const isTrusted = sql`(r.oid = c.relowner or r.rolsuper or r.rolname = current_user)`
  return sql`case when not c.relrowsecurity then '[]' else coalesce((
    with recursive read as (
      select c.oid
      union
      select d.refobjid from read join pg_catalog.pg_class t on t.oid = read.oid and t.relrowsecurity
      join pg_catalog.pg_roles r on r.oid = t.relowner and ${isTrusted}
      join pg_catalog.pg_policy p on p.polrelid = t.oid and p.polcmd in ('*', 'r')
      join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_policy'::regclass and d.objid = p.oid
        and d.refclassid = 'pg_catalog.pg_class'::regclass
    )
    select jsonb_agg(jsonb_build_object('schema', m.nspname, 'name', t.relname, 'owner', r.rolname) order by t.oid)
    from read join pg_catalog.pg_class t using (oid) join pg_catalog.pg_namespace m on m.oid = t.relnamespace
    join pg_catalog.pg_roles r on r.oid = t.relowner
    where t.relkind in ('r', 'p') and not ${isTrusted}), '[]') end`
}
