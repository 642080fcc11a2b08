import type { MaskFacts } from '../../contracts/verdict.ts'
import type { Fragment } from '../../db/query.ts'
import type { Sql } from '../../db/sql.ts'
import type { Found, Scene } from '../scene.ts'

/**
 * For `with recursive`: `part`, the masked relations with their partitions, children and parents, and `reader`, these
 * and the views over them. Views over twins show masks, and do not count.
 */
function selectMasked(sql: Sql, { relations, twinOwners }: MaskFacts): Fragment {
  return sql`
    part as (
      select c.oid from pg_catalog.pg_class c where c.oid = any(${relations}::int8[]::oid[])
      union
      select next.oid from part cross join lateral (
        select inhrelid as oid from pg_catalog.pg_inherits where inhparent = part.oid
        union all select inhparent from pg_catalog.pg_inherits where inhrelid = part.oid) next
    ), reader as (
      select oid from part
      union
      select v.oid from reader
      join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = reader.oid
        and d.classid = 'pg_catalog.pg_rewrite'::regclass and d.deptype = 'n'
      join pg_catalog.pg_rewrite w on w.oid = d.objid
      join pg_catalog.pg_class v on v.oid = w.ev_class and v.relkind in ('v', 'm')
        and v.relowner <> all(${twinOwners}::int8[]::oid[])
    )`
}

/** The masked relations, filled copies of them, their schemas and the database, each with its owner. */
export async function readOwners(sql: Sql, masked: MaskFacts): Promise<Found[]> {
  return await sql<Found[]>`
    with recursive ${selectMasked(sql, masked)}, relation as (
      select 'RelationOwner' as code, c.oid, c.relowner, c.relnamespace, c.relname, c.relkind
      from part join pg_catalog.pg_class c on c.oid = part.oid
      union all
      select 'CopyOwner', c.oid, c.relowner, c.relnamespace, c.relname, c.relkind
      from reader join pg_catalog.pg_class c on c.oid = reader.oid and c.relkind = 'm' and c.relispopulated
      where c.oid not in (select oid from part)
    )
    select r.code, r.oid::int8 as oid, r.relowner::int8 as holder,
      pg_catalog.format('%I.%I', n.nspname, r.relname) as object,
      case r.relkind when 'v' then 'VIEW' when 'm' then 'MATERIALIZED VIEW' when 'f' then 'FOREIGN TABLE'
        else 'TABLE' end as word
    from relation r join pg_catalog.pg_namespace n on n.oid = r.relnamespace
    union all
    select 'SchemaOwner', n.oid::int8, n.nspowner::int8, pg_catalog.quote_ident(n.nspname), 'SCHEMA'
    from pg_catalog.pg_namespace n
    where n.oid in (select relnamespace from relation where code = 'RelationOwner')
    union all
    select 'DatabaseOwner', d.oid::int8, d.datdba::int8, pg_catalog.quote_ident(d.datname), 'DATABASE'
    from pg_catalog.pg_database d
    where d.datname = pg_catalog.current_database() and exists (select from part)
    order by 1, 4`
}

/** Grants of tables by which a role runs code of its own as others, or can change who reads a masked relation. */
export async function findPrivileges(scene: Scene): Promise<Found[]> {
  const { sql, parts, seers } = scene
  return await sql<Found[]>`
    with recursive ${selectMasked(sql, scene)}, acl as (
      select c.oid, c.relowner, c.relnamespace, c.relname, c.relacl as acl from pg_catalog.pg_class c
      where c.relacl is not null and c.relpersistence <> 't'
      union all
      select c.oid, c.relowner, c.relnamespace, c.relname, a.attacl
      from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
      where a.attacl is not null and not a.attisdropped and c.relpersistence <> 't'
    ), entry as (
      select acl.*, x.grantee, x.grantor, x.privilege_type, x.is_grantable
      from acl cross join lateral pg_catalog.aclexplode(acl) x
      where x.grantee <> relowner and (x.is_grantable or x.privilege_type in ('TRIGGER', 'REFERENCES'))
        and ${isLeft(scene)}
    ), found as (
      select case privilege_type when 'TRIGGER' then 'TriggerGrant' else 'ReferencesGrant' end as code, entry.*
      from entry where privilege_type in ('TRIGGER', 'REFERENCES') and relowner = any(${seers}::int8[]::oid[])
      union all
      select 'GrantOption', entry.* from entry where is_grantable and oid = any(${parts}::int8[]::oid[])
    )
    select distinct f.code, f.grantee::int8 as holder, pg_catalog.format('%I.%I', n.nspname, f.relname) as object,
      case when f.grantor <> f.relowner then g.rolname::text end as by
    from found f join pg_catalog.pg_namespace n on n.oid = f.relnamespace
    left join pg_catalog.pg_roles g on g.oid = f.grantor
    order by 1, 3`
}

/**
 * ENF-50: where the binding may act as the owner, a turn takes these rights on what it masks from every role but
 * exempt ones.
 */
function isLeft({ sql, version, self, isProposed }: Scene) {
  if (!isProposed) return sql`true`
  const acting = version >= 160000 ? 'SET' : 'MEMBER'
  return sql`not (x.privilege_type in ('TRIGGER', 'REFERENCES', 'MAINTAIN')
    and oid in (select oid from reader) and pg_catalog.pg_has_role(${self}::int8::oid, relowner, ${acting}))`
}
