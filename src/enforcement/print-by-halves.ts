import type { Query } from '../db/sql.ts'
import { sqlstateOf } from '../db/sqlstate.ts'
import type { Tx } from '../db/transaction.ts'
import { sqlstate } from '../kernel/sqlstate.ts'

/** Printing waits for locks, and a role can make it take long. */
export interface PrintLimits {
  /** So long for all of them together, half as long for each half, and never less than the second. */
  readonly togetherMs: number
  readonly leastMs: number
  /** For each object besides, of a statement and in all. */
  readonly eachMs: number
  readonly inAllMs: number
}

/** How the definitions of twins are read. */
export interface Printing {
  /** Undefined: the usual ones. */
  readonly limits?: PrintLimits
  /** Twins that are known again by their stored rules are not printed. */
  readonly isSpared?: boolean
}

interface Printed<T, R> {
  readonly printed: readonly R[]
  /** Those for which the time ran out. */
  readonly late: readonly T[]
}

/**
 * What `print` returns for these objects, without those that PostgreSQL fails to print. One of them must not keep the others from being
 * printed, so halves are tried where all together fail: one of thousands is found by a few statements. The first ones are
 * printed first. After the loss of the connection the next statement of the caller fails. Not to be run beside other statements.
 */
export async function printByHalves<T, R extends object>(
  tx: Tx,
  objects: readonly T[],
  limits: PrintLimits,
  statementTimeout: string,
  print: (some: readonly T[]) => Query<R[]>,
): Promise<Printed<T, R>> {
  const printed: R[] = []
  const late: T[] = []
  const until = Date.now() + limits.inAllMs + limits.eachMs * objects.length
  const attempt = async (some: readonly T[], togetherMs: number): Promise<void> => {
    if (Date.now() > until) {
      late.push(...some)
      return
    }
    const ms = Math.max(limits.leastMs, togetherMs) + limits.eachMs * some.length
    try {
      printed.push(...(await tx.savepoint(() => within(tx, ms, statementTimeout, print(some)))))
    } catch (error) {
      if (some.length === 1) {
        if (isLate(error)) late.push(...some)
        return
      }
      const half = some.length >> 1
      await attempt(some.slice(0, half), togetherMs >> 1)
      await attempt(some.slice(half), togetherMs >> 1)
    }
  }
  if (objects.length > 0) await attempt(objects, limits.togetherMs)
  return { printed, late }
}

/** True where the time ran out, which a slow server brings about as well. */
export function isLate(error: unknown): boolean {
  return sqlstateOf(error) === sqlstate.queryCanceled
}

/** Runs a statement with a limit of its own. `statementTimeout`: the limit of the others. A query is sent when it is awaited: in this order. */
export async function within<R extends object>(
  tx: Tx,
  ms: number,
  statementTimeout: string,
  query: Query<R[]>,
): Promise<R[]> {
  const setLimit = (limit: string) => tx`select pg_catalog.set_config('statement_timeout', ${limit}, true)`
  const [, rows] = await Promise.all([setLimit(String(ms)), query, setLimit(statementTimeout)])
  return rows
}
