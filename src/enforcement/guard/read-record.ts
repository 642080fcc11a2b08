import type { Sql } from '../../db/sql.ts'
import type { Snapshot } from '../catalog.ts'
import { everybody } from '../names.ts'

/** The record of what a node enforced last, and for which resource. */
export interface GuardRecord
  extends Pick<Snapshot, 'exempt' | 'exemptOids' | 'guardReaders' | 'guardedOwners'> {
  /** Differs whenever the record was rewritten with other contents. */
  readonly version: string
  /** The epoch of the turn that wrote it last. */
  readonly epoch: number
  /** The resource that the masks belong to. Null: they are older than this mark. */
  readonly owner: string | null
  /** False: this database is a copy of the one they were made in. */
  readonly madeHere: boolean
  /**
   * OIDs of the roles that own the twins of recorded tables, and the schemas of these: no other role could create there. Twins of
   * views do not count, as they belong to the owners of these.
   */
  readonly twinKeepers: readonly number[]
  /** The tables are not those that the record was written in: it came with a dump. */
  readonly isRestored: boolean
}

/** Null: there are no records. */
export async function readRecord(sql: Sql, schema: string | null): Promise<GuardRecord | null> {
  if (schema === null) return null
  // As JSON, because records that are older than the mark have no columns for it.
  const [row] = await sql<GuardRecord[]>`
    select p.exempt, pg_catalog.to_jsonb(p) -> 'exempt_oids' as "exemptOids", (${selectVersion(sql, schema)}) as version, pg_catalog.to_jsonb(p) ->> 'owner' as owner,
      coalesce((pg_catalog.to_jsonb(p) ->> 'epoch')::int8, 0) as epoch,
      coalesce(pg_catalog.to_jsonb(p) ->> 'database' = d.oid::text, false) as "madeHere",
      coalesce(pg_catalog.to_jsonb(p) ->> 'self' <> pg_catalog.to_regclass(
        pg_catalog.format('%I.relation', ${schema}::text))::oid::text, false) as "isRestored",
      coalesce((
        select jsonb_agg(jsonb_build_object('role', coalesce(r.rolname, ${everybody}), 'isWhole', not exists (
          select 1 from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relkind = 'r' and not exists (
            select 1 from pg_catalog.aclexplode(c.relacl) s where s.grantee = a.grantee and s.privilege_type = 'SELECT'))))
        from pg_catalog.aclexplode(n.nspacl) a left join pg_catalog.pg_roles r on r.oid = a.grantee
        where a.privilege_type = 'USAGE' and a.grantee <> n.nspowner and (a.grantee = 0 or r.oid is not null)),
        '[]') as "guardReaders",
      coalesce((select jsonb_agg(one) from (
        select o.rolname as owner, count(*) filter (where c.relkind in ('r', 'p', 'f')) as relations,
          bool_or(c.relkind in ('r', 'p', 'f') or g.pins <> '[]') as "isRead",
          array_remove(array_agg(distinct w.rolname::text), null) as "twinOwners" from ${sql(schema)}.relation g
        join pg_catalog.pg_class c on c.oid = g.oid join pg_catalog.pg_roles o on o.oid = c.relowner
        left join pg_catalog.pg_namespace s on s.nspname = g.twin ->> 'schema'
        left join pg_catalog.pg_class t on t.relnamespace = s.oid and t.relname = g.twin ->> 'name'
        left join pg_catalog.pg_roles w on w.oid = t.relowner group by 1) one),
        '[]') as "guardedOwners",
      coalesce((select jsonb_agg(distinct k.oid::int8) from ${sql(schema)}.relation g
        join pg_catalog.pg_class c on c.oid = g.oid and c.relkind in ('r', 'p', 'f')
        join pg_catalog.pg_namespace s on s.nspname = g.twin ->> 'schema'
        join pg_catalog.pg_class t on t.relnamespace = s.oid and t.relname = g.twin ->> 'name' and t.relkind = 'v',
        unnest(array[t.relowner, s.nspowner]) as k(oid)), '[]') as "twinKeepers"
    from ${sql(schema)}.policy p, pg_catalog.pg_namespace n, pg_catalog.pg_database d
    where n.nspname = ${schema} and d.datname = current_database()`
  return row ?? null
}

/** The version of the record alone; empty: there are no records. */
export async function readRecordVersion(sql: Sql, schema: string | null): Promise<string> {
  if (schema === null) return ''
  const [row] = await sql<{ version: string }[]>`
    select (${selectVersion(sql, schema)}) as version from ${sql(schema)}.policy p`
  return row?.version ?? ''
}

function selectVersion(sql: Sql, schema: string) {
  return sql`select concat_ws('/', count(*), sum(oid::int8), sum(extract(epoch from updated_at)), p.exempt::text)
    from ${sql(schema)}.relation`
}
