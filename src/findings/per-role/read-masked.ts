import type { ColumnPlace } from '../../contracts/inspection.ts'
import type { Homonym, MaskedRelation, RoleMasks } from '../../contracts/role-masks.ts'
import type { Query, Row, Sql } from '../../db/sql.ts'
import type { Controller } from '../../masks/control/controller.ts'
import { findGuard } from '../../masks/read/guard.ts'
import { readMaskVersion } from '../../masks/read/mask-version.ts'
import { readExempt } from '../../masks/read/snapshot.ts'
import { groupByRole } from '../group-by-role.ts'
import { readWatched } from './read-watched.ts'

/**
 * The masks of databases as the gateway asks for them. `readObserved`: the columns that a policy in observe mode would
 * mask; null where the policy is enforced or off.
 */
export function createMaskReader(
  controller: Pick<Controller, 'connect' | 'readPolicy'>,
  { readObserved }: { readObserved(databaseId: string): Promise<readonly ColumnPlace[] | null> },
) {
  async function connect(databaseId: string): Promise<Sql> {
    const target = await controller.connect(databaseId)
    if (!target) throw new Error('the database is not bound any more')
    return target.sql
  }
  return {
    readMasks: async (databaseId: string, roles: readonly string[]) =>
      readMaskedFor(await connect(databaseId), roles, await readObserved(databaseId)),

    async readVersion(databaseId: string): Promise<string> {
      const observed = await readObserved(databaseId)
      return observed ? JSON.stringify(observed) : readGatewayVersion(await connect(databaseId))
    },

    /** Those of the roles that would see masks if the policy were enforced; none where it is, or is off. */
    async findWouldMask(databaseId: string, roles: readonly string[]): Promise<readonly string[]> {
      if ((await readObserved(databaseId)) === null) return []
      const sql = await connect(databaseId)
      const policy = await controller.readPolicy(databaseId)
      const [server] = await sql<{ version: number }[]>`
        select current_setting('server_version_num')::int as version`
      const exempt = await readExempt(sql, policy, server?.version ?? 0)
      const rows = await sql<{ name: string }[]>`
        select rolname::text as name from pg_catalog.pg_roles where rolname = any(${roles}::text[])
          and not (rolsuper or ${exempt.everybody} or oid = any(${[...exempt.roles]}::int8[]::oid[]))`
      return rows.map(({ name }) => name)
    },
  }
}

const ownSchemas = new Set(['pg_catalog', 'pg_toast'])

/** Types without an operator by which rows could be grouped. */
const incomparable = ['json', 'xml', 'point', 'line', 'lseg', 'box', 'path', 'polygon', 'circle', 'jsonpath']

/**
 * Another text with every change of masks or exemptions, and as soon as privileges on masked relations or their owners
 * change, memberships in roles, or which roles are superusers or create roles. Relations without a record do not
 * count, such as tables to which only foreign keys lead. The second part is none of the version of the masks, as
 * sessions at standbys end with that.
 */
export async function readGatewayVersion(sql: Sql): Promise<string> {
  const masks = await readMaskVersion(sql)
  const guard = await findGuard(sql)
  if (guard === null) return masks
  const [row] = await sql<{ version: string }[]>`
    select pg_catalog.concat_ws('/',
      (select pg_catalog.concat(count(*), '.', sum(xmin::text::int8)) from pg_catalog.pg_auth_members),
      (select pg_catalog.concat(sum(oid::int8) filter (where rolsuper), '.',
        sum(oid::int8) filter (where rolcreaterole))
        from pg_catalog.pg_roles),
      (select pg_catalog.concat(sum(pg_catalog.hash_array_extended(c.relacl, c.oid::int8)), '.',
          sum(pg_catalog.hashint8extended(c.relowner::int8, c.oid::int8)))
        from ${sql(guard)}.relation g join pg_catalog.pg_class c on c.oid = g.oid),
      (select sum(pg_catalog.hash_array_extended(a.attacl, (g.oid::int8 << 16) | a.attnum::int8))
        from ${sql(guard)}.relation g join pg_catalog.pg_attribute a on a.attrelid = g.oid
        where a.attnum > 0 and a.attacl is not null)) as version`
  return `${masks} ${row?.version}`
}

/**
 * The relations that each role has to read through twins: it may read the twin, but not every column of the relation
 * itself, or of what a view reads with the privileges of its reader. A role that sees raw values, for whatever reason,
 * keeps doing so. `observed`: no relation moves, and these columns are watched.
 */
export async function readMaskedFor(
  sql: Sql,
  roles: readonly string[],
  observed: readonly ColumnPlace[] | null = null,
): Promise<ReadonlyMap<string, RoleMasks>> {
  const nothing = { relations: [], watched: [], rows: [], watchedDigest: '', homonyms: [], hides: [] }
  const guard = observed ? null : await findGuard(sql)
  if (!observed && guard === null) return new Map(roles.map((role) => [role, nothing]))
  const relations = guard === null ? [] : await readMoved(sql, guard, roles)
  const watched = await readWatched(sql, roles, guard, observed ?? [])
  // Some relations are watched for some roles alone. A name in a schema of PostgreSQL's own counts wherever it is
  // found.
  const moved = relations.map(({ name }) => name)
  const names = new Map(
    [...watched].map(([role, { watched: seen }]) => [
      role,
      new Set([...moved, ...seen.flatMap(({ schema, name }) => (ownSchemas.has(schema) ? [] : [name]))]),
    ]),
  )
  const all = new Set([...names.values()].flatMap((own) => [...own]))
  const homonyms = await readHomonyms(sql, roles, [...all])
  const hidden = guard === null ? [] : await readHidden(sql, guard, roles)
  const [moves, namesakes, hides] = [groupByRole(relations), groupByRole(homonyms), groupByRole(hidden)]
  const describe = (role: string): RoleMasks => ({
    ...{ ...nothing, ...(watched.get(role) ?? { isUnknown: true }), relations: moves(role) },
    homonyms: namesakes(role).filter(({ name }) => names.get(role)?.has(name)),
    hides: hides(role).flatMap(({ schemas }) => schemas),
  })
  return new Map(roles.map((role) => [role, describe(role)]))
}

async function readMoved(sql: Sql, guard: string, roles: readonly string[]) {
  const readsAll = (
    oid: Query<Row[]>,
  ) => sql`(pg_catalog.has_table_privilege(r.oid, ${oid}, 'SELECT') or not exists (
    select 1 from pg_catalog.pg_attribute a where a.attrelid = ${oid} and a.attnum > 0 and not a.attisdropped
      and not pg_catalog.has_column_privilege(r.oid, ${oid}, a.attnum, 'SELECT')))`
  return await sql<(MaskedRelation & { role: string })[]>`
    with recursive masked as (
      select c.oid, n.nspname, c.relname, g.twin, c.relkind = 'r' and exists (
          select 1 from pg_catalog.pg_inherits where inhparent = c.oid) as has_children,
        exists (select 1 from pg_catalog.pg_options_to_table(c.reloptions)
          where option_name = 'security_invoker' and option_value::boolean) as is_invoker,
        pg_catalog.to_regclass(pg_catalog.format('%I.%I', g.twin->>'schema', g.twin->>'name')) as twin_oid
      from ${sql(guard)}.relation g join pg_catalog.pg_class c on c.oid = g.oid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace where g.twin is not null),
    -- What is read for a view with the privileges of its reader.
    beneath (view, oid) as (
      select oid, oid from masked where is_invoker
      union select b.view, d.refobjid from beneath b join masked v on v.oid = b.oid and v.is_invoker
      join pg_catalog.pg_rewrite w on w.ev_class = v.oid
      join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
        and d.refclassid = 'pg_catalog.pg_class'::regclass join masked x on x.oid = d.refobjid)
    select r.rolname::text as role, m.nspname::text as schema, m.relname::text as name,
      pg_catalog.jsonb_build_object('schema', m.twin->'schema', 'name', m.twin->'name') as twin,
      m.has_children as "hasChildren",
      array(select a.attname::text from pg_catalog.pg_attribute a where a.attrelid = m.oid and a.attnum > 0
        and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns,
      case when not m.has_children then array(select a.attname::text from pg_catalog.pg_attribute a
        where a.attrelid = m.oid and a.attnum = any(k.columns) order by a.attnum) else '{}' end as key,
      array(select a.attname::text from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
        where a.attrelid = m.oid and a.attnum > 0 and not a.attisdropped
          and pg_catalog.ltrim(t.typname::text, '_') <> all(${incomparable}::text[])
          -- A number that is drawn is another one in each row of a join.
          and (t.typcategory <> 'N' or pg_catalog.has_column_privilege(r.oid, m.oid, a.attnum, 'SELECT'))
        order by a.attnum) as dependent
    from masked m join pg_catalog.pg_roles r on r.rolname = any(${roles}::text[])
    left join lateral (
      select c.conkey as columns from pg_catalog.pg_constraint c
      where c.conrelid = m.oid and c.contype = 'p' and not c.condeferrable and not exists (
        select 1 from pg_catalog.unnest(c.conkey) n (attnum)
        where not pg_catalog.has_column_privilege(r.oid, m.oid, n.attnum, 'SELECT'))) k on true
    where m.twin_oid is not null and pg_catalog.has_any_column_privilege(r.oid, m.twin_oid, 'SELECT')
      and (not ${readsAll(sql`m.oid`)}
        or exists (select 1 from beneath b where b.view = m.oid and not ${readsAll(sql`b.oid`)}))
    order by 1, 2, 3`
}

async function readHidden(sql: Sql, guard: string, roles: readonly string[]) {
  return await sql<{ role: string; schemas: string[] }[]>`
    select r.rolname::text as role, array(
      select ${guard}::text union select twin->>'schema' from ${sql(guard)}.relation where twin is not null
      order by 1) as schemas
    from pg_catalog.pg_roles r join pg_catalog.pg_namespace n on n.nspname = ${guard}
    where r.rolname = any(${roles}::text[]) and not pg_catalog.pg_has_role(r.oid, n.nspowner, 'USAGE')`
}

/**
 * Roles that a role may become and that are asked about one by one. Beyond, and for roles that can create others, it
 * may be any.
 */
const maxRoles = 50

/**
 * The relations of these names that each role can find by a search path, itself or after SET ROLE, which the gateway
 * does not follow. Memberships count whether or not they allow SET ROLE: an administrator of one can change that.
 */
async function readHomonyms(
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
