import type { Database } from '../../db/database.ts'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Tx } from '../../db/transaction.ts'
import { selectGuard } from '../guard/find-guard.ts'
import { shadowPrefix } from '../names.ts'
import { type Judgement, judgeColumn } from './judge-column.ts'

export interface ColumnPlace {
  readonly schema: string
  readonly table: string
  readonly column: string
}

export interface Recommendation extends ColumnPlace, Judgement {}

interface CatalogColumn extends ColumnPlace {
  readonly name: string
  readonly baseName: string
  readonly category: string
  readonly isArray: boolean
  readonly rows: number
  readonly sampled: boolean
}

const mostColumns = 20_000
const mostTables = 300
const mostColumnsOfTable = 60
const sampleRows = 200
const longestValue = 500
/** Of a JSON document or an array. */
const longestDocument = 1_000
/** Of one array. */
const mostElements = 20
const tableTimeoutMs = 1_500
const allTimeoutMs = 15_000

/**
 * Columns without a rule that look sensitive, the surest first. It samples a few rows of each table, read-only and with
 * a short timeout. Values are judged here and dropped: the result contains none.
 */
export async function recommend(
  database: Database,
  ruled: readonly ColumnPlace[],
): Promise<Recommendation[]> {
  const known = new Set(ruled.map(keyOf))
  return database.transaction(async (tx) => {
    await prepare(tx)
    const columns = (await readColumns(tx)).filter((column) => !known.has(keyOf(column)))
    const samples = await sampleTables(tx, columns)
    return columns
      .flatMap((column): Recommendation[] => {
        const judged = judgeColumn(column, samples.get(keyOf(column)) ?? [])
        return judged
          ? [{ schema: column.schema, table: column.table, column: column.column, ...judged }]
          : []
      })
      .sort((a, b) => b.confidence - a.confidence || (keyOf(a) < keyOf(b) ? -1 : 1))
  })
}

export const lockTimeoutMs = 500

/**
 * Turns row security off: a table whose policies would run other roles' functions with our privileges fails instead,
 * and is skipped.
 */
export async function prepare(tx: Tx): Promise<void> {
  await tx.unsafe(`SET TRANSACTION READ ONLY; SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL row_security = off;
    SET LOCAL statement_timeout = ${tableTimeoutMs}; SET LOCAL lock_timeout = ${lockTimeoutMs}`)
}

/**
 * Plain tables and partitioned ones; partitions are part of theirs, and what is foreign is not asked. Of base types alone
 * values are read as text: any role can make other types, and a cast to text that would run its code with our privileges.
 */
async function readColumns(tx: Tx): Promise<CatalogColumn[]> {
  return await tx<CatalogColumn[]>`
    select n.nspname::text as schema, c.relname::text as "table", a.attname::text as "column", a.attname::text as name,
      coalesce(e.typname, b.typname)::text as "baseName", coalesce(e.typcategory, b.typcategory)::text as category,
      e.oid is not null as "isArray",
      greatest(c.reltuples, 0)::int8 as rows,
      coalesce(e.typtype, b.typtype) = 'b' and (coalesce(e.typcategory, b.typcategory) in ('S', 'I')
        or coalesce(e.typname, b.typname) in ('int8', 'numeric', 'json', 'jsonb')) as sampled
    from pg_catalog.pg_attribute a
    join pg_catalog.pg_class c on c.oid = a.attrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    cross join lateral (
      with recursive base as (
        select t.oid, t.typname, t.typtype, t.typcategory, t.typbasetype, t.typelem from pg_catalog.pg_type t
        where t.oid = a.atttypid
        union all
        select t.oid, t.typname, t.typtype, t.typcategory, t.typbasetype, t.typelem
        from base join pg_catalog.pg_type t on t.oid = base.typbasetype where base.typtype = 'd'
      ) select * from base where typtype <> 'd'
    ) b
    left join pg_catalog.pg_type e on e.oid = b.typelem and b.typcategory = 'A'
    where c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence <> 't'
      and a.attnum > 0 and not a.attisdropped
      and n.nspname !~ '^(pg_|information_schema$)'
      and n.oid is distinct from (select oid from (${selectGuard(tx)}) g)
      and left(n.nspname, ${shadowPrefix.length}) <> ${shadowPrefix}
      and not exists (select 1 from pg_catalog.pg_depend d where d.classid = 'pg_catalog.pg_class'::regclass
        and d.objid = c.oid and d.deptype = 'e')
    order by 1, 2, a.attnum limit ${mostColumns}`
}

async function sampleTables(tx: Tx, columns: readonly CatalogColumn[]): Promise<Map<string, string[]>> {
  const samples = new Map<string, string[]>()
  const tables = Map.groupBy(
    columns.filter(({ sampled }) => sampled),
    ({ schema, table }) => quoteQualified(schema, table),
  )
  const started = performance.now()
  for (const [name, list] of [...tables].slice(0, mostTables)) {
    if (performance.now() - started > allTimeoutMs) break
    // A table that cannot be read, or not in time, is judged by its names.
    await tx
      .savepoint(() => sampleTable(tx, name, list.slice(0, mostColumnsOfTable), samples))
      .catch(() => {})
  }
  return samples
}

async function sampleTable(
  tx: Tx,
  name: string,
  columns: readonly CatalogColumn[],
  samples: Map<string, string[]>,
): Promise<void> {
  const rows = columns[0]?.rows ?? 0
  // Whole pages at random, ten times as many rows as wanted; a small table is read from its start.
  const some =
    rows > sampleRows * 50 ? ` TABLESAMPLE SYSTEM (${((sampleRows * 1000) / rows).toPrecision(4)})` : ''
  const list = columns.map((column, at) => `${readText(column)} AS c${at}`)
  const found = await tx.unsafe<Record<string, string | null>[]>(
    `SELECT ${list.join(', ')} FROM ${name}${some} LIMIT ${sampleRows}`,
  )
  for (const [at, column] of columns.entries())
    samples.set(
      keyOf(column),
      found.flatMap((row) => listValues(column, row[`c${at}`])),
    )
}

/** A character that no text of people has. */
const separator = '\u001f'

function readText({ column, isArray, baseName }: CatalogColumn): string {
  const name = quoteIdentifier(column)
  if (isArray) return `"left"(array_to_string(${name}, E'\\x1f'), ${longestDocument})`
  const longest = baseName === 'json' || baseName === 'jsonb' ? longestDocument : longestValue
  return `"left"(${name}::text, ${longest})`
}

function listValues({ isArray }: CatalogColumn, value: string | null | undefined): string[] {
  if (typeof value !== 'string') return []
  return isArray ? value.split(separator).slice(0, mostElements) : [value]
}

function keyOf({ schema, table, column }: ColumnPlace): string {
  return JSON.stringify([schema, table, column])
}
