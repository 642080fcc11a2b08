import type { Sql } from '../../db/sql.ts'
import { findGuard } from '../guard/find-guard.ts'
import { listRecordedExempt } from '../guard/recorded-exempt.ts'

/** A privilege, or default privileges, that a login role was granted itself. */
export interface LoginGrant {
  /** Of the object, the login role and the grantor, by OIDs. */
  readonly key: string
  /** The OID of the login role. */
  readonly login: number
  readonly role: string
  readonly grantor: string
  /** The words of the statement before REVOKE. Empty, but for default privileges. */
  readonly prefix: string
  /** As a REVOKE names them, with the column: `SELECT (body)`. */
  readonly privileges: readonly string[]
  /** The object, as a GRANT names it. */
  readonly on: string
  /** The role of the binding can take on the grantor. */
  readonly isHeld: boolean
  /** It can make itself a member of the grantor for a moment, as far as is known, without a change of other memberships. */
  readonly isLendable: boolean
  /** The grantor is a superuser and does not own the object: PostgreSQL would revoke as the owner, and leave this grant. */
  readonly isRisen: boolean
}

/**
 * The grants to login roles in this database: first those that can be revoked, in a random order, so that of very many, or of some
 * that are locked, each has its turn. `keys`: these alone. Left out are temporary objects, our records, the schemas of twins, in which
 * owners of views need CREATE, and what the controller grants to exempt roles. CONNECT and TEMPORARY show no data.
 */
export async function findLoginGrants(
  sql: Sql,
  logins: readonly number[],
  version: number,
  { most, keys }: { readonly most?: number; readonly keys?: readonly string[] },
): Promise<LoginGrant[]> {
  const guard = await findGuard(sql)
  const exempt = await listRecordedExempt(sql, logins)
  const records = guard
    ? sql`select oid, twin ->> 'schema' as schema from ${sql(guard)}.relation`
    : sql`select null::oid as oid, null::text as schema where false`
  const asGrantor = version >= 160000 ? 'SET' : 'MEMBER'
  const is = (catalog: string) => sql`d.classid = pg_catalog.to_regclass(${`pg_catalog.${catalog}`})`
  const settings =
    version < 150000
      ? sql``
      : sql`union all
      select d.*, '', 'PARAMETER ' || (select pg_catalog.string_agg(pg_catalog.quote_ident(word), '.' order by at)
        from pg_catalog.unnest(pg_catalog.string_to_array(p.parname, '.')) with ordinality w (word, at)), false, p.paracl, ''
      from d join pg_catalog.pg_parameter_acl p on p.oid = d.objid where ${is('pg_parameter_acl')}`
  return await sql<LoginGrant[]>`
    with records as materialized (${records}
    ), hidden as materialized (
      select n.oid from pg_catalog.pg_namespace n where n.nspname ~ '^pg_(toast_)?temp_' or n.nspname = ${guard ?? ''}
    ), d as materialized (
      select distinct d.classid, d.objid, d.refobjid as login
      from pg_catalog.pg_shdepend d join pg_catalog.pg_database b on b.datname = pg_catalog.current_database()
      where d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and d.refobjid = any(${logins}::int8[]::oid[])
        and d.deptype = 'a' and (d.dbid = b.oid or ${is('pg_database')} and d.objid = b.oid or ${is('pg_parameter_acl')})
    ), given as (
      select d.*, '' as prefix, case c.relkind when 'S' then 'SEQUENCE ' else 'TABLE ' end
          || pg_catalog.format('%I.%I', n.nspname, c.relname) as object,
        c.oid in (select r.oid from records r) or n.nspname in (select r.schema from records r where r.schema is not null) as masked, l.acl, l.place
      from d join pg_catalog.pg_class c on c.oid = d.objid join pg_catalog.pg_namespace n on n.oid = c.relnamespace,
        lateral (select c.relacl as acl, '' as place union all
          select a.attacl, pg_catalog.format(' (%I)', a.attname) from pg_catalog.pg_attribute a
          where a.attrelid = c.oid and a.attacl is not null and not a.attisdropped) l
      where ${is('pg_class')} and c.relnamespace not in (select oid from hidden)
      union all
      select d.*, '', pg_catalog.format('ROUTINE %I.%I(%s)', n.nspname, p.proname, pg_catalog.oidvectortypes(p.proargtypes)),
        false, p.proacl, ''
      from d join pg_catalog.pg_proc p on p.oid = d.objid join pg_catalog.pg_namespace n on n.oid = p.pronamespace
      where ${is('pg_proc')} and p.pronamespace not in (select oid from hidden)
      union all
      select d.*, '', pg_catalog.format('TYPE %I.%I', n.nspname, t.typname), false, t.typacl, ''
      from d join pg_catalog.pg_type t on t.oid = d.objid join pg_catalog.pg_namespace n on n.oid = t.typnamespace
      where ${is('pg_type')} and t.typnamespace not in (select oid from hidden)
      union all
      select d.*, '', pg_catalog.format('SCHEMA %I', n.nspname), false, n.nspacl, ''
      from d join pg_catalog.pg_namespace n on n.oid = d.objid
      where ${is('pg_namespace')} and n.oid not in (select oid from hidden) and n.nspname not in (
        select r.schema from records r where r.schema is not null)
      union all
      select d.*, '', pg_catalog.format('LANGUAGE %I', l.lanname), false, l.lanacl, ''
      from d join pg_catalog.pg_language l on l.oid = d.objid where ${is('pg_language')}
      union all
      select d.*, '', 'LARGE OBJECT ' || m.oid, false, m.lomacl, ''
      from d join pg_catalog.pg_largeobject_metadata m on m.oid = d.objid where ${is('pg_largeobject')}
      union all
      select d.*, '', pg_catalog.format('FOREIGN DATA WRAPPER %I', w.fdwname), false, w.fdwacl, ''
      from d join pg_catalog.pg_foreign_data_wrapper w on w.oid = d.objid where ${is('pg_foreign_data_wrapper')}
      union all
      select d.*, '', pg_catalog.format('FOREIGN SERVER %I', s.srvname), false, s.srvacl, ''
      from d join pg_catalog.pg_foreign_server s on s.oid = d.objid where ${is('pg_foreign_server')}
      union all
      select d.*, '', pg_catalog.format('DATABASE %I', b.datname), false, b.datacl, ''
      from d join pg_catalog.pg_database b on b.oid = d.objid where ${is('pg_database')}
      union all
      select d.*, pg_catalog.format('ALTER DEFAULT PRIVILEGES FOR ROLE %I ', o.rolname)
          || case when n.oid is null then '' else pg_catalog.format('IN SCHEMA %I ', n.nspname) end,
        case e.defaclobjtype when 'r' then 'TABLES' when 'S' then 'SEQUENCES' when 'f' then 'ROUTINES' when 'T' then 'TYPES'
          when 'n' then 'SCHEMAS' else 'LARGE OBJECTS' end, false, e.defaclacl, ''
      from d join pg_catalog.pg_default_acl e on e.oid = d.objid join pg_catalog.pg_roles o on o.oid = e.defaclrole
      left join pg_catalog.pg_namespace n on n.oid = e.defaclnamespace where ${is('pg_default_acl')}
      ${settings}
    ), entries as materialized (
      select g.classid, g.objid, g.login, g.prefix, g.object, g.masked, a.grantor,
        pg_catalog.concat_ws(' ', g.classid, g.objid, g.login, a.grantor) as key,
        pg_catalog.array_agg(a.privilege_type || g.place order by a.privilege_type || g.place) as privileges
      from given g, pg_catalog.aclexplode(g.acl) a
      where a.grantee = g.login and (not starts_with(g.object, 'DATABASE ') or a.privilege_type = 'CREATE')
      group by g.classid, g.objid, g.login, g.prefix, g.object, g.masked, a.grantor
    ), grantors as materialized (
      select o.oid, o.rolname::text as name, o.rolsuper, pg_catalog.pg_has_role(o.oid, ${asGrantor}) as held,
        not exists (select from pg_catalog.pg_auth_members m join pg_catalog.pg_roles b on b.oid = m.member
          join pg_catalog.pg_roles g on g.oid = m.grantor
          where m.roleid = o.oid and b.rolname = current_user and not g.rolsuper) as lendable
      from pg_catalog.pg_roles o where o.oid in (select grantor from entries)
    )
    select e.key, e.login::int8 as login, r.rolname::text as role, o.name as grantor, e.prefix, e.privileges, e.object as "on",
      o.held as "isHeld", o.lendable as "isLendable",
      -- What the first superuser owns depends on no role.
      o.rolsuper and o.oid <> 10 and e.prefix = '' and not exists (
        select from pg_catalog.pg_shdepend w join pg_catalog.pg_database b on b.datname = pg_catalog.current_database()
        where w.classid = e.classid and w.objid = e.objid and w.refobjid = o.oid and w.deptype = 'o'
          and w.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and w.dbid in (0, b.oid)) as "isRisen"
    from entries e join pg_catalog.pg_roles r on r.oid = e.login join grantors o on o.oid = e.grantor
    where not (e.masked and e.login = any(${exempt}::int8[]::oid[])) and ${keys === undefined ? sql`true` : sql`e.key = any(${keys}::text[])`}
    order by o.held or o.lendable desc, pg_catalog.random() limit ${most ?? null}`
}

/** `most`: of very many columns these alone. */
export function writeRevoke(
  { prefix, privileges, on, role }: LoginGrant,
  quote: (name: string) => string,
  most = privileges.length,
): string {
  return `${prefix}REVOKE ${privileges.slice(0, most).join(', ')} ON ${on} FROM ${quote(role)} CASCADE`
}
