import type {
  ColumnEntry,
  FoundColumn,
  TableEntry,
  TablesWanted,
  TwinColumn,
} from '../../contracts/inspection.ts'
import type { Tx } from '../../db/transaction.ts'
import { shadowPrefix } from '../../masks/names.ts'
import { baseType, browsableColumns, isBrowsable } from './ordinary-tables.ts'

/** The tables that rules can be for, by schema and name: not ours, not the system's, not those of extensions. */
export async function browseTables(tx: Tx, { search, after, limit }: TablesWanted): Promise<TableEntry[]> {
  return await tx<TableEntry[]>`
    select n.nspname::text as schema, c.relname::text as "table",
      case when c.reltuples < 0 then null else c.reltuples::int8 end as "estimatedRows",
      (select count(*)::int from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0
        and not a.attisdropped) as columns
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where ${isBrowsable(tx)}
      and pg_catalog.strpos(pg_catalog.lower(n.nspname || '.' || c.relname), pg_catalog.lower(${search}::text)) > 0
      and (n.nspname, c.relname) > (${after.schema}::text::name, ${after.table}::text::name)
    order by n.nspname, c.relname limit ${limit}`
}

/** The columns of one table in their order; none: there is no such table. */
export async function browseColumns(tx: Tx, schema: string, table: string): Promise<ColumnEntry[]> {
  return await tx<ColumnEntry[]>`
    select a.attname::text as column, pg_catalog.format_type(a.atttypid, a.atttypmod) as type,
      not a.attnotnull as "isNullable", b.typname::text as "baseName", b.typcategory::text as category,
      exists (select 1 from pg_catalog.pg_index i where i.indrelid = c.oid and i.indisprimary
        and a.attnum = any(i.indkey)) as "isKey"
    from ${browsableColumns(tx)} ${baseType(tx)}
    where n.nspname = ${schema}::text::name and c.relname = ${table}::text::name order by a.attnum`
}

/** Columns of any table by a part of `schema.table.column`, in any case. Those whose own name has it come first. */
export async function findColumns(tx: Tx, search: string, limit: number): Promise<FoundColumn[]> {
  return await tx<FoundColumn[]>`
    select n.nspname::text as schema, c.relname::text as "table", a.attname::text as column,
      pg_catalog.format_type(a.atttypid, a.atttypmod) as type
    from ${browsableColumns(tx)}
    where pg_catalog.strpos(pg_catalog.lower(n.nspname || '.' || c.relname || '.' || a.attname),
        pg_catalog.lower(${search}::text)) > 0
    order by pg_catalog.strpos(pg_catalog.lower(a.attname), pg_catalog.lower(${search}::text)) = 0, n.nspname,
      c.relname, a.attnum
    limit ${limit}`
}

/** The tables behind the columns of twins: those that their views read, by the column's own name. */
export async function findTwins(tx: Tx, relations: readonly number[]): Promise<TwinColumn[]> {
  return await tx<TwinColumn[]>`
    select distinct v.oid::int8 as relation, a.attnum::int as position, tn.nspname::text as schema,
      t.relname::text as "table",
      a.attname::text as column
    from pg_catalog.pg_class v
    join pg_catalog.pg_namespace vn on vn.oid = v.relnamespace
    join pg_catalog.pg_attribute a on a.attrelid = v.oid and a.attnum > 0 and not a.attisdropped
    join pg_catalog.pg_rewrite r on r.ev_class = v.oid
    join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = r.oid
      and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> v.oid
    join pg_catalog.pg_class t on t.oid = d.refobjid and t.relname = v.relname
    join pg_catalog.pg_namespace tn on tn.oid = t.relnamespace
    where v.oid = any(${relations}::oid[]) and left(vn.nspname, ${shadowPrefix.length}) = ${shadowPrefix}`
}
