import type { Found, Scene } from '../scene.ts'

/**
 * What roles own and a masked relation, or an object of a role that sees raw values, depends on: its owner can replace
 * it by code that reads raw values. Dependencies are followed from what a role owns to what uses it, through objects of
 * other such roles. Ownerless objects, such as triggers and policies, belong to what they are part of.
 */
export async function findCode({ sql, version, judged, parts, seers }: Scene): Promise<Found[]> {
  return await sql<Found[]>`
    with recursive owned as materialized (
      select d.refobjid as owner, d.classid, d.objid from pg_catalog.pg_shdepend d
      where d.dbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
        and d.deptype = 'o' and d.refclassid = 'pg_catalog.pg_authid'::regclass
        and d.refobjid = any(${judged}::int8[]::oid[])
        and d.classid = any(
          '{pg_proc,pg_operator,pg_type,pg_class,pg_opclass,pg_collation,pg_extension}'::regclass[]::oid[])
        and not (d.classid = 'pg_catalog.pg_class'::regclass and d.objid = any(${parts}::int8[]::oid[]))
    ), used (owner, own_class, own, classid, objid, holder) as (
      (select owner, classid, objid, classid, objid, owner from owned
        where classid <> 'pg_catalog.pg_extension'::regclass
      union
      select o.owner, o.classid, o.objid, m.classid, m.objid, o.owner from owned o
      join pg_catalog.pg_depend m on m.refclassid = o.classid and m.refobjid = o.objid and m.deptype = 'e'
      where o.classid = 'pg_catalog.pg_extension'::regclass)
      union
      select u.owner, u.own_class, u.own, next.classid, next.objid,
        -- Before 16, array types of an extension are no members of it, and belong to the first superuser.
        case when next.deptype = 'i' and next.classid = 'pg_catalog.pg_type'::regclass then u.holder
          else ${ownerOf(sql)} end
      from used u cross join lateral (
        select d.classid, d.objid, d.deptype from pg_catalog.pg_depend d
        where d.refclassid = u.classid and d.refobjid = u.objid and u.holder is not null
        union all
        select d.refclassid, d.refobjid, null from pg_catalog.pg_depend d
        where d.classid = u.classid and d.objid = u.objid and d.deptype in ('a', 'i') and u.holder is null
        union all
        -- Writes to a table above fire the triggers of its parts, and so do changes that a subscription brings.
        select 'pg_catalog.pg_class'::regclass, i.inhparent, null from pg_catalog.pg_inherits i
        where u.classid = 'pg_catalog.pg_class'::regclass and i.inhrelid = u.objid
        union all
        select 'pg_catalog.pg_subscription'::regclass, r.srsubid, null from pg_catalog.pg_subscription_rel r
        join pg_catalog.pg_subscription s on s.oid = r.srsubid
        where u.classid = 'pg_catalog.pg_class'::regclass and r.srrelid = u.objid
          and ${version >= 160000 ? sql`s.subrunasowner` : sql`true`}) next
      where (u.holder is null or u.holder = u.owner or u.holder <> all(${seers}::int8[]::oid[]))
        and (${ownerOf(sql)} is not null or next.classid = any(
          '{pg_attrdef,pg_rewrite,pg_trigger,pg_constraint,pg_policy,pg_amop,pg_amproc}'::regclass[]::oid[]))
        and not exists (select from pg_catalog.pg_depend e where e.deptype = 'e' and e.classid = next.classid
          and e.objid = next.objid and e.refclassid = u.own_class and e.refobjid = u.own)
    ), reached as (
      select owner, own_class, own, pg_catalog.min(pg_catalog.pg_describe_object(classid, objid, 0)) as by
      from used where holder <> owner and (holder = any(${seers}::int8[]::oid[])
        or classid = 'pg_catalog.pg_class'::regclass and objid = any(${parts}::int8[]::oid[]))
      group by 1, 2, 3
    )
    select 'CodeOwner' as code, r.owner::int8 as holder, i.identity as object, r.by,
      case i.type when 'function' then 'ROUTINE' when 'procedure' then 'ROUTINE' when 'aggregate' then 'ROUTINE'
        else pg_catalog.upper(i.type) end as word
    from reached r, pg_catalog.pg_identify_object(r.own_class, r.own, 0) i order by 3`
}

/** Null: it is part of something, or of a kind that runs no code. */
function ownerOf(sql: Scene['sql']) {
  const owners = {
    class: 'rel',
    proc: 'pro',
    type: 'typ',
    operator: 'opr',
    opclass: 'opc',
    opfamily: 'opf',
    collation: 'coll',
    statistic_ext: 'stx',
    event_trigger: 'evt',
    extension: 'ext',
    subscription: 'sub',
  }
  const cases = Object.entries(owners).map(
    ([name, prefix]) => `when 'pg_catalog.pg_${name}'::regclass
      then (select o.${prefix}owner from pg_catalog.pg_${name} o where o.oid = next.objid)`,
  )
  return sql.unsafe(`(case next.classid ${cases.join('\n')} end)`)
}
