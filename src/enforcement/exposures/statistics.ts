import { quoteQualified } from '../../db/quote.ts'
import type { Exposure, ExposureClass } from './exposure.ts'

interface Row {
  readonly oid: number
  readonly schema: string
  readonly name: string
}

/**
 * Extended statistics hold samples of values. Current servers show them to the owner of the table alone, but a database
 * that was made before the fix keeps the old views until somebody replaces them.
 */
export const extendedStatistics: ExposureClass = {
  code: 'ExtendedStatistics',
  async find({ sql, masked, byOid, book }) {
    const [view] = await sql<{ open: boolean }[]>`
      select pg_catalog.has_table_privilege('public', 'pg_catalog.pg_stats_ext_exprs', 'SELECT')
        and pg_catalog.pg_get_viewdef('pg_catalog.pg_stats_ext_exprs'::regclass) !~ 'pg_has_role' as open`
    if (!view?.open) return []
    const rows = await sql<Row[]>`
      select s.stxrelid::int8 as oid, n.nspname::text as schema, s.stxname::text as name
      from pg_catalog.pg_statistic_ext s join pg_catalog.pg_namespace n on n.oid = s.stxnamespace
      where s.stxrelid = any(${masked.map(({ oid }) => oid)}::oid[]) order by 1, 3`
    return rows.flatMap((row): Exposure[] => {
      const relation = byOid.get(row.oid)
      if (!relation) return []
      const statistics = quoteQualified(row.schema, row.name)
      return [
        {
          code: 'ExtendedStatistics',
          severity: 'high',
          objects: [
            { kind: 'statistics', name: statistics },
            { kind: relation.kind, name: relation.name },
          ],
          roles: book.watched,
          explanation:
            'This database was made by a server whose views of extended statistics show sampled values to everybody (CVE-2024-4317), and the views were never replaced. The server brings fix-CVE-2024-4317.sql for that; without the statistics there is nothing to see.',
          remedy: `DROP STATISTICS ${statistics}`,
          rule: null,
        },
      ]
    })
  },
}

/** The bounds of partitions are in the catalog, which everybody reads. */
export const partitionBounds: ExposureClass = {
  code: 'PartitionBounds',
  async find({ sql, masked, byOid, book }) {
    const rows = await sql<{ oid: number; keys: number[] }[]>`
      select partrelid::int8 as oid, array(select unnest(partattrs)::int4) as keys
      from pg_catalog.pg_partitioned_table where partrelid = any(${masked.map(({ oid }) => oid)}::oid[]) order by 1`
    return rows.flatMap(({ oid, keys }): Exposure[] => {
      const relation = byOid.get(oid)
      const column = relation?.hidden.find(({ number }) => keys.includes(number))
      if (!relation || !column || book.watched.length === 0) return []
      return [
        {
          code: 'PartitionBounds',
          severity: 'low',
          objects: [{ kind: relation.kind, name: relation.name }],
          roles: book.watched,
          explanation: `The table is partitioned by the masked column ${column.name}. The bounds of each partition are in the catalog, which everybody may read, so the partition that holds a row gives away the range or list that its value is in. Partition by another column.`,
          remedy: null,
          rule: null,
        },
      ]
    })
  },
}
