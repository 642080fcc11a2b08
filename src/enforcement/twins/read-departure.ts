import type { Sql } from '../../db/sql.ts'
import { shadowPrefix } from '../names.ts'

/** A role that owned twins. */
export interface Departing {
  readonly role: string
  /** It owns something in the database, or was granted something there. */
  readonly isHere: boolean
  /** It owns more in the database than schemas of twins, and twins: it may be another role that got the name. */
  readonly ownsOthers: boolean
  /** Schemas of twins that it owns, quoted. */
  readonly schemas: readonly string[]
  /** The number of twins that it owns. */
  readonly twins: number
  /** Schemas and types of others that it may use, as REVOKE names them: `SCHEMA sales`, `TYPE sales.mood`. */
  readonly opened: readonly string[]
  /** Relations of others that it may read, quoted, each with its owner: a twin that stayed read them. */
  readonly read: readonly { readonly name: string; readonly owner: string }[]
  /** Schemas of twins that it may create in, quoted. */
  readonly makesIn: readonly string[]
}

/** SQL: true where the role `r` owns more in the database than schemas of twins, and views in these. */
export function ownsOthers(sql: Sql) {
  const shadow = sql`select oid from pg_catalog.pg_namespace where pg_catalog.starts_with(nspname, ${shadowPrefix})`
  return sql`exists (select 1 from pg_catalog.pg_shdepend d
    where d.refclassid = 'pg_catalog.pg_authid'::regclass and d.refobjid = r.oid and d.deptype = 'o'
      and d.dbid = (select oid from pg_catalog.pg_database where datname = current_database())
      and not (d.classid = 'pg_catalog.pg_namespace'::regclass and d.objid in (${shadow}))
      and not (d.classid = 'pg_catalog.pg_class'::regclass and exists (select 1 from pg_catalog.pg_class t
        where t.oid = d.objid and t.relkind = 'v' and t.relnamespace in (${shadow}))))`
}

/** The facts that decide how owners of twins can be dropped. */
export interface Departure {
  /** Objects of other roles read a twin: the twins stay, and their owners with their privileges. */
  readonly hasKeptTwins: boolean
  readonly roles: readonly Departing[]
}

/**
 * `home`: the role that owns the schemas of the twins. DROP OWNED BY revokes no more than its session could: as an owner of
 * twins nothing that others granted, and as a role of the binding that does not inherit from it (PostgreSQL 16 and later) it
 * is refused.
 */
export async function readDeparture(sql: Sql, home: string, roles: readonly string[]): Promise<Departure> {
  const [row] = await sql<Departure[]>`
    with home as materialized (
      select n.oid from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner where r.rolname = ${home}
    ), leaving as materialized (
      select oid, rolname from pg_catalog.pg_roles where rolname = any(${roles}::text[])
    )
    select exists (select 1 from home n
        join pg_catalog.pg_class t on t.relnamespace = n.oid
        join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = t.oid and d.deptype = 'n'
        left join pg_catalog.pg_rewrite w on w.oid = d.objid and d.classid = 'pg_catalog.pg_rewrite'::regclass
        left join pg_catalog.pg_class c on c.oid = w.ev_class
        where c.oid is null or c.relnamespace not in (select oid from home)) as "hasKeptTwins",
      coalesce((select jsonb_agg(jsonb_build_object('role', r.rolname,
        'isHere', exists (select 1 from pg_catalog.pg_shdepend d
          where d.refclassid = 'pg_catalog.pg_authid'::regclass and d.refobjid = r.oid
            and d.dbid = (select oid from pg_catalog.pg_database where datname = current_database())),
        'ownsOthers', ${ownsOthers(sql)},
        'schemas', array(select pg_catalog.quote_ident(n.nspname) from pg_catalog.pg_namespace n
          where n.nspowner = r.oid and pg_catalog.starts_with(n.nspname, ${shadowPrefix}) order by 1),
        'twins', (select count(*) from pg_catalog.pg_class t where t.relowner = r.oid and t.relnamespace in (select oid from home)),
        'makesIn', array(
          select pg_catalog.quote_ident(n.nspname) from pg_catalog.pg_namespace n
          where n.oid in (select oid from home) and n.nspowner <> r.oid
            and exists (select 1 from pg_catalog.aclexplode(n.nspacl) a where a.grantee = r.oid) order by 1),
        'read', coalesce((select jsonb_agg(jsonb_build_object('name', pg_catalog.format('%I.%I', n.nspname, t.relname), 'owner', o.rolname)
            order by t.oid)
          from pg_catalog.pg_shdepend d join pg_catalog.pg_class t on t.oid = d.objid and t.relowner <> r.oid
          join pg_catalog.pg_namespace n on n.oid = t.relnamespace join pg_catalog.pg_roles o on o.oid = t.relowner
          where d.refclassid = 'pg_catalog.pg_authid'::regclass and d.refobjid = r.oid and d.deptype = 'a'
            and d.classid = 'pg_catalog.pg_class'::regclass and d.objsubid = 0
            and d.dbid = (select oid from pg_catalog.pg_database where datname = current_database())), '[]'),
        'opened', array(
          select 'SCHEMA ' || pg_catalog.quote_ident(n.nspname) from pg_catalog.pg_namespace n
          where n.nspowner <> r.oid and n.oid not in (select oid from home)
            and exists (select 1 from pg_catalog.aclexplode(n.nspacl) a where a.grantee = r.oid)
          union all
          select pg_catalog.format('TYPE %I.%I', n.nspname, t.typname) from pg_catalog.pg_type t
          join pg_catalog.pg_namespace n on n.oid = t.typnamespace
          where t.typacl is not null and t.typowner <> r.oid
            and exists (select 1 from pg_catalog.aclexplode(t.typacl) a where a.grantee = r.oid)
          order by 1)) order by r.rolname) from leaving r), '[]') as roles`
  if (!row) throw new Error('the server did not answer')
  return row
}
