import type { Database } from '../../../src/db/database.ts'

/** All that these roles may do in a database, by grants of their own, of roles that they inherit from, or of PUBLIC. */
export async function listRights({ sql }: Database, roles: readonly string[], version: number) {
  const ofTables = ['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']
  if (version >= 170000) ofTables.push('MAINTAIN')
  const parameters =
    version >= 150000
      ? sql`union all select r.name, 'parameter ' || a.parname, p
        from r, pg_parameter_acl a, unnest(array['SET', 'ALTER SYSTEM']) p
        where has_parameter_privilege(r.oid, a.parname, p)`
      : sql``
  const rows = await sql<{ line: string }[]>`
    with r as materialized (select oid, rolname::text as name from pg_roles where rolname = any(${roles}::text[])
    ), c as materialized (select c.* from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname !~ '^(pg_|information_schema$|masquerade)'
    ), held as (
      select r.name, 'relation ' || c.oid::regclass as what, p as privilege from r, c, unnest(${ofTables}::text[]) p
        where c.relkind in ('r', 'p', 'v', 'm', 'f') and has_table_privilege(r.oid, c.oid, p)
      union all select r.name, format('column %s %s', c.oid::regclass, a.attname), p
        from r, c, pg_attribute a, unnest(array['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) p
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'v', 'm', 'f')
          and has_column_privilege(r.oid, c.oid, a.attnum, p)
      union all select r.name, 'sequence ' || c.oid::regclass, p from r, c, unnest(array['SELECT', 'USAGE', 'UPDATE']) p
        where c.relkind = 'S' and has_sequence_privilege(r.oid, c.oid, p)
      union all select r.name, 'routine ' || p.oid::regprocedure, 'EXECUTE' from r, pg_proc p
        where (p.oid >= 16384 or p.proacl is not null) and has_function_privilege(r.oid, p.oid, 'EXECUTE')
      union all select r.name, 'server ' || s.srvname, 'USAGE' from r, pg_foreign_server s
        where has_server_privilege(r.oid, s.oid, 'USAGE')
      union all select r.name, format('tables of %s in %s', d.defaclrole::regrole, d.defaclnamespace), a.privilege_type
        from r, pg_default_acl d, aclexplode(d.defaclacl) a where d.defaclobjtype = 'r'
          and case when a.grantee = 0 then true else pg_has_role(r.oid, a.grantee, 'USAGE') end
      ${parameters}
    ) select distinct format('%s: %s %s', name, what, privilege) as line from held order by 1`
  return rows.map(({ line }) => line)
}
