import type { Sql } from '../../db/sql.ts'
import { findGuard } from '../guard/find-guard.ts'

/** A privilege, or default privileges, that a login role was granted itself. */
export interface LoginGrant {
  /** The OID of the login role. */
  readonly login: number
  readonly role: string
  readonly grantor: string
  /** The words of the statement before REVOKE. Empty, but for default privileges. */
  readonly prefix: string
  readonly privileges: string
  /** The object, as a GRANT names it. */
  readonly on: string
  /** A masked relation or a twin: the controller writes grants of exempt roles there. */
  readonly isMasked: boolean
  /** The role of the binding can take on the grantor. */
  readonly isHeld: boolean
  /** It can make itself a member of the grantor for a moment, as far as is known, without a change of other memberships. */
  readonly isLendable: boolean
}

/**
 * The grants to login roles in this database, in a random order: of very many, or of some that are locked, each has its turn. Left
 * out are temporary objects, our records, and the schemas of twins, in which owners of views need CREATE. CONNECT and TEMPORARY
 * show no data.
 */
export async function findLoginGrants(
  sql: Sql,
  logins: readonly number[],
  version: number,
  most: number,
): Promise<LoginGrant[]> {
  const guard = await findGuard(sql)
  const records = guard
    ? sql`select oid, twin ->> 'schema' as schema from ${sql(guard)}.relation`
    : sql`select null::oid as oid, null::text as schema where false`
  const asGrantor = version >= 160000 ? 'SET' : 'MEMBER'
  const is = (catalog: string) => sql`d.classid = pg_catalog.to_regclass(${`pg_catalog.${catalog}`})`
  return await sql<LoginGrant[]>`
    with records as materialized (${records}
    ), hidden as materialized (
      select n.oid from pg_catalog.pg_namespace n where n.nspname ~ '^pg_(toast_)?temp_' or n.nspname = ${guard ?? ''}
    ), d as materialized (
      select distinct d.classid, d.objid, d.refobjid as login
      from pg_catalog.pg_shdepend d join pg_catalog.pg_database b on b.datname = pg_catalog.current_database()
      where d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and d.refobjid = any(${logins}::int8[]::oid[])
        and d.deptype = 'a' and (d.dbid = b.oid or ${is('pg_database')} and d.objid = b.oid)
    ), given as (
      select d.login, '' as prefix, case c.relkind when 'S' then 'SEQUENCE ' else 'TABLE ' end
          || pg_catalog.format('%I.%I', n.nspname, c.relname) as object,
        c.oid in (select r.oid from records r) or n.nspname in (select r.schema from records r where r.schema is not null) as masked, l.acl
      from d join pg_catalog.pg_class c on c.oid = d.objid join pg_catalog.pg_namespace n on n.oid = c.relnamespace,
        lateral (select c.relacl as acl union all
          select a.attacl from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attacl is not null) l
      where ${is('pg_class')} and c.relnamespace not in (select oid from hidden)
      union all
      select d.login, '', pg_catalog.format('ROUTINE %I.%I(%s)', n.nspname, p.proname, pg_catalog.oidvectortypes(p.proargtypes)),
        false, p.proacl
      from d join pg_catalog.pg_proc p on p.oid = d.objid join pg_catalog.pg_namespace n on n.oid = p.pronamespace
      where ${is('pg_proc')} and p.pronamespace not in (select oid from hidden)
      union all
      select d.login, '', pg_catalog.format('TYPE %I.%I', n.nspname, t.typname), false, t.typacl
      from d join pg_catalog.pg_type t on t.oid = d.objid join pg_catalog.pg_namespace n on n.oid = t.typnamespace
      where ${is('pg_type')} and t.typnamespace not in (select oid from hidden)
      union all
      select d.login, '', pg_catalog.format('SCHEMA %I', n.nspname), false, n.nspacl
      from d join pg_catalog.pg_namespace n on n.oid = d.objid
      where ${is('pg_namespace')} and n.oid not in (select oid from hidden) and n.nspname not in (
        select r.schema from records r where r.schema is not null)
      union all
      select d.login, '', pg_catalog.format('LANGUAGE %I', l.lanname), false, l.lanacl
      from d join pg_catalog.pg_language l on l.oid = d.objid where ${is('pg_language')}
      union all
      select d.login, '', 'LARGE OBJECT ' || m.oid, false, m.lomacl
      from d join pg_catalog.pg_largeobject_metadata m on m.oid = d.objid where ${is('pg_largeobject')}
      union all
      select d.login, '', pg_catalog.format('FOREIGN DATA WRAPPER %I', w.fdwname), false, w.fdwacl
      from d join pg_catalog.pg_foreign_data_wrapper w on w.oid = d.objid where ${is('pg_foreign_data_wrapper')}
      union all
      select d.login, '', pg_catalog.format('FOREIGN SERVER %I', s.srvname), false, s.srvacl
      from d join pg_catalog.pg_foreign_server s on s.oid = d.objid where ${is('pg_foreign_server')}
      union all
      select d.login, '', pg_catalog.format('DATABASE %I', b.datname), false, b.datacl
      from d join pg_catalog.pg_database b on b.oid = d.objid where ${is('pg_database')}
      union all
      select d.login, pg_catalog.format('ALTER DEFAULT PRIVILEGES FOR ROLE %I ', o.rolname)
          || case when n.oid is null then '' else pg_catalog.format('IN SCHEMA %I ', n.nspname) end,
        case e.defaclobjtype when 'r' then 'TABLES' when 'S' then 'SEQUENCES' when 'f' then 'ROUTINES' when 'T' then 'TYPES'
          when 'n' then 'SCHEMAS' else 'LARGE OBJECTS' end, false, e.defaclacl
      from d join pg_catalog.pg_default_acl e on e.oid = d.objid join pg_catalog.pg_roles o on o.oid = e.defaclrole
      left join pg_catalog.pg_namespace n on n.oid = e.defaclnamespace where ${is('pg_default_acl')}
    ), entries as (
      select distinct g.login, g.prefix, g.object, g.masked, a.grantor
      from given g, pg_catalog.aclexplode(g.acl) a
      where a.grantee = g.login and (not starts_with(g.object, 'DATABASE ') or a.privilege_type = 'CREATE')
    )
    select e.login::int8 as login, r.rolname::text as role, o.rolname::text as grantor, e.prefix,
      case when starts_with(e.object, 'DATABASE ') then 'CREATE' else 'ALL' end as privileges, e.object as "on",
      e.masked as "isMasked", pg_catalog.pg_has_role(o.oid, ${asGrantor}) as "isHeld",
      not exists (select from pg_catalog.pg_auth_members m join pg_catalog.pg_roles b on b.oid = m.member
        join pg_catalog.pg_roles g on g.oid = m.grantor
        where m.roleid = o.oid and b.rolname = current_user and not g.rolsuper) as "isLendable"
    from entries e join pg_catalog.pg_roles r on r.oid = e.login join pg_catalog.pg_roles o on o.oid = e.grantor
    order by pg_catalog.random() limit ${most}`
}

export function writeRevoke(
  { prefix, privileges, on, role }: LoginGrant,
  quote: (name: string) => string,
): string {
  return `${prefix}REVOKE ${privileges} ON ${on} FROM ${quote(role)} CASCADE`
}
