import { quoteIdentifier } from '../db/quote.ts'
import type { Tx } from '../db/transaction.ts'
import type { Step } from './diff.ts'

/**
 * Carries a plan out, statement by statement, in the transaction it is given: all of it or none. The only writer of a
 * masked database.
 */
export async function apply(
  tx: Tx,
  steps: readonly Step[],
  beforeStep: (at: number) => void = () => {},
): Promise<void> {
  for (const [at, step] of steps.entries()) {
    beforeStep(at)
    if (step.orElse === undefined) await run(tx, step)
    else await tx.savepoint(() => run(tx, step)).catch(() => tx.unsafe(step.orElse ?? ''))
  }
}

async function run(tx: Tx, { sql, as }: Step): Promise<void> {
  if (as === undefined) return void (await tx.unsafe(sql))
  await tx.unsafe(`SET LOCAL ROLE ${quoteIdentifier(as)}`)
  await tx.unsafe(sql)
  await tx.unsafe('RESET ROLE')
}
