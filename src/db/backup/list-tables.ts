import { schemaName } from '../database.ts'
import type { Query } from '../query.ts'

export interface BackedUpTable {
  readonly name: string
  /** Without generated columns, which the server computes anew. */
  readonly columns: readonly string[]
}

/** Tables about nodes and transactions that run: both are gone when a backup is restored. */
const passing = ['node', 'directory_write']

/** Tables of the store, each behind those that its foreign keys name; unlogged ones hold nothing that lasts. */
export async function listTables(sql: Query): Promise<BackedUpTable[]> {
  const rows = await sql<{ name: string; columns: string[]; needs: string[] }[]>`
    select c.relname::text as name, array(
        select a.attname::text from pg_catalog.pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
        order by a.attnum) as columns, array(
        select distinct other.relname::text from pg_catalog.pg_constraint k
        join pg_catalog.pg_class other on other.oid = k.confrelid
        where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as needs
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schemaName} and c.relkind in ('r', 'p') and c.relpersistence = 'p' and not c.relispartition
      and c.relname <> all(${passing})
    order by c.relname`
  return orderByNeeds(rows)
}

/** Pure: each table behind those that it needs, otherwise in the order given. */
export function orderByNeeds(
  tables: readonly (BackedUpTable & { readonly needs: readonly string[] })[],
): BackedUpTable[] {
  const ordered: BackedUpTable[] = []
  const placed = new Set<string>()
  let waiting = [...tables]
  while (waiting.length > 0) {
    const ready = waiting.filter(({ needs }) =>
      needs.every((need) => placed.has(need) || !waiting.some(({ name }) => name === need)),
    )
    if (ready.length === 0) throw new Error('the foreign keys of the store form a circle')
    for (const { name, columns } of ready) {
      ordered.push({ name, columns })
      placed.add(name)
    }
    waiting = waiting.filter(({ name }) => !placed.has(name))
  }
  return ordered
}
