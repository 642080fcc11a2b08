import type { Database } from './database.ts'
import type { Tx } from './transaction.ts'

/** JIT compiles for seconds what catalogs answer in milliseconds: estimates of recursion are high. */
const begin = `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL jit = off;
  SET LOCAL statement_timeout = 20000; SET LOCAL lock_timeout = 100`

/** Several queries about the catalogs of one moment, which wait for no lock. */
export function readConsistently<T>(database: Database, run: (tx: Tx) => Promise<T>): Promise<T> {
  return database.transaction(async (tx) => {
    await tx.unsafe(begin)
    return run(tx)
  })
}
