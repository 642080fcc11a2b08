import type { Leftover } from '../contracts/leftover.ts'
import type { Database } from '../db/database.ts'
import { markPrefix } from '../db/login-mark.ts'
import { quoteIdentifier } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'
import { driftTrigger, shadowPrefix, twinOwnerPrefix } from '../masks/names.ts'
import { selectGuard } from '../masks/read/guard.ts'

type FoundLeftover = Omit<Leftover, 'statement'> & {
  /** A role owns more than twins, or a schema has more. */
  readonly hasOthers: boolean
}

/** Everything of ours in the database: what a restore removes, and what it could not remove. */
export async function findLeftovers(sql: Sql, databaseId: string): Promise<Leftover[]> {
  // By the OID of the database; and roles of earlier releases, which own or read something here.
  const owners = sql`
    select r.oid from pg_catalog.pg_roles r, pg_catalog.pg_database b where b.datname = current_database()
      and pg_catalog.starts_with(r.rolname::text, ${twinOwnerPrefix})
      and (pg_catalog.starts_with(r.rolname::text, ${twinOwnerPrefix} || b.oid || '_') or exists (
        select from pg_catalog.pg_shdepend d
        where d.refclassid = 'pg_catalog.pg_authid'::regclass and d.refobjid = r.oid and d.dbid = b.oid))`
  const twins = sql`
    select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace s on s.oid = c.relnamespace
    where c.relkind = 'v' and pg_catalog.starts_with(s.nspname::text, ${shadowPrefix}) and c.relowner in (${owners})`
  const rows = await sql<FoundLeftover[]>`
    select 'schema' as kind, n.nspname::text as name, false as "isHarmless", false as "hasOthers"
    from pg_catalog.pg_namespace n where n.oid in (select oid from (${selectGuard(sql)}) g)
    union all
    select 'schema', n.nspname::text, false, exists (
      select from pg_catalog.pg_class c where c.relnamespace = n.oid and c.oid not in (${twins}))
    from pg_catalog.pg_namespace n
    where pg_catalog.starts_with(n.nspname::text, ${shadowPrefix})
      and n.oid not in (select oid from (${selectGuard(sql)}) g)
      and (n.nspowner in (${owners}) or n.oid in (select relnamespace from pg_catalog.pg_class where oid in (${twins})))
    union all
    select 'event trigger', evtname::text, false, false from pg_catalog.pg_event_trigger
    where evtname = ${driftTrigger}
    union all
    select 'role', r.rolname::text, not exists (select 1 from pg_catalog.pg_shdepend d
      where d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and d.refobjid = r.oid
        and d.dbid in (0, (select oid from pg_catalog.pg_database where datname = current_database()))),
      ${ownsOthers(sql)} from pg_catalog.pg_roles r where r.oid in (${owners})
    union all
    select 'login role', r.rolname::text, false, ${ownsOthers(sql)} from pg_catalog.pg_roles r
    where pg_catalog.starts_with(pg_catalog.shobj_description(r.oid, 'pg_authid'), ${markPrefix(databaseId)})
    order by 1, 2`
  return rows.map(({ hasOthers, ...row }) => ({ ...row, statement: describeRemoval(row, hasOthers) }))
}

/** SQL: true where the role `r` owns more in the database than schemas of twins, and views in these. */
function ownsOthers(sql: Sql) {
  const shadow = sql`select oid from pg_catalog.pg_namespace where pg_catalog.starts_with(nspname, ${shadowPrefix})`
  return sql`exists (select 1 from pg_catalog.pg_shdepend d
    where d.refclassid = 'pg_catalog.pg_authid'::regclass and d.refobjid = r.oid and d.deptype = 'o'
      and d.dbid = (select oid from pg_catalog.pg_database where datname = current_database())
      and not (d.classid = 'pg_catalog.pg_namespace'::regclass and d.objid in (${shadow}))
      and not (d.classid = 'pg_catalog.pg_class'::regclass and exists (select 1 from pg_catalog.pg_class t
        where t.oid = d.objid and t.relkind = 'v' and t.relnamespace in (${shadow}))))`
}

/**
 * PostgreSQL refuses to drop a role that owns more than twins, or a schema that has more, and says what: any role with
 * CREATEROLE can name one of its own like ours.
 */
function describeRemoval({ kind, name }: Omit<Leftover, 'statement'>, hasOthers: boolean): string {
  const quoted = quoteIdentifier(name)
  if (kind === 'schema') return `DROP SCHEMA ${quoted}${hasOthers ? '' : ' CASCADE'}`
  if (kind === 'event trigger') return `DROP EVENT TRIGGER ${quoted}`
  if (hasOthers) return `DROP ROLE ${quoted}`
  return `DROP OWNED BY ${quoted}; DROP ROLE ${quoted}`
}

/** Everything of ours in the database and on its server. */
export async function listLeftovers(
  controller: { connect(databaseId: string): Promise<Database | null> },
  databaseId: string,
): Promise<readonly Leftover[]> {
  const database = await controller.connect(databaseId)
  return database ? findLeftovers(database.sql, databaseId) : []
}
