import type { ColumnPlace, Recommendation } from '../../contracts/inspection.ts'
import type { Database } from '../../db/database.ts'
import type { Tx } from '../../db/transaction.ts'
import { baseType, browsableColumns, glance, keyOf } from '../inspection/ordinary-tables.ts'
import { readRows, type TextRow } from '../inspection/read-rows.ts'
import { type Judged, judgeColumn } from './judge-column.ts'

interface CatalogColumn extends ColumnPlace, Omit<Judged, 'name' | 'table'> {
  readonly relation: number
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
  return glance(database, async (tx) => {
    const columns = (await readColumns(tx)).filter((column) => !known.has(keyOf(column)))
    const samples = await sampleTables(database, tx, columns)
    return columns
      .flatMap((column): Recommendation[] => {
        const { schema, table, column: name } = column
        const judged = judgeColumn({ ...column, name }, samples.get(keyOf(column)) ?? [])
        return judged ? [{ schema, table, column: name, ...judged }] : []
      })
      .sort((a, b) => b.confidence - a.confidence || (keyOf(a) < keyOf(b) ? -1 : 1))
  })
}

/** Plain tables and partitioned ones; partitions are part of theirs, and what is foreign is not asked. */
async function readColumns(tx: Tx): Promise<CatalogColumn[]> {
  return await tx<CatalogColumn[]>`
    select n.nspname::text as schema, c.relname::text as "table", a.attname::text as "column",
      coalesce(e.typname, b.typname)::text as "baseName", coalesce(e.typcategory, b.typcategory)::text as category,
      e.oid is not null as "isArray", c.oid::int8 as relation,
      coalesce(e.typtype, b.typtype) = 'b' and (coalesce(e.typcategory, b.typcategory) in ('S', 'I')
        or coalesce(e.typname, b.typname) in ('int8', 'numeric', 'json', 'jsonb')) as sampled
    from ${browsableColumns(tx)} ${baseType(tx)}
    left join pg_catalog.pg_type e on e.oid = b.typelem and b.typcategory = 'A'
    order by 1, 2, a.attnum limit ${mostColumns}`
}

async function sampleTables(
  database: Database,
  tx: Tx,
  columns: readonly CatalogColumn[],
): Promise<Map<string, string[]>> {
  const samples = new Map<string, string[]>()
  const tables = Map.groupBy(
    columns.filter(({ sampled }) => sampled),
    ({ relation }) => relation,
  )
  const started = performance.now()
  for (const [oid, all] of [...tables].slice(0, mostTables)) {
    if (performance.now() - started > allTimeoutMs) break
    const list = all.slice(0, mostColumnsOfTable)
    const source = { oid, columns: list.map(({ column }) => column) }
    // A table that cannot be read, or not in time, is judged by its names.
    const rows = await tx
      .savepoint(() => readRows(database, tx, source, sampleRows))
      .catch((): TextRow[] => [])
    for (const [at, column] of list.entries())
      samples.set(
        keyOf(column),
        rows.flatMap((row) => listValues(column, row[at] ?? null)),
      )
  }
  return samples
}

function listValues({ isArray, baseName }: CatalogColumn, value: string | null): string[] {
  if (value === null) return []
  if (isArray) return listElements(value.slice(0, longestDocument)).slice(0, mostElements)
  return [value.slice(0, baseName === 'json' || baseName === 'jsonb' ? longestDocument : longestValue)]
}

/** An element in the text of an array: quoted, or up to the next comma or brace. */
const element = /"((?:[^"\\]|\\.)*)"|[^{},"\\]+/g

function listElements(text: string): string[] {
  const found = [...text.matchAll(element)].map(([bare, quoted]) => quoted?.replace(/\\(.)/g, '$1') ?? bare)
  return found.filter((one) => one !== 'NULL')
}
