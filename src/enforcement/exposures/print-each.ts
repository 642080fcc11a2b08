import type { Tx } from '../../db/transaction.ts'

/** So long all of them are printed together, and parts of them half as long each time, but never less than the second. */
const togetherMs = 3000
const leastMs = 100
/** Of one call. What is left then counts as unprintable. */
const inAllMs = 6000

/**
 * What `print` returns for each of these objects, without those that PostgreSQL cannot print. It fails where a type was dropped that has no
 * dependency, as of an empty array; it waits for locks on what an expression reads; and a role can make it take long. An
 * object of one role must not keep the others from being listed, so halves are tried where all together fail.
 * The first ones are printed first. Not to be run beside other statements of the transaction.
 */
export async function printEach<R extends { readonly id: number }>(
  tx: Tx,
  ids: readonly number[],
  print: (ids: readonly number[]) => PromiseLike<readonly R[]>,
): Promise<Map<number, R>> {
  const printed = new Map<number, R>()
  if (ids.length === 0) return printed
  const [former] = await tx<{ limit: string }[]>`
    select pg_catalog.current_setting('statement_timeout') as limit`
  const setLimit = (limit: string) => tx`select pg_catalog.set_config('statement_timeout', ${limit}, true)`
  const until = Date.now() + inAllMs
  const attempt = async (some: readonly number[], ms: number): Promise<void> => {
    if (Date.now() > until) return
    try {
      const rows = await tx.savepoint(async () => {
        await setLimit(String(ms))
        const result = await print(some)
        await setLimit(former?.limit ?? '0')
        return result
      })
      for (const row of rows) printed.set(row.id, row)
    } catch {
      // A lost connection makes the next statement of the caller fail.
      if (some.length === 1) return
      const half = some.length >> 1
      const less = Math.max(leastMs, ms >> 1)
      await attempt(some.slice(0, half), less)
      await attempt(some.slice(half), less)
    }
  }
  await attempt(ids, togetherMs)
  return printed
}
