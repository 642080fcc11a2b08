import type { Query } from '../../db/sql.ts'
import type { Tx } from '../../db/transaction.ts'
import { type PrintLimits, printByHalves } from '../print-by-halves.ts'

const limits: PrintLimits = { togetherMs: 3000, leastMs: 100, eachMs: 0, inAllMs: 6000 }

/** What `print` returns for each of these objects, without those that PostgreSQL cannot print, or not in time (`printByHalves`). */
export async function printEach<R extends { readonly id: number }>(
  tx: Tx,
  ids: readonly number[],
  print: (ids: readonly number[]) => Query<R[]>,
): Promise<Map<number, R>> {
  if (ids.length === 0) return new Map()
  const [former] = await tx<{ limit: string }[]>`
    select pg_catalog.current_setting('statement_timeout') as limit`
  const { printed } = await printByHalves(tx, ids, limits, former?.limit ?? '0', print)
  return new Map(printed.map((row) => [row.id, row]))
}
