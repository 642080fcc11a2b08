import type { Sql } from '../../db/sql.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import type { Snapshot } from '../catalog.ts'
import { everybody } from '../names.ts'
import { findGuard } from './find-guard.ts'

/** The record of what a node enforced last, and for which resource. */
export interface GuardRecord
  extends Pick<Snapshot, 'exempt' | 'exemptOids' | 'adminOids' | 'guardReaders' | 'guardedOwners'> {
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
    with held as materialized (
      -- Few rows for very many relations.
      select c.relowner as owner, c.relkind in ('r', 'p', 'f') as is_table, pg_catalog.jsonb_path_exists(g.pins, '$[*] ? (@.number > 0)') as is_pinned,
        t.relowner as twin_owner, s.nspowner as schema_owner, t.relkind = 'v' as is_view, count(*) as relations
      from (select oid, pins, twin ->> 'schema' as schema, twin ->> 'name' as name from ${sql(schema)}.relation) g
      join pg_catalog.pg_class c on c.oid = g.oid left join pg_catalog.pg_namespace s on s.nspname = g.schema
      left join pg_catalog.pg_class t on t.relnamespace = s.oid and t.relname = g.name group by 1, 2, 3, 4, 5, 6
    )
    select p.exempt, pg_catalog.to_jsonb(p) -> 'exempt_oids' as "exemptOids",
      coalesce(pg_catalog.to_jsonb(p) -> 'admin_oids', '[]') as "adminOids", (${selectVersion(sql, schema)}) as version, pg_catalog.to_jsonb(p) ->> 'owner' as owner,
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
        select o.rolname as owner, coalesce(sum(h.relations) filter (where h.is_table), 0) as relations,
          bool_or(h.is_table or h.is_pinned) as "isRead",
          array_remove(array_agg(distinct w.rolname::text), null) as "twinOwners" from held h
        join pg_catalog.pg_roles o on o.oid = h.owner left join pg_catalog.pg_roles w on w.oid = h.twin_owner group by 1) one),
        '[]') as "guardedOwners",
      coalesce((select jsonb_agg(distinct k.oid::int8) from held h, unnest(array[h.twin_owner, h.schema_owner]) as k(oid)
        where h.is_table and h.is_view), '[]') as "twinKeepers"
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

/**
 * Another text after every change of masks: a turn raises the epoch in the transaction of its change. The version is for nodes of 0.1,
 * which raise none; the OID is for records that were removed and made again, with epochs from the beginning. Empty: there are no records.
 */
export async function readLastChange(sql: Sql): Promise<string> {
  const schema = await findGuard(sql)
  if (schema === null) return ''
  const [row] = await sql<{ change: string }[]>`
    select concat_ws(' ', n.oid, coalesce(pg_catalog.to_jsonb(p) ->> 'epoch', '0'), (${selectVersion(sql, schema)})) as change
    from ${sql(schema)}.policy p, pg_catalog.pg_namespace n where n.nspname = ${schema}`.catch(
    (error: unknown) => {
      // The last mask was removed since.
      if (codeOf(error) === sqlstate.undefinedTable) return []
      throw error
    },
  )
  return row?.change ?? ''
}

function selectVersion(sql: Sql, schema: string) {
  return sql`select concat_ws('/', count(*), sum(oid::int8), sum(extract(epoch from updated_at)), p.exempt::text)
    from ${sql(schema)}.relation`
}
