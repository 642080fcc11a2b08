import type { Row, Sql, Query as Statement } from './sql.ts'

/** Anything that runs a statement: the pool, or a transaction. */
export type Query = Sql

/** A piece of a statement. Put it into a larger one; awaiting it would run it by itself. */
export type Fragment = Statement<Row[]>
