import type { Query, Row, Sql } from '../db/sql.ts'
import type {
  Bystander,
  Column,
  Guard,
  ObservedTwin,
  Relation,
  RelationKind,
  Role,
  Snapshot,
} from './catalog.ts'
import { driftChannel, guardSchema, shadowPrefix, twinOwnerName } from './names.ts'

/** A table that a rule names. */
export interface Target {
  readonly schema: string
  readonly table: string
}

/**
 * Reads what the controller needs to know: the tables that rules name, what is part of them, what reads them, what was
 * written down about them, and the roles. Its cost depends on these alone, not on the size of the database.
 */
export async function observe(
  tx: Sql,
  targets: readonly Target[],
  scope: 'all' | 'targets',
): Promise<Snapshot> {
  const [server] = await tx<Omit<Snapshot, 'exempt'>[]>`
    select current_setting('server_version_num')::int as version, current_database()::text as database,
      to_regclass(${`${guardSchema}.relation`}) is not null as guarded,
      (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as superuser,
      exists (select 1 from pg_catalog.pg_event_trigger where evtname = ${driftChannel} and evtenabled <> 'D') as watched`
  if (!server) throw new Error('the server did not answer')
  const twinOwner = twinOwnerName(server.database)
  const oids = await findRelations(tx, targets, server.guarded, scope, twinOwner)
  const guards = server.guarded ? await readGuards(tx, oids) : []
  return {
    ...server,
    exempt: server.guarded ? await readExempt(tx) : [],
    relations: await readRelations(tx, oids),
    bystanders: await readBystanders(tx, oids, twinOwner),
    guards,
    twins: await readTwins(
      tx,
      guards.flatMap(({ twin }) => (twin ? [twin] : [])),
    ),
    roles: await readRoles(tx),
    shadowSchemas: await readShadowSchemas(tx),
    closedSchemas: await readClosedSchemas(tx, oids, twinOwner),
  }
}

/**
 * The named tables, what they are part of and their other parts, every view over any of these at any depth, and what is
 * guarded. Twins stand in schemas of their owner; what is temporary is nobody else's.
 */
async function findRelations(
  tx: Sql,
  targets: readonly Target[],
  guarded: boolean,
  scope: 'all' | 'targets',
  twinOwner: string,
) {
  const guards = tx`${tx(guardSchema)}.relation`
  const seeds = guarded && scope === 'all' ? tx`union select oid from ${guards}` : tx``
  // A view is masked as a whole: whatever else it reads under a mask has to be known too.
  const alsoRead = guarded
    ? tx`union all
        select d.refobjid from pg_catalog.pg_rewrite w join pg_catalog.pg_depend d on d.objid = w.oid
        join ${guards} g on g.oid = d.refobjid
        where w.ev_class = reached.oid and d.classid = 'pg_catalog.pg_rewrite'::regclass
          and d.refclassid = 'pg_catalog.pg_class'::regclass`
    : tx``
  const rows = await tx<{ oid: number }[]>`
    with recursive named as (
      select c.oid from unnest(${targets.map(({ schema }) => schema)}::text[], ${targets.map(({ table }) => table)}::text[]) as t(s, r)
      join pg_catalog.pg_namespace n on n.nspname = t.s
      join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.r
      ${seeds}
    ), reached as (
      select oid from named
      union
      select next.oid from reached, lateral (
        select inhrelid as oid from pg_catalog.pg_inherits where inhparent = reached.oid
        union all
        select inhparent from pg_catalog.pg_inherits where inhrelid = reached.oid
        union all
        select w.ev_class from pg_catalog.pg_depend d join pg_catalog.pg_rewrite w on w.oid = d.objid
        where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
          and d.refobjid = reached.oid and d.deptype = 'n' and w.ev_class <> reached.oid
        ${alsoRead}
      ) next
    )
    select c.oid::int8 as oid from reached join pg_catalog.pg_class c using (oid)
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't'
      and n.nspowner is distinct from (select oid from pg_catalog.pg_roles where rolname = ${twinOwner})
    order by 1`
  return rows.map(({ oid }) => oid)
}

const kinds: Readonly<Record<string, RelationKind>> = {
  r: 'table',
  p: 'table',
  v: 'view',
  m: 'materialized view',
  f: 'foreign table',
}

interface RelationRow extends Omit<Relation, 'kind' | 'columns'> {
  readonly relkind: string
}

async function readRelations(tx: Sql, oids: readonly number[]): Promise<Relation[]> {
  const rows = await tx<RelationRow[]>`
    select c.oid::int8 as oid, n.nspname::text as schema, c.relname::text as name, c.relkind::text as relkind,
      o.rolname::text as owner, c.relrowsecurity as "rowSecurity",
      case when c.relkind in ('v', 'm') then pg_catalog.pg_get_viewdef(c.oid) end as definition,
      coalesce('security_barrier=true' = any(c.reloptions), false) as "securityBarrier",
      ${aclAsJson(tx, tx`c.relacl`)} as grants,
      array(select distinct d.refobjid::int8 from pg_catalog.pg_depend d join pg_catalog.pg_rewrite w on w.oid = d.objid
        where w.ev_class = c.oid and d.classid = 'pg_catalog.pg_rewrite'::regclass
          and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> c.oid) as reads,
      array(select inhparent::int8 from pg_catalog.pg_inherits where inhrelid = c.oid) as parents
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_roles o on o.oid = c.relowner
    where c.oid = any(${oids}::oid[])`
  const columns = await readColumns(tx, oids)
  return rows.map(({ relkind, grants, ...row }) => ({
    ...row,
    kind: kinds[relkind] ?? 'table',
    grants: grants.filter(({ grantee }) => grantee !== row.owner),
    columns: columns.get(row.oid) ?? [],
  }))
}

/** SELECT alone; a null list is the default, which gives it to the owner only. */
function aclAsJson(tx: Sql, acl: Query<Row[]>) {
  return tx`coalesce((
    select jsonb_agg(jsonb_build_object('grantor', r.rolname, 'grantee', e.rolname, 'grantable', a.is_grantable)
      order by r.rolname, e.rolname)
    from pg_catalog.aclexplode(${acl}) a
    join pg_catalog.pg_roles r on r.oid = a.grantor left join pg_catalog.pg_roles e on e.oid = a.grantee
    where a.privilege_type = 'SELECT' and (a.grantee = 0 or e.oid is not null)), '[]')`
}

async function readColumns(tx: Sql, oids: readonly number[]): Promise<Map<number, Column[]>> {
  const rows = await tx<(Column & { relation: number })[]>`
    select a.attrelid::int8 as relation, a.attnum::int as number, a.attname::text as name,
      pg_catalog.format_type(a.atttypid, a.atttypmod) as type,
      pg_catalog.format_type(b.oid, b.modifier) as "baseType",
      b.typname::text as "baseName", b.typtype::text as "baseKind", b.typcategory::text as category, b.modifier,
      case when a.attcollation <> 0 then (select format('%I.%I', n.nspname, l.collname) from pg_catalog.pg_collation l
        join pg_catalog.pg_namespace n on n.oid = l.collnamespace where l.oid = a.attcollation) end as collation,
      case when b.typtype = 'e' then (select enumlabel::text from pg_catalog.pg_enum
        where enumtypid = b.oid order by enumsortorder limit 1) end as "firstLabel",
      ${aclAsJson(tx, tx`a.attacl`)} as acl
    from pg_catalog.pg_attribute a
    cross join lateral (
      with recursive base as (
        select t.oid, t.typname, t.typtype, t.typcategory, t.typbasetype, t.typtypmod, a.atttypmod as modifier
        from pg_catalog.pg_type t where t.oid = a.atttypid
        union all
        select t.oid, t.typname, t.typtype, t.typcategory, t.typbasetype, t.typtypmod, base.typtypmod
        from base join pg_catalog.pg_type t on t.oid = base.typbasetype where base.typtype = 'd'
      )
      select * from base where typtype <> 'd'
    ) b
    where a.attrelid = any(${oids}::oid[]) and a.attnum > 0 and not a.attisdropped
    order by a.attrelid, a.attnum`
  const columns = new Map<number, Column[]>()
  for (const { relation, ...column } of rows) {
    const list = columns.get(relation)
    if (list) list.push(column)
    else columns.set(relation, [column])
  }
  return columns
}

async function readGuards(tx: Sql, oids: readonly number[]): Promise<Guard[]> {
  return await tx<Guard[]>`
    select oid::int8 as oid, grants, column_grants as "columnGrants", pins, lent, hides_all as "hidesAll", twin
    from ${tx(guardSchema)}.relation where oid = any(${oids}::oid[])
      or not exists (select 1 from pg_catalog.pg_class c where c.oid = relation.oid)`
}

async function readExempt(tx: Sql): Promise<string[]> {
  const [row] = await tx<{ exempt: string[] }[]>`select exempt from ${tx(guardSchema)}.policy`
  return row?.exempt ?? []
}

/** What masked views read beside what is masked. */
async function readBystanders(tx: Sql, oids: readonly number[], twinOwner: string): Promise<Bystander[]> {
  return await tx<Bystander[]>`
    select distinct c.oid::int8 as oid, n.nspname::text as schema, c.relname::text as name,
      coalesce((select has_table_privilege(r.oid, c.oid, 'SELECT') and has_schema_privilege(r.oid, n.oid, 'USAGE')
        from pg_catalog.pg_roles r where r.rolname = ${twinOwner}), false) as readable
    from pg_catalog.pg_rewrite w
    join pg_catalog.pg_depend d on d.objid = w.oid and d.classid = 'pg_catalog.pg_rewrite'::regclass
      and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> w.ev_class
    join pg_catalog.pg_class c on c.oid = d.refobjid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where w.ev_class = any(${oids}::oid[]) and c.oid <> all(${oids}::oid[]) and c.relkind in ('r', 'p', 'v', 'm', 'f')
    order by 1`
}

async function readTwins(
  tx: Sql,
  names: readonly { schema: string; name: string }[],
): Promise<ObservedTwin[]> {
  return await tx<ObservedTwin[]>`
    select n.nspname::text as schema, c.relname::text as name, o.rolname::text as owner,
      pg_catalog.pg_get_viewdef(c.oid) as definition,
      ${aclAsJson(tx, tx`c.relacl`)} as grants,
      (select jsonb_agg(jsonb_build_object('name', a.attname, 'type', pg_catalog.format_type(a.atttypid, a.atttypmod))
        order by a.attnum) from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0) as columns,
      coalesce((select jsonb_agg(g || jsonb_build_object('column', a.attname) order by a.attnum, g ->> 'grantee')
        from pg_catalog.pg_attribute a, lateral jsonb_array_elements(${aclAsJson(tx, tx`a.attacl`)}) g
        where a.attrelid = c.oid and a.attnum > 0), '[]') as "columnGrants"
    from unnest(${names.map(({ schema }) => schema)}::text[], ${names.map(({ name }) => name)}::text[]) as t(s, r)
    join pg_catalog.pg_namespace n on n.nspname = t.s
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.r
    join pg_catalog.pg_roles o on o.oid = c.relowner`
}

async function readRoles(tx: Sql): Promise<Map<string, Role>> {
  const rows = await tx<Role[]>`
    select r.rolname::text as name, r.rolsuper as superuser,
      array(select g.rolname::text from pg_catalog.pg_auth_members m
        join pg_catalog.pg_roles g on g.oid = m.roleid where m.member = r.oid) as "memberOf"
    from pg_catalog.pg_roles r`
  return new Map(rows.map((role) => [role.name, role]))
}

async function readShadowSchemas(tx: Sql): Promise<Set<string>> {
  const rows = await tx<{ name: string }[]>`
    select nspname::text as name from pg_catalog.pg_namespace
    where nspname like ${`${shadowPrefix.replaceAll('_', '\\_')}%`}`
  return new Set(rows.map(({ name }) => name))
}

async function readClosedSchemas(tx: Sql, oids: readonly number[], twinOwner: string): Promise<Set<string>> {
  const rows = await tx<{ name: string }[]>`
    select distinct n.nspname::text as name from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid = any(${oids}::oid[]) and not coalesce((
      select has_schema_privilege(r.oid, n.oid, 'USAGE') from pg_catalog.pg_roles r where r.rolname = ${twinOwner}), false)`
  return new Set(rows.map(({ name }) => name))
}
