import type { Sql } from '../../db/sql.ts'

/** A relation that shares its name with a masked one, as sessions of one role find it by their search path. */
export interface Homonym {
  readonly schema: string
  readonly name: string
  /** False: the role may not use the schema, which then is not on its path, but owns it, or may become a role that may. */
  readonly isUsable?: boolean
  /** The schema is named like another role that it may become: `$user` may be this schema. */
  readonly isOfRole?: boolean
}

/** Roles that a role may become and that are asked about one by one. Beyond, and for roles that can create others, it may be any. */
const maxRoles = 50

/**
 * The relations of these names that each role can find by a search path, itself or after SET ROLE, which the gateway does not
 * follow. Memberships count whether or not they allow SET ROLE: an administrator of one can change that.
 */
export async function readHomonyms(
  sql: Sql,
  roles: readonly string[],
  names: readonly string[],
): Promise<(Homonym & { readonly role: string })[]> {
  const rows = await sql<{ role: string; schema: string; name: string; usable: boolean; named: boolean }[]>`
    with recursive granted as (
      select roleid, member from pg_catalog.pg_auth_members
      union all select o.oid, d.datdba from pg_catalog.pg_database d
      join pg_catalog.pg_roles o on o.rolname = 'pg_database_owner' where d.datname = pg_catalog.current_database()
    ), reached (role, oid) as (
      select r.oid, r.oid from pg_catalog.pg_roles r where r.rolname = any(${roles}::text[])
      union select r.role, g.roleid from reached r join granted g on g.member = r.oid
    ), becomes as materialized (
      select r.role, pg_catalog.array_agg(o.oid) as oids, pg_catalog.array_agg(o.rolname) as names,
        pg_catalog.bool_or(o.rolsuper or o.rolcreaterole) or pg_catalog.count(*) > ${maxRoles} as anyone
      from reached r join pg_catalog.pg_roles o on o.oid = r.oid group by r.role
    ), relations as materialized (
      select c.relname, c.relnamespace from pg_catalog.pg_class c
      where c.relname = any(${[...new Set(names)]}::text[]) and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    ), schemas as materialized (
      select r.rolname, n.oid, n.nspname, pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE') as usable,
        n.nspname <> r.rolname and case when b.anyone
          then exists (select 1 from pg_catalog.pg_roles o where o.rolname = n.nspname)
          else n.nspname = any(b.names) end as named
      from pg_catalog.pg_namespace n cross join becomes b join pg_catalog.pg_roles r on r.oid = b.role
      where n.oid in (select relnamespace from relations) and n.nspname !~ '^pg_(toast_)?temp_'
        -- An owner may grant itself the use of a schema.
        and (b.anyone or n.nspowner = any(b.oids) or exists (select 1 from pg_catalog.unnest(b.oids) o (oid)
          where pg_catalog.has_schema_privilege(o.oid, n.oid, 'USAGE')))
    )
    select s.rolname::text as role, s.nspname::text as schema, c.relname::text as name, s.usable, s.named
    from schemas s join relations c on c.relnamespace = s.oid order by 1, 2, 3`
  return rows.map(({ role, schema, name, usable, named }) => ({
    role,
    schema,
    name,
    ...(!usable && { isUsable: false }),
    ...(named && { isOfRole: true }),
  }))
}
