import type { Query, Row, Sql } from '../../db/sql.ts'

type Part = Query<Row[]>

/** Of a stored expression, compressed: the text of a longer one may have more characters than PostgreSQL can search. */
const mostStoredBytes = 524_288

/**
 * SQL for the text of a stored expression, or of two; null where one of them is too long, empty where there is none. The owner of a table may
 * write conditions of hundreds of megabytes, and a search in these fails.
 */
export function treeText(sql: Sql, tree: Part, other: Part = sql`null::text`) {
  const isLong = (one: Part) => sql`pg_catalog.pg_column_size(${one}) > ${mostStoredBytes}`
  return sql`case when ${isLong(tree)} or ${isLong(other)} then null else pg_catalog.concat(${tree}, ${other}) end`
}
