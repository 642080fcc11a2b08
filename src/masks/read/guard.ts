import type { Sql } from '../../db/sql.ts'
import type { Header, MaskRecord, Oid, TwinOwner } from '../model.ts'
import { guardSchema } from '../names.ts'

/** Columns of earlier releases come as JSON: they may be missing. */
export async function readHeader(sql: Sql, schema: string): Promise<Header | null> {
  const [row] = await sql<Header[]>`
    select p.exempt, pg_catalog.to_jsonb(p) -> 'exempt_oids' as "exemptOids",
      n.oid || '/' || coalesce(pg_catalog.to_jsonb(p) ->> 'epoch', '0') as version,
      pg_catalog.to_jsonb(p) ->> 'owner' as owner,
      coalesce(pg_catalog.to_jsonb(p) ->> 'database' = d.oid::text, false) as "madeHere",
      coalesce(pg_catalog.to_jsonb(p) ->> 'self' <> pg_catalog.to_regclass(
        pg_catalog.format('%I.relation', ${schema}::text))::oid::text, false) as "isRestored",
      coalesce(pg_catalog.to_jsonb(p) -> 'open', '[]') as open,
      array(select distinct a.grantee::int8 from pg_catalog.aclexplode(n.nspacl) a
        where a.privilege_type = 'USAGE' and a.grantee <> n.nspowner order by 1) as readers
    from ${sql(schema)}.policy p, pg_catalog.pg_namespace n, pg_catalog.pg_database d
    where n.nspname = ${schema} and d.datname = current_database()`
  return row ?? null
}

/** Records of these relations; null: of all. */
export async function readRecords(
  sql: Sql,
  schema: string,
  oids: readonly Oid[] | null,
): Promise<Omit<MaskRecord, 'made'>[]> {
  const some = oids === null ? sql`` : sql`where oid = any(${[...oids]}::oid[])`
  const rows = await sql<Omit<MaskRecord, 'made'>[]>`
    select oid::int8 as oid, before, granted, pins, twin_oid::int8 as twin, basis, twin_rule as rule,
      twin_oid is null and basis is not null and updated_at > now() - interval '10 minutes' as "isRefused",
      coalesce(opened_at >= updated_at, false) as "isOpened"
    from ${sql(schema)}.relation ${some}`
  return rows.map(({ pins, ...row }) => ({ ...row, pins: pins.filter(({ number }) => number > 0) }))
}

export async function readTwinOwners(sql: Sql, schema: string): Promise<TwinOwner[]> {
  return await sql<TwinOwner[]>`
    select o.served::int8 as served, r.oid::int8 as role, r.rolname::text as name
    from ${sql(schema)}.twin_owner o join pg_catalog.pg_roles r on r.oid = o.role`
}

/**
 * Selects the schema of our records. Any role that may create schemas can take its name first, so a schema of another
 * role is not ours, whatever its name: ours belongs to the role of the binding or to a superuser.
 */
export function selectGuard(sql: Sql) {
  return sql`
    select n.oid, n.nspname, n.nspowner from pg_catalog.pg_namespace n
    join pg_catalog.pg_roles o on o.oid = n.nspowner and (o.rolname = current_user or o.rolsuper)
    where pg_catalog.starts_with(n.nspname, ${guardSchema}) and exists (
      select from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relname = 'relation')
    order by n.oid limit 1`
}

/** Null: the database has no records of ours, or none that the role of the binding may read. */
export async function findGuard(sql: Sql): Promise<string | null> {
  const [row] = await sql<{ schema: string }[]>`
    select g.nspname::text as schema from (${selectGuard(sql)}) g
    join pg_catalog.pg_class c on c.relnamespace = g.oid and c.relname = 'policy'
    where pg_catalog.has_schema_privilege(g.oid, 'USAGE') and pg_catalog.has_table_privilege(c.oid, 'SELECT')`
  return row?.schema ?? null
}

/** Tables and roles are recorded by OID, which another server gives to others. */
export async function readPlace(sql: Sql): Promise<string> {
  const [row] = await sql<{ place: string }[]>`
    select pg_catalog.concat_ws('/', (select system_identifier from pg_catalog.pg_control_system()), oid) as place
    from pg_catalog.pg_database where datname = current_database()`
  return row?.place ?? ''
}
