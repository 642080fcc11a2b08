import type { Query, Row, Sql } from '../../db/sql.ts'
import type { Column, Oid, Relation } from '../model.ts'

/** Lower OIDs are of objects that the server has from its beginning. */
const firstOfUsers = 16_384

/**
 * The tables that rules name, their kin by inheritance, and every view over one of these at any depth; in a look at the
 * whole also whatever has a record. Twins and temporary relations are left out.
 */
export async function findRelations(
  sql: Sql,
  targets: readonly { readonly schema: string; readonly table: string }[],
  guard: string | null,
  isWhole: boolean,
  exempt: readonly Oid[] | null = null,
): Promise<Oid[]> {
  const [recorded, ours, alsoRead] =
    guard === null
      ? [sql``, sql`select null::oid where false`, sql``]
      : [
          isWhole ? sql`union select oid from ${sql(guard)}.relation` : sql``,
          sql`select shadow from ${sql(guard)}.shadow
            union all select oid from pg_catalog.pg_namespace where nspname = ${guard}`,
          // A twin of a view reads the twins of all that it reads, in focus or not.
          sql`union all select d.refobjid from pg_catalog.pg_rewrite w
            join pg_catalog.pg_depend d on d.objid = w.oid
            join ${sql(guard)}.relation g on g.oid = d.refobjid where w.ev_class = reached.oid
              and d.classid = 'pg_catalog.pg_rewrite'::regclass
              and d.refclassid = 'pg_catalog.pg_class'::regclass`,
        ]
  const rows = await sql<{ oid: Oid }[]>`
    with recursive named as (
      select c.oid from unnest(${targets.map(({ schema }) => schema)}::text[],
        ${targets.map(({ table }) => table)}::text[]) t(s, r)
      join pg_catalog.pg_namespace n on n.nspname = t.s
      join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.r
      ${recorded}
    ), reached as (
      select oid from named
      union
      select next.oid from reached, lateral (
        select inhrelid as oid from pg_catalog.pg_inherits where inhparent = reached.oid
        union all select inhparent from pg_catalog.pg_inherits where inhrelid = reached.oid
        union all select w.ev_class from pg_catalog.pg_depend d join pg_catalog.pg_rewrite w on w.oid = d.objid
          where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
            and d.refobjid = reached.oid and w.ev_class <> reached.oid
        ${alsoRead}
      ) next
    )
    select c.oid::int8 as oid from reached join pg_catalog.pg_class c using (oid)
    where (${exempt === null ? sql`true` : selectConcerned(sql, guard, exempt)})
      and c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't' and c.oid >= ${firstOfUsers}
      and c.relnamespace not in (${ours}) order by 1`
  return rows.map(({ oid }) => oid)
}

/** Grants on columns of a view, and its columns, that are read. */
const mostGrants = 2_000

/**
 * SQL: false for a view `c` that nothing has to be done about. One of an owner that sees no raw value shows none:
 * PostgreSQL denies it, as it denies a view that reads with the rights of its reader. Any role can make such views,
 * and very wide ones.
 */
function selectConcerned(sql: Sql, guard: string | null, exempt: readonly Oid[]) {
  const recorded =
    guard === null ? sql`false` : sql`exists (select from ${sql(guard)}.relation g where g.oid = c.oid)`
  const isWide = sql`(select coalesce(sum(pg_catalog.array_length(a.attacl, 1)), 0) from pg_catalog.pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0) > ${mostGrants}`
  const seesRaw = sql`exists (
    with recursive up as (select c.relowner as oid
      union select m.roleid from up join pg_catalog.pg_auth_members m on m.member = up.oid)
    select from up join pg_catalog.pg_roles r on r.oid = up.oid
    where r.rolsuper or r.rolname in ('pg_read_all_data', current_user) or r.oid = any(${[...exempt]}::oid[])
      or r.oid in (select t.relowner from reached join pg_catalog.pg_class t using (oid)
        where t.relkind in ('r', 'p', 'f')))`
  return sql`c.relkind not in ('v', 'm') or ${recorded} or case
    when c.relkind = 'v' and ${isOn(sql, 'security_invoker')} then not ${isWide}
    else c.relkind = 'm' and c.relispopulated or ${seesRaw} end`
}

const isOn = (sql: Sql, option: string, of = sql`c`) => sql`coalesce((select option_value::boolean
  from pg_catalog.pg_options_to_table(${of}.reloptions) where option_name = ${option}), false)`

/** `twins`: of these relations, by our records, are read as well. */
export async function readRelations(
  sql: Sql,
  oids: readonly Oid[],
  version: number,
  twins: { readonly guard: string; readonly isWhole: boolean } | null = null,
): Promise<Map<Oid, Relation>> {
  const some = sql`${oids}::oid[]`
  const all = twins
    ? sql`(${some} || array(select twin_oid from ${sql(twins.guard)}.relation
        where twin_oid is not null ${twins.isWhole ? sql`` : sql`and oid = any(${some})`}))`
    : some
  // Before 16 every member may take on the role.
  const set = version >= 160000 ? 'SET' : 'MEMBER'
  const roles = sql`(with recursive up as (select c.relowner as oid union select m.roleid from up
    join pg_catalog.pg_auth_members m on m.member = up.oid) select oid from up)`
  const [rows, columns] = await Promise.all([
    sql<Omit<Relation, 'columns'>[]>`
      select c.oid::int8 as oid, n.nspname::text as schema, c.relname::text as name,
        case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table'
          else 'table' end as kind,
        c.relowner::int8 as owner, o.rolname::text as "ownerName",
        -- With the owner's rights alone PostgreSQL may take another role as the grantor, which revokes nothing.
        -- An owner that may not use the schema cannot name the relation.
        case when me.rolsuper or me.oid = c.relowner then 'directly'
          when pg_catalog.pg_has_role(c.relowner, ${set})
            and pg_catalog.has_schema_privilege(c.relowner, c.relnamespace, 'USAGE') then 'as owner'
          when pg_catalog.pg_has_role(c.relowner, 'USAGE') then 'directly'
          when pg_catalog.pg_has_role(c.relowner, ${set}) then 'as owner' else 'not' end as acting,
        pg_catalog.pg_has_role(c.relowner, ${set}) as settable,
        case when c.relkind in ('v', 'm') then array(select u.oid::int8 from ${roles} u) else '{}' end as "ownerRoles",
        c.relkind in ('v', 'm') and exists (select from ${roles} u join pg_catalog.pg_roles r on r.oid = u.oid
          where r.rolsuper or r.rolname = 'pg_read_all_data') as "ownerReadsAll",
        coalesce((
          select json_agg(json_build_object('column', l.number, 'grantor', a.grantor::int8, 'grantee', a.grantee::int8,
            'kind', a.privilege_type, 'grantable', a.is_grantable) order by l.number)
          from (select 0 as number, c.relacl as acl union all
            select t.attnum, t.attacl from pg_catalog.pg_attribute t
            where t.attrelid = c.oid and t.attnum > 0 and t.attacl is not null and not t.attisdropped) l,
            pg_catalog.aclexplode(l.acl) a
          where a.grantee <> c.relowner
            and a.privilege_type in ('SELECT', 'TRIGGER', 'REFERENCES', 'MAINTAIN')), '[]') as acl,
        case (select pg_catalog.bool_and(p.polpermissive) from pg_catalog.pg_policy p
            where c.relrowsecurity and p.polrelid = c.oid and p.polcmd in ('*', 'r') and 0 <> all(p.polroles))
          when true then 'permissive' when false then 'restrictive' else 'none' end as "rolePolicies",
        c.relrowsecurity as "hasRowSecurity",
        coalesce((
          select jsonb_agg(distinct jsonb_build_object('oid', d.refobjid::int8, 'name', d.refobjid::regclass::text))
          from pg_catalog.pg_policy p join pg_catalog.pg_depend d on d.objid = p.oid
          where p.polrelid = c.oid and d.classid = 'pg_catalog.pg_policy'::regclass
            and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> c.oid
            and pg_catalog.has_table_privilege(c.relowner, d.refobjid, 'SELECT')), '[]') as "policyReads",
        ${selectStrangers(sql, twins?.guard ?? null)} as "policyStrangers",
        ${isOn(sql, 'security_barrier')} as "isSecurityBarrier",
        ${isOn(sql, 'security_invoker')} as "isSecurityInvoker",
        c.relispopulated as "isPopulated",
        array(select inhparent::int8 from pg_catalog.pg_inherits where inhrelid = c.oid) as parents,
        used.reads, used."readSchemas",
        coalesce(w.oid || '/' || w.xmin, '') as rule
      from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_roles o on o.oid = c.relowner join pg_catalog.pg_roles me on me.rolname = current_user
      left join pg_catalog.pg_rewrite w on w.ev_class = c.oid and w.rulename = '_RETURN'
      cross join lateral (
        select coalesce(array_agg(distinct s.oid::int8), '{}') as reads,
          coalesce(array_agg(distinct s.relnamespace::int8), '{}') as "readSchemas"
        from pg_catalog.pg_depend d join pg_catalog.pg_class s on s.oid = d.refobjid
        where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid and d.refobjid <> c.oid
          and d.refclassid = 'pg_catalog.pg_class'::regclass) used
      where c.oid = any(${all}) order by c.oid`,
    readColumns(sql, all),
  ])
  return new Map(rows.map((row) => [row.oid, { ...row, columns: columns.get(row.oid) ?? [] }]))
}

/** Types outside pg_catalog have no name here, but for citext as its extension made it. */
async function readColumns(sql: Sql, oids: Query<Row[]>): Promise<Map<Oid, Column[]>> {
  const rows = await sql<(Column & { relation: Oid })[]>`
    select a.attrelid::int8 as relation, a.attnum::int as number, a.attname::text as name,
      pg_catalog.format_type(a.atttypid, a.atttypmod) as type, pg_catalog.format_type(b.oid, b.modifier) as "baseType",
      case when b.typnamespace = 'pg_catalog'::regnamespace or b.typname = 'citext' and b.typtype = 'b' and exists (
          select from pg_catalog.pg_depend d
          join pg_catalog.pg_extension x on x.oid = d.refobjid and x.extname = 'citext'
          where d.classid = 'pg_catalog.pg_type'::regclass and d.objid = b.oid and d.deptype = 'e')
        then b.typname::text else '' end as "baseName",
      b.typtype::text as "baseKind", b.modifier, b.checks as "isChecked",
      -- EXISTS would be a hash of all types.
      coalesce((select e.typarray = b.oid from pg_catalog.pg_type e where e.oid = b.typelem), false) as "isArray",
      case when a.attcollation <> 0 then (select format('%I.%I', n.nspname, l.collname) from pg_catalog.pg_collation l
        join pg_catalog.pg_namespace n on n.oid = l.collnamespace where l.oid = a.attcollation) end as collation,
      case when b.typtype = 'e' then (select enumlabel::text from pg_catalog.pg_enum
        where enumtypid = b.oid order by enumsortorder limit 1) end as "firstLabel",
      -- Up to 14 the column itself depends on what it is computed from; since, its expression does.
      case when a.attgenerated = '' then '{}' else array(
        select distinct d.refobjsubid from pg_catalog.pg_attrdef e join pg_catalog.pg_depend d
          on d.classid = 'pg_catalog.pg_attrdef'::regclass and d.objid = e.oid
          or d.classid = 'pg_catalog.pg_class'::regclass and d.objid = e.adrelid and d.objsubid = e.adnum
        where e.adrelid = a.attrelid and e.adnum = a.attnum and d.refclassid = 'pg_catalog.pg_class'::regclass
          and d.refobjid = a.attrelid and d.refobjsubid not in (0, a.attnum)) end as "computedFrom"
    from pg_catalog.pg_attribute a cross join lateral (
      with recursive base as (
        select t.oid, t.typname, t.typnamespace, t.typtype, t.typelem, t.typbasetype, t.typtypmod,
          a.atttypmod as modifier, false as checks
        from pg_catalog.pg_type t where t.oid = a.atttypid
        union all
        select t.oid, t.typname, t.typnamespace, t.typtype, t.typelem, t.typbasetype, t.typtypmod, base.typtypmod,
          base.checks or exists (select from pg_catalog.pg_constraint where contypid = base.oid and contype = 'c')
        from base join pg_catalog.pg_type t on t.oid = base.typbasetype where base.typtype = 'd'
      ) select * from base where typtype <> 'd') b
    where a.attrelid = any(${oids}) and a.attnum > 0 and not a.attisdropped order by a.attrelid, a.attnum`
  return Map.groupBy(rows, ({ relation }) => relation)
}

/**
 * The names of relations that row policies of `c` read and that keep it from a twin, which reads with the rights of its
 * owner instead of its reader's: tables of other owners, whose own policies could read masked tables so; tables with
 * policies for certain roles; security invoker views; and what a grantee may not read. Policies of tables that these
 * read count as well. A view has the rights of its own owner, and a function those of the session, so that neither is
 * looked into. Superusers and the role of the binding may read what a twin reads. The policies of tables of others are
 * not followed: these could lead anywhere.
 */
function selectStrangers(sql: Sql, guard: string | null) {
  const isTrusted = sql`(o.oid = c.relowner or o.rolsuper or o.rolname = current_user)`
  const privileges = sql`pg_catalog.jsonb_to_recordset(g.before) b("column" int, grantee oid, kind text)`
  const before = guard
    ? sql`union select b.grantee from ${sql(guard)}.relation g, ${privileges}
        where g.oid = c.oid and b.kind = 'SELECT' except select role from ${sql(guard)}.twin_owner`
    : sql``
  // Of a masked relation counts what was there before masking.
  const ofMasked = guard
    ? sql`or exists (select from ${sql(guard)}.relation g, ${privileges}
        where g.oid = read.oid and b.kind = 'SELECT' and b."column" in (0, read.number)
          and (b.grantee in (0, e.oid) or pg_catalog.pg_has_role(e.oid, b.grantee, 'USAGE')))`
    : sql``
  return sql`case when not c.relrowsecurity then '{}' else array(
    with recursive read (oid, number) as (
      select c.oid, 0
      union
      select d.refobjid, d.refobjsubid from read
      join pg_catalog.pg_class t on t.oid = read.oid and t.relrowsecurity
      join pg_catalog.pg_roles o on o.oid = t.relowner and ${isTrusted}
      join pg_catalog.pg_policy p on p.polrelid = t.oid and p.polcmd in ('*', 'r')
      join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_policy'::regclass and d.objid = p.oid
        and d.refclassid = 'pg_catalog.pg_class'::regclass
    ), grantees (oid) as (
      select a.grantee from (select c.relacl as acl
        union all select attacl from pg_catalog.pg_attribute where attrelid = c.oid and attacl is not null) l,
        pg_catalog.aclexplode(l.acl) a where a.privilege_type = 'SELECT' and a.grantee <> c.relowner ${before}
    )
    select distinct t.oid::regclass::text
    from read join pg_catalog.pg_class t using (oid) join pg_catalog.pg_roles o on o.oid = t.relowner
    where t.oid <> c.oid and (t.relkind in ('r', 'p') and not ${isTrusted}
      or t.relkind = 'v' and ${isOn(sql, 'security_invoker', sql`t`)}
      or t.relrowsecurity and exists (select from pg_catalog.pg_policy p
        where p.polrelid = t.oid and p.polcmd in ('*', 'r') and 0 <> all(p.polroles))
      or exists (select from grantees e left join pg_catalog.pg_roles r on r.oid = e.oid
        where (e.oid = 0 or not r.rolbypassrls) and not (case when read.number = 0
          then pg_catalog.has_table_privilege(e.oid, read.oid, 'SELECT')
          else pg_catalog.has_column_privilege(e.oid, read.oid, read.number::smallint, 'SELECT') end ${ofMasked})))
    order by 1) end`
}
