import type { Query, Row, Sql } from '../../db/sql.ts'
import { treeText } from './stored-trees.ts'

/**
 * SQL for the numbers of all columns of a relation, where an expression that is stored for it takes the row as a whole, as in
 * `CHECK (fits(person))`. Such an expression names no column, and pg_depend has none. `expression`: its text; null counts as one that does.
 */
export function selectWholeRow(sql: Sql, relation: Query<Row[]>, expression: Query<Row[]>) {
  return sql`select w.attnum::int4 from pg_catalog.pg_class r join pg_catalog.pg_attribute w on w.attrelid = r.oid and w.attnum > 0
    where r.oid = ${relation} and coalesce(pg_catalog.strpos(${expression}, ':varattno 0 :vartype ' || r.reltype || ' ') > 0, true)`
}

/** SQL for the columns of its table that the policy `p` names. */
export function policyColumns(sql: Sql) {
  return sql`array(select u.refobjsubid from pg_catalog.pg_depend u
      where u.classid = 'pg_catalog.pg_policy'::regclass and u.objid = p.oid
        and u.refclassid = 'pg_catalog.pg_class'::regclass and u.refobjid = p.polrelid and u.refobjsubid > 0
    union ${selectWholeRow(sql, sql`p.polrelid`, treeText(sql, sql`p.polqual`, sql`p.polwithcheck`))})`
}
