import type { Sql } from './sql.ts'

/** Anything that runs a statement: the pool, or a transaction. */
export type Query = Sql
