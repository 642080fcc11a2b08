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

/**
 * Everything of ours in the database: what a restore removes, and what it could not remove. A role has the form of our
 * names and owns twins; or it has the name of one for this database, owns nothing here, and no other role has ADMIN on
 * it.
 */
export async function findLeftovers(sql: Sql, databaseId: string): Promise<Leftover[]> {
  const rows = await sql<FoundLeftover[]>`
    with here as materialized (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()
    ), guard as (${selectGuard(sql)}
    ), shadow as materialized (
      select oid, nspname, nspowner from pg_catalog.pg_namespace
      where pg_catalog.starts_with(nspname::text, ${shadowPrefix}) and oid not in (select oid from guard)
    ), view as materialized (
      select c.oid, c.relnamespace, c.relowner from pg_catalog.pg_class c join shadow s on s.oid = c.relnamespace
      where c.relkind = 'v'
    ), holding as materialized (
      select r.oid, d.deptype = 'o' and d.dbid <> 0 and (d.classid, d.objid) not in (
        select 'pg_catalog.pg_namespace'::regclass, oid from shadow
        union select 'pg_catalog.pg_class'::regclass, oid from view) as is_other
      from pg_catalog.pg_roles r join pg_catalog.pg_shdepend d on d.refobjid = r.oid
        and d.refclassid = 'pg_catalog.pg_authid'::regclass and d.dbid in (0, (select oid from here))
    ), owner as materialized (
      select r.oid, r.rolname from pg_catalog.pg_roles r, here h
      where pg_catalog.starts_with(r.rolname::text, ${twinOwnerPrefix}) and (
        r.oid in (select nspowner from shadow union select relowner from view)
        or r.rolname::text ~ pg_catalog.concat('^', ${twinOwnerPrefix}::text, h.oid, '_[0-9]+$')
          and r.oid not in (select oid from holding where is_other)
          and not exists (select from pg_catalog.pg_auth_members m join pg_catalog.pg_roles o on o.oid = m.member
            where m.roleid = r.oid and o.rolname <> current_user))
    ), twin as (select oid, relnamespace from view where relowner in (select oid from owner))
    select 'schema' as kind, n.nspname::text as name, false as "isHarmless", false as "hasOthers"
    from pg_catalog.pg_namespace n where n.oid in (select oid from guard)
    union all
    select 'schema', s.nspname::text, false, exists (
      select from pg_catalog.pg_class c where c.relnamespace = s.oid and c.oid not in (select oid from twin))
    from shadow s where s.nspowner in (select oid from owner) or s.oid in (select relnamespace from twin)
    union all
    select 'event trigger', evtname::text, false, false from pg_catalog.pg_event_trigger where evtname = ${driftTrigger}
    union all
    select 'role', rolname::text, oid not in (select oid from holding), oid in (select oid from holding where is_other)
    from owner
    union all
    select 'login role', rolname::text, false, oid in (select oid from holding where is_other) from pg_catalog.pg_roles
    where pg_catalog.starts_with(pg_catalog.shobj_description(oid, 'pg_authid'), ${markPrefix(databaseId)})
    order by 1, 2`
  return rows.map(({ hasOthers, ...row }) => ({ ...row, statement: describeRemoval(row, hasOthers) }))
}

/**
 * PostgreSQL refuses to drop a role that owns more than twins, or a schema that has more, and says what: any role with
 * CREATEROLE can name one of its own like ours.
 */
function describeRemoval({ kind, name }: Omit<Leftover, 'statement'>, hasOthers: boolean): string {
  const quoted = quoteIdentifier(name)
  if (kind === 'schema') return `DROP SCHEMA ${quoted}${hasOthers ? '' : ' CASCADE'}`
  if (kind === 'event trigger') return `DROP EVENT TRIGGER ${quoted}`
  return hasOthers ? `DROP ROLE ${quoted}` : `DROP OWNED BY ${quoted}; DROP ROLE ${quoted}`
}

/** Everything of ours in the database and on its server. */
export async function listLeftovers(
  controller: { connect(databaseId: string): Promise<Database | null> },
  databaseId: string,
): Promise<readonly Leftover[]> {
  const database = await controller.connect(databaseId)
  return database ? findLeftovers(database.sql, databaseId) : []
}
