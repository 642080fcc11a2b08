import { quoteIdentifier } from '../db/quote.ts'
import type { Tx } from '../db/transaction.ts'
import type { Step } from './plan.ts'

/** Steps that belong together and that PostgreSQL refused. */
export interface Refusal {
  readonly together: string
  readonly reason: string
}

/** SQLSTATEs that no retry changes: syntax, names, types, features. Not locks or lost connections. */
const isRefusal = /^(0A|22|42)/

/**
 * Carries a plan out, statement by statement, in the transaction it is given: all of it or none. The only writer of a
 * masked database.
 */
export async function apply(
  tx: Tx,
  steps: readonly Step[],
  beforeStep: (at: number) => void | Promise<void> = () => {},
): Promise<Refusal[]> {
  const refusals: Refusal[] = []
  for (let at = 0; at < steps.length; ) {
    const { together } = steps[at] ?? {}
    const end = together === undefined ? at + 1 : endOfGroup(steps, at)
    const group = steps.slice(at, end)
    const runGroup = async () => {
      for (const [within, step] of group.entries()) {
        await beforeStep(at + within)
        await run(tx, step)
      }
    }
    if (together === undefined) await runGroup()
    else
      await tx.savepoint(runGroup).catch(async (error: Error & { code?: string }) => {
        if (!isRefusal.test(error.code ?? '')) throw error
        for (const step of group[0]?.otherwise ?? []) await run(tx, step)
        refusals.push({ together, reason: error.message })
      })
    at = end
  }
  return refusals
}

function endOfGroup(steps: readonly Step[], from: number): number {
  let end = from
  while (steps[end]?.together === steps[from]?.together) end++
  return end
}

async function run(tx: Tx, step: Step): Promise<void> {
  const { orElse } = step
  if (orElse === undefined) return runAs(tx, step)
  await tx.savepoint(() => runAs(tx, step)).catch(() => runAs(tx, orElse))
}

async function runAs(tx: Tx, { sql, as }: Step): Promise<void> {
  if (as === undefined) return void (await tx.unsafe(sql))
  await tx.unsafe(`SET LOCAL ROLE ${quoteIdentifier(as)}`)
  await tx.unsafe(sql)
  await tx.unsafe('RESET ROLE')
}
