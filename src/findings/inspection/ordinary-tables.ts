import type { ColumnPlace } from '../../contracts/inspection.ts'
import type { Database } from '../../db/database.ts'
import type { Fragment } from '../../db/query.ts'
import type { Sql } from '../../db/sql.ts'
import type { Tx } from '../../db/transaction.ts'
import { shadowPrefix } from '../../masks/names.ts'
import { selectGuard } from '../../masks/read/guard.ts'

const lookTimeoutMs = 1_500
export const lockTimeoutMs = 500

/**
 * Refuses, for the whole transaction, what would run other roles' functions with our privileges: tables under row
 * security, views and foreign tables.
 */
export function glance<T>(database: Database, run: (tx: Tx) => Promise<T>): Promise<T> {
  return database.transaction(async (tx) => {
    await tx.unsafe(`SET TRANSACTION READ ONLY; SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL row_security = off;
      SET LOCAL restrict_nonsystem_relation_kind = 'view, foreign-table';
      SET LOCAL statement_timeout = ${lookTimeoutMs}; SET LOCAL lock_timeout = ${lockTimeoutMs}`)
    return run(tx)
  })
}

/** Of `pg_class c` and `pg_namespace n`. */
export function isBrowsable(tx: Tx): Fragment {
  return tx`
    c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence <> 't'
      and n.nspname !~ '^(pg_|information_schema$)'
      and n.oid is distinct from (select oid from (${selectGuard(tx)}) g)
      and left(n.nspname, ${shadowPrefix.length}) <> ${shadowPrefix}
      and not exists (select 1 from pg_catalog.pg_depend d where d.classid = 'pg_catalog.pg_class'::regclass
        and d.objid = c.oid and d.deptype = 'e')`
}

/** The columns `a` of such tables. */
export function browsableColumns(tx: Tx): Fragment {
  return tx`
    pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid and a.attnum > 0 and not a.attisdropped
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace and ${isBrowsable(tx)}`
}

/** Joins as `b` the type of the column `a`, or what its domain is over. */
export function baseType(tx: Tx): Fragment {
  return tx`
    cross join lateral (
      with recursive base as (
        select t.oid, t.typname, t.typtype, t.typcategory, t.typbasetype, t.typelem from pg_catalog.pg_type t
        where t.oid = a.atttypid
        union all
        select t.oid, t.typname, t.typtype, t.typcategory, t.typbasetype, t.typelem
        from base join pg_catalog.pg_type t on t.oid = base.typbasetype where base.typtype = 'd'
      ) select * from base where typtype <> 'd'
    ) b`
}

/** Whether the role `r` reads all data. Before 14 there is no role for that. */
export const readsAll = (sql: Sql): Fragment => sql`exists (select from pg_catalog.pg_roles a
  where a.rolname = 'pg_read_all_data' and pg_catalog.pg_has_role(r.oid, a.oid, 'USAGE'))`

/** What a column is known by. */
export const keyOf = ({ schema, table, column }: ColumnPlace) => JSON.stringify([schema, table, column])
