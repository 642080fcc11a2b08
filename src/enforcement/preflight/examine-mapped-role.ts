import { longestMark } from '../../db/login-mark.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { isDirectoryName } from '../../kernel/uuid.ts'
import { isLoginMark, isTwinOwnerName } from '../names.ts'
import type { Target } from '../policy.ts'
import type { IsExemptElsewhere } from './exempt-elsewhere.ts'
import { findOwned } from './find-owned-tables.ts'
import type { Finding } from './finding.ts'

/** A role of the database, examined before a mapping gives it to principals. */
export interface RoleExamination {
  readonly exists: boolean
  /** If it does not exist: roles with similar names. */
  readonly others: readonly string[]
  /** Reasons why the role must not, or cannot, be granted. */
  readonly objections: readonly Finding[]
}

interface Reached {
  readonly oid: number
  readonly name: string
  readonly superuser: boolean
  readonly replication: boolean
  readonly bypassRowSecurity: boolean
  readonly createRole: boolean
  readonly createDatabase: boolean
  readonly canLogin: boolean
  readonly comment: string | null
  /** It is the role of the binding. */
  readonly binds: boolean
  /** The role of the binding has its rights, or can take them, for another reason than to give it away. */
  readonly actedAs: boolean
  /** It owns tables, or the like, here. */
  readonly ownsRelations: boolean
  /** Other databases of the server where it owns something, or which it owns. */
  readonly ownsIn: readonly string[]
}

interface Standing {
  readonly user: string
  readonly versionNumber: number
  readonly mayGrant: boolean
}

const mostNames = 2000
const mostListed = 3

const takenOver =
  'has LOGIN, and a person who gets it could set its password and come back as it (map a role with NOLOGIN that has the rights)'

const exemptThere =
  'is exempt from the masks of another database of the server, and a person who gets it could connect to that (map a role that no other database exempts)'

/**
 * Whether a database role can be given to people of the directory. It, and whatever it is a member of, must open no way
 * around the masks, to more rights, or into other databases. Tables: those that rules name. Roles belong to the server: what
 * one database exempts, people with login roles of another must not get.
 */
export async function examineMappedRole(
  sql: Sql,
  role: string,
  tables: readonly Target[],
  isExemptElsewhere: IsExemptElsewhere,
): Promise<RoleExamination> {
  const reached = await readReached(sql, role)
  if (reached.length === 0) return { exists: false, others: await listRoles(sql), objections: [] }
  const owners = reached.filter(({ ownsRelations }) => ownsRelations).map(({ oid }) => oid)
  const owned = owners.length === 0 ? undefined : await findOwned(sql, owners, tables)
  const harms = reached.flatMap((each) => {
    const harm =
      findHarm(each, owned?.get(each.oid) ?? []) ?? (isExemptElsewhere(each) ? exemptThere : undefined)
    return harm === undefined ? [] : [objectTo(role, each.name, harm)]
  })
  const objections = harms.length > 0 ? harms : checkGrant(role, await readStanding(sql, role))
  return { exists: true, others: [], objections }
}

/** The role itself first, then every role that it is a member of, at any depth. */
async function readReached(sql: Sql, role: string): Promise<Reached[]> {
  return await sql<Reached[]>`
    with recursive reached (oid) as (
      select oid from pg_catalog.pg_roles where rolname = ${role}::text::name
      union
      select m.roleid from reached join pg_catalog.pg_auth_members m on m.member = reached.oid
    ), acted (oid) as (
      select oid from pg_catalog.pg_roles where rolname = current_user
      union
      -- Before PostgreSQL 16 every membership can be taken on.
      select m.roleid from acted join pg_catalog.pg_auth_members m on m.member = acted.oid
      where coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, true) or (to_jsonb(m) ->> 'set_option')::boolean
    ), owned as (
      select d.refobjid as owner, d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass as isRelation, h.oid as here,
        case when d.classid = 'pg_catalog.pg_database'::pg_catalog.regclass then d.objid else d.dbid end as place
      from pg_catalog.pg_shdepend d, pg_catalog.pg_database h
      where h.datname = current_database() and d.deptype = 'o' and d.refobjid in (select oid from reached)
        and d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass
    )
    select r.oid::int8 as oid, r.rolname::text as name, r.rolsuper as superuser, r.rolreplication as replication,
      r.rolbypassrls as "bypassRowSecurity", r.rolcreaterole as "createRole", r.rolcreatedb as "createDatabase",
      r.rolcanlogin as "canLogin",
      pg_catalog.left(pg_catalog.shobj_description(r.oid, 'pg_authid'), ${longestMark}) as comment, r.rolname = current_user as binds,
      r.oid in (select oid from acted) and not exists (
        select 1 from pg_catalog.pg_auth_members m join pg_catalog.pg_roles b on b.oid = m.member
        where m.roleid = r.oid and b.rolname = current_user and m.admin_option) as "actedAs",
      exists (select 1 from owned o where o.owner = r.oid and o.isRelation and o.place = o.here) as "ownsRelations",
      array(select distinct b.datname::text from owned o join pg_catalog.pg_database b on b.oid = o.place
        where o.owner = r.oid and o.place <> o.here order by 1) as "ownsIn"
    from reached join pg_catalog.pg_roles r on r.oid = reached.oid order by r.rolname <> ${role}::text::name, 1`
}

function findHarm(role: Reached, owned: readonly string[]): string | undefined {
  if (role.superuser) return 'is a superuser'
  if (role.name.startsWith('pg_')) return 'is a predefined role of PostgreSQL'
  if (role.binds) return 'is the role of the binding, which puts the masks on'
  if (isTwinOwnerName(role.name)) return 'owns masked twins'
  if (isLoginMark(role.comment) || isDirectoryName(role.name))
    return 'is the login role of a person or an application'
  const attributes = [
    role.replication ? 'REPLICATION' : '',
    role.bypassRowSecurity ? 'BYPASSRLS' : '',
    role.createRole ? 'CREATEROLE' : '',
    role.createDatabase ? 'CREATEDB' : '',
  ].filter(Boolean)
  if (attributes.length > 0) return `has ${attributes.join(', ')}`
  if (owned.length > 0) return `owns masked tables: ${owned.slice(0, mostListed).join(', ')}`
  if (role.ownsIn.length > 0)
    return `owns something in other databases of the server, where mappings of this one give no rights: ${role.ownsIn.slice(0, mostListed).map(quoteIdentifier).join(', ')}`
  if (role.actedAs) return 'is a role that the role of the binding acts as'
  return role.canLogin ? takenOver : undefined
}

function objectTo(role: string, holder: string, harm: string): Finding {
  const way = holder === role ? '' : `is a member of ${quoteIdentifier(holder)}, which `
  return {
    code: 'HarmfulRole',
    message: `${quoteIdentifier(role)} ${way}${harm}: it cannot be mapped.`,
    statements: [],
  }
}

async function readStanding(sql: Sql, role: string): Promise<Standing> {
  const [standing] = await sql<Standing[]>`
    with recursive facts as (
      select oid, rolname, rolsuper, rolcreaterole, current_setting('server_version_num')::int as version
      from pg_catalog.pg_roles where rolname = current_user
    ), inherited (oid) as (
      select oid from facts
      union
      select m.roleid from inherited join pg_catalog.pg_auth_members m on m.member = inherited.oid
      where (to_jsonb(m) ->> 'inherit_option')::boolean
    )
    select facts.rolname::text as "user", facts.version as "versionNumber", facts.rolsuper
      or case when facts.version < 160000 then facts.rolcreaterole
          or pg_catalog.pg_has_role(facts.oid, r.oid, 'MEMBER WITH ADMIN OPTION')
        else exists (select 1 from pg_catalog.pg_auth_members m
          where m.roleid = r.oid and m.admin_option and m.member in (select oid from inherited))
        end as "mayGrant"
    from facts, pg_catalog.pg_roles r where r.rolname = ${role}::text::name`
  if (!standing) throw new Error('the role was dropped meanwhile')
  return standing
}

function checkGrant(role: string, { user, versionNumber, mayGrant }: Standing): Finding[] {
  if (mayGrant) return []
  const option = versionNumber >= 160000 ? 'ADMIN TRUE, INHERIT FALSE, SET FALSE' : 'ADMIN OPTION'
  return [
    {
      code: 'NotGrantable',
      message: `The role of the binding cannot grant ${quoteIdentifier(role)}.`,
      statements: [`GRANT ${quoteIdentifier(role)} TO ${quoteIdentifier(user)} WITH ${option}`],
    },
  ]
}

async function listRoles(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string; comment: string | null }[]>`
    select rolname::text as name, pg_catalog.left(pg_catalog.shobj_description(oid, 'pg_authid'), ${longestMark}) as comment
    from pg_catalog.pg_roles where rolname !~ '^pg_' and not rolsuper order by 1 limit ${mostNames}`
  return rows
    .filter(({ name, comment }) => !isTwinOwnerName(name) && !isDirectoryName(name) && !isLoginMark(comment))
    .map(({ name }) => name)
}
