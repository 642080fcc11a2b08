import type { Query } from '../../db/query.ts'
import { nearestNames } from '../../kernel/nearest-names.ts'

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
  readonly hasSchema: boolean
  readonly kind: string | null
  readonly shown: string | null
  readonly name: string | null
  readonly category: string | null
  readonly modifier: number | null
}

const mostNames = 2000

/** Looking for names that were meant costs a statement each. */
const mostHints = 20

/** Looks columns up in the catalog, which every role may read, in one statement. The names have at most 63 bytes each. */
export async function findColumns(sql: Query, columns: readonly ColumnName[]): Promise<CatalogColumn[]> {
  const of = (field: keyof ColumnName) => columns.map((column) => column[field])
  const found = await sql<Found[]>`
    with recursive wanted as (
      select w.at, n.oid is not null as "hasSchema", c.oid as relation, c.relkind::text as kind, a.atttypid, a.atttypmod
      from unnest(${of('schemaName')}::text[], ${of('tableName')}::text[], ${of('columnName')}::text[])
        with ordinality as w(schema, relation, attribute, at)
      left join pg_catalog.pg_namespace n on n.nspname = w.schema::name
      left join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = w.relation::name
        and c.relkind in ('r', 'p', 'f', 'v', 'm')
      left join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = w.attribute::name
        and a.attnum > 0 and not a.attisdropped
    ), base (at, oid, modifier) as (
      select at, atttypid, atttypmod from wanted where atttypid is not null
      union all
      select base.at, t.typbasetype, case when base.modifier = -1 then t.typtypmod else base.modifier end
      from base join pg_catalog.pg_type t on t.oid = base.oid where t.typtype = 'd'
    )
    select w."hasSchema", w.kind, pg_catalog.format_type(w.atttypid, w.atttypmod) as shown,
      t.typname::text as name, t.typcategory::text as category, base.modifier
    from wanted w
    left join (base join pg_catalog.pg_type t on t.oid = base.oid and t.typtype <> 'd') on base.at = w.at
    order by w.at`
  let hints = 0
  const described: CatalogColumn[] = []
  for (const [at, column] of columns.entries()) {
    const one = await describeFound(sql, column, found[at], hints < mostHints)
    if ('missing' in one) hints++
    described.push(one)
  }
  return described
}

async function describeFound(
  sql: Query,
  column: ColumnName,
  found: Found | undefined,
  hasHint: boolean,
): Promise<CatalogColumn> {
  const suggest = async (name: string, list: () => Promise<string[]>) =>
    hasHint ? nearestNames(name, await list()) : []
  const { schemaName, tableName, columnName } = column
  if (/^pg_/.test(schemaName) || schemaName === 'information_schema')
    return { unmaskable: 'schemaName', reason: 'is a schema of PostgreSQL itself, which cannot be masked' }
  if (!found?.hasSchema)
    return { missing: 'schemaName', nearest: await suggest(schemaName, () => listSchemas(sql)) }
  if (found.kind === null)
    return { missing: 'tableName', nearest: await suggest(tableName, () => listTables(sql, schemaName)) }
  if (found.kind === 'v' || found.kind === 'm')
    return { unmaskable: 'tableName', reason: 'is a view: mask the columns of the tables under it' }
  if (found.shown === null)
    return { missing: 'columnName', nearest: await suggest(columnName, () => listColumns(sql, column)) }
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
