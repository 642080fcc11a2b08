import type { Sql } from '../../db/sql.ts'

/** The facts that decide how the owner of the twins can be dropped. */
export interface Departure {
  /** Objects of other roles read a twin: the twins stay, and their owner with its privileges. */
  readonly hasKeptTwins: boolean
  /** Schemas and types of others that the owner may use, as REVOKE names them: `SCHEMA sales`, `TYPE sales.mood`. */
  readonly opened: readonly string[]
}

/**
 * DROP OWNED BY revokes no more than its session could: as the owner of the twins nothing that others granted, and as a
 * role of the binding that does not inherit from it (PostgreSQL 16 and later) it is refused.
 */
export async function readDeparture(sql: Sql, twinOwner: string): Promise<Departure> {
  const [row] = await sql<Departure[]>`
    with owner as materialized (
      select oid from pg_catalog.pg_roles where rolname = ${twinOwner}
    )
    select exists (select 1 from pg_catalog.pg_namespace n
        join pg_catalog.pg_class t on t.relnamespace = n.oid
        join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = t.oid and d.deptype = 'n'
        left join pg_catalog.pg_rewrite w on w.oid = d.objid and d.classid = 'pg_catalog.pg_rewrite'::regclass
        left join pg_catalog.pg_class c on c.oid = w.ev_class
        where n.nspowner = (select oid from owner)
          and (c.oid is null or (c.relnamespace <> n.oid and c.relowner <> n.nspowner))) as "hasKeptTwins",
      array(
        select 'SCHEMA ' || pg_catalog.quote_ident(n.nspname) from pg_catalog.pg_namespace n
        where n.nspowner <> (select oid from owner)
          and exists (select 1 from pg_catalog.aclexplode(n.nspacl) a where a.grantee = (select oid from owner))
        union all
        select pg_catalog.format('TYPE %I.%I', n.nspname, t.typname) from pg_catalog.pg_type t
        join pg_catalog.pg_namespace n on n.oid = t.typnamespace
        where t.typacl is not null and t.typowner <> (select oid from owner)
          and exists (select 1 from pg_catalog.aclexplode(t.typacl) a where a.grantee = (select oid from owner))
        order by 1) as opened`
  if (!row) throw new Error('the server did not answer')
  return row
}
