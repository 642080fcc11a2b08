import type { Finding } from '../contracts/preflight.ts'
import { longestMark } from '../db/login-mark.ts'
import { quoteIdentifier } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'
import { isDirectoryName } from '../kernel/uuid.ts'
import { isLoginMark, isTwinOwnerName } from '../masks/names.ts'
import type { Target } from '../masks/policy.ts'
import { findGuard } from '../masks/read/guard.ts'
import { findRelations } from '../masks/read/relations.ts'
import type { ReachedRole } from './model.ts'

interface Row extends ReachedRole {
  readonly mapped: string
  readonly ownsRelations: boolean
}

const mostNames = 2000
const mostListed = 3

const takenOver =
  'has LOGIN, and a person who gets it could set its password and come back as it ' +
  '(map a role with NOLOGIN that has the rights)'

const exemptThere =
  'is exempt from the masks of another database of the server, and a person who gets it could connect to that ' +
  '(map a role that no other database exempts)'

/**
 * Whether a database role can be given to people of the directory. `tables`: those that rules name. `others`: where it
 * does not exist, roles with names like it. `exemptElsewhere`: roles that other databases of the server exempt, by OID.
 */
export async function examineMappedRole(
  sql: Sql,
  role: string,
  tables: readonly Target[],
  exemptElsewhere: ReadonlySet<number>,
): Promise<{ exists: boolean; others: readonly string[]; objections: readonly Finding[] }> {
  const reached = (await readMappedRoles(sql, [role], tables, exemptElsewhere)).get(role)
  return reached
    ? { exists: true, others: [], objections: objectTo(reached) }
    : { exists: false, others: await listRoles(sql), objections: [] }
}

/** By the name that is mapped, where it exists: that role, then every role that it is a member of, at any depth. */
export async function readMappedRoles(
  sql: Sql,
  roles: readonly string[],
  tables: readonly Target[],
  exemptElsewhere: ReadonlySet<number>,
): Promise<Map<string, ReachedRole[]>> {
  if (roles.length === 0) return new Map()
  const rows = await sql<Row[]>`
    with recursive reached (mapped, oid) as (
      select rolname, oid from pg_catalog.pg_roles where rolname = any(${roles}::text[]::name[])
      union
      select reached.mapped, m.roleid from reached join pg_catalog.pg_auth_members m on m.member = reached.oid
    ), owned as (
      select d.refobjid as owner, d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass as is_relation, h.oid as here,
        case when d.classid = 'pg_catalog.pg_database'::pg_catalog.regclass then d.objid else d.dbid end as place
      from pg_catalog.pg_shdepend d, pg_catalog.pg_database h
      where h.datname = current_database() and d.deptype = 'o' and d.refobjid in (select oid from reached)
        and d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass
    )
    select reached.mapped::text as mapped, r.oid, r.rolname::text as name, r.rolsuper as superuser,
      array_remove(array[
        case when r.rolreplication then 'REPLICATION' end, case when r.rolbypassrls then 'BYPASSRLS' end,
        case when r.rolcreaterole then 'CREATEROLE' end,
        case when r.rolcreatedb then 'CREATEDB' end], null) as attributes,
      r.rolcanlogin as "canLogin", r.oid = b.oid as binds,
      pg_catalog.left(pg_catalog.shobj_description(r.oid, 'pg_authid'), ${longestMark}) as comment,
      b.rolsuper or (b.rolcreaterole and v.number < 160000)
        or pg_catalog.pg_has_role(b.oid, r.oid, 'MEMBER WITH ADMIN OPTION') as "mayGrant",
      b.rolname::text as "user", v.number as version,
      exists (select 1 from owned o where o.owner = r.oid and o.is_relation and o.place = o.here) as "ownsRelations",
      array(select distinct d.datname::text from owned o join pg_catalog.pg_database d on d.oid = o.place
        where o.owner = r.oid and o.place <> o.here order by 1) as "ownsIn"
    from reached join pg_catalog.pg_roles r on r.oid = reached.oid
    join pg_catalog.pg_roles b on b.rolname = current_user,
    lateral (select current_setting('server_version_num')::int as number) v
    order by 1, r.rolname <> reached.mapped, r.rolname`
  const owners = new Set(rows.filter(({ ownsRelations }) => ownsRelations).map(({ oid }) => oid))
  const owned = await readOwned(sql, [...owners], tables)
  const found = rows.map((row) => ({
    ...row,
    owned: owned.get(row.oid) ?? [],
    isExemptElsewhere: exemptElsewhere.has(row.oid),
  }))
  return Map.groupBy(found, ({ mapped }) => mapped)
}

/**
 * The masked tables that roles own, with partitions, children, parents and materialized views over them, by the role's
 * OID: owners see raw values. A plain view shows its owner no more than the owner may see without it.
 */
export async function readOwned(
  sql: Sql,
  owners: readonly number[],
  tables: readonly Target[],
): Promise<Map<number, string[]>> {
  if (owners.length === 0 || tables.length === 0) return new Map()
  const guard = await findGuard(sql)
  const oids = await findRelations(sql, tables, guard, true)
  // Views over twins are none of it.
  const isCopy = guard ? sql`exists (select 1 from ${sql(guard)}.relation g where g.oid = c.oid)` : sql`true`
  const rows = await sql<{ owner: number; name: string }[]>`
    select c.relowner as owner, format('%I.%I', n.nspname, c.relname) as name
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid = any(${oids}::int8[]::oid[]) and c.relowner = any(${owners}::int8[]::oid[])
      and (c.relkind in ('r', 'p', 'f') or c.relkind = 'm' and c.relispopulated and ${isCopy})
    order by 2`
  return new Map(
    [...Map.groupBy(rows, ({ owner }) => owner)].map(([owner, own]) => [owner, own.map(({ name }) => name)]),
  )
}

/**
 * A mapped role, and whatever it is a member of, must open no way around the masks, to more rights, or into other
 * databases. Roles belong to the server: what one database exempts, people with login roles of another must not get.
 */
export function objectTo(reached: readonly ReachedRole[]): Finding[] {
  const [mapped] = reached
  if (!mapped) return []
  const role = quoteIdentifier(mapped.name)
  const harms = reached.flatMap((each): Finding[] => {
    const harm = findHarm(each)
    const way = each === mapped ? '' : `is a member of ${quoteIdentifier(each.name)}, which `
    const message = `${role} ${way}${harm}: it cannot be mapped.`
    return harm === undefined ? [] : [{ code: 'HarmfulRole', message, statements: [] }]
  })
  if (harms.length > 0 || mapped.mayGrant) return harms
  const option = mapped.version >= 160000 ? 'ADMIN TRUE, INHERIT FALSE, SET FALSE' : 'ADMIN OPTION'
  const statements = [`GRANT ${role} TO ${quoteIdentifier(mapped.user)} WITH ${option}`]
  return [{ code: 'NotGrantable', message: `The role of the binding cannot grant ${role}.`, statements }]
}

function findHarm(role: ReachedRole): string | undefined {
  if (role.superuser) return 'is a superuser'
  if (role.name.startsWith('pg_')) return 'is a predefined role of PostgreSQL'
  if (role.binds) return 'is the role of the binding, which puts the masks on'
  if (isTwinOwnerName(role.name)) return 'owns masked twins'
  if (isLoginMark(role.comment) || isDirectoryName(role.name))
    return 'is the login role of a person or an application'
  if (role.attributes.length > 0) return `has ${role.attributes.join(', ')}`
  if (role.owned.length > 0) return `owns masked tables: ${role.owned.slice(0, mostListed).join(', ')}`
  if (role.ownsIn.length > 0) {
    const databases = role.ownsIn.slice(0, mostListed).map(quoteIdentifier).join(', ')
    const where = 'in other databases of the server, where mappings of this one give no rights'
    return `owns something ${where}: ${databases}`
  }
  if (role.canLogin) return takenOver
  return role.isExemptElsewhere ? exemptThere : undefined
}

async function listRoles(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string; comment: string | null }[]>`
    select rolname::text as name,
      pg_catalog.left(pg_catalog.shobj_description(oid, 'pg_authid'), ${longestMark}) as comment
    from pg_catalog.pg_roles where rolname !~ '^pg_' and not rolsuper order by 1 limit ${mostNames}`
  return rows
    .filter(({ name, comment }) => !isTwinOwnerName(name) && !isDirectoryName(name) && !isLoginMark(comment))
    .map(({ name }) => name)
}
