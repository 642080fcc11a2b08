import type { Query } from '../../db/query.ts'
import { nearestNames } from './nearest-names.ts'

export interface ColumnName {
  readonly schemaName: string
  readonly tableName: string
  readonly columnName: string
}

export interface ColumnType {
  /** As PostgreSQL writes it, for messages. */
  readonly shown: string
  /** Name of the type, for a domain of the one below it. */
  readonly name: string
  /** `pg_type.typcategory`: S for strings, N for numbers. */
  readonly category: string
  /** Type modifier; -1: none. */
  readonly modifier: number
}

export type CatalogColumn =
  | { readonly type: ColumnType }
  | { readonly missing: keyof ColumnName; readonly nearest: readonly string[] }
  | { readonly unmaskable: 'schemaName' | 'tableName'; readonly reason: string }

interface Found {
  readonly kind: string | null
  readonly shown: string | null
  readonly name: string | null
  readonly category: string | null
  readonly modifier: number | null
}

const mostNames = 2000

/** Looks the column up in the catalog, which every role may read. The names have at most 63 bytes each. */
export async function findColumn(sql: Query, column: ColumnName): Promise<CatalogColumn> {
  const { schemaName, tableName, columnName } = column
  if (/^pg_/.test(schemaName) || schemaName === 'information_schema')
    return { unmaskable: 'schemaName', reason: 'is a schema of PostgreSQL itself, which cannot be masked' }
  const [found] = await sql<Found[]>`
    with recursive base (oid, modifier) as (
      select a.atttypid, a.atttypmod from pg_catalog.pg_attribute a
      join pg_catalog.pg_class c on c.oid = a.attrelid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${schemaName}::text::name and c.relname = ${tableName}::text::name
        and a.attname = ${columnName}::text::name and a.attnum > 0 and not a.attisdropped
      union all
      select t.typbasetype, case when base.modifier = -1 then t.typtypmod else base.modifier end
      from base join pg_catalog.pg_type t on t.oid = base.oid where t.typtype = 'd'
    )
    select c.relkind::text as kind,
      (select pg_catalog.format_type(a.atttypid, a.atttypmod) from pg_catalog.pg_attribute a where a.attrelid = c.oid
        and a.attname = ${columnName}::text::name and a.attnum > 0 and not a.attisdropped) as shown,
      t.typname::text as name, t.typcategory::text as category, base.modifier
    from pg_catalog.pg_namespace n
    left join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = ${tableName}::text::name
      and c.relkind in ('r', 'p', 'f', 'v', 'm')
    left join (base join pg_catalog.pg_type t on t.oid = base.oid and t.typtype <> 'd') on c.oid is not null
    where n.nspname = ${schemaName}::text::name`
  if (!found) return { missing: 'schemaName', nearest: nearestNames(schemaName, await listSchemas(sql)) }
  if (found.kind === null)
    return { missing: 'tableName', nearest: nearestNames(tableName, await listTables(sql, schemaName)) }
  if (found.kind === 'v' || found.kind === 'm')
    return { unmaskable: 'tableName', reason: 'is a view: mask the columns of the tables under it' }
  if (found.shown === null)
    return { missing: 'columnName', nearest: nearestNames(columnName, await listColumns(sql, column)) }
  const { shown, name, category, modifier } = found
  return { type: { shown, name: name ?? '', category: category ?? '', modifier: modifier ?? -1 } }
}

async function listSchemas(sql: Query): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select nspname::text as name from pg_catalog.pg_namespace
    where nspname !~ '^pg_' and nspname <> 'information_schema' limit ${mostNames}`
  return rows.map(({ name }) => name)
}

async function listTables(sql: Query, schemaName: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select c.relname::text as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schemaName}::text::name and c.relkind in ('r', 'p', 'f') limit ${mostNames}`
  return rows.map(({ name }) => name)
}

async function listColumns(sql: Query, { schemaName, tableName }: ColumnName): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select a.attname::text as name from pg_catalog.pg_attribute a
    join pg_catalog.pg_class c on c.oid = a.attrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schemaName}::text::name and c.relname = ${tableName}::text::name
      and a.attnum > 0 and not a.attisdropped`
  return rows.map(({ name }) => name)
}
