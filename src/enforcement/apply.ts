import { quoteIdentifier } from '../db/quote.ts'
import { sqlstateOf } from '../db/sqlstate.ts'
import type { Tx } from '../db/transaction.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import type { Note, Step } from './plan.ts'

/** SQLSTATEs that no retry changes: features, values, syntax, names, types, dependencies, limits. */
const isRefusal = /^(0A|22|2B|42|54)/

/**
 * Carries a plan out, statement by statement, in the transaction it is given: all of it or none. Returns notes about
 * steps that PostgreSQL refused and that the plan has an alternative for.
 */
export async function apply(
  tx: Tx,
  steps: readonly Step[],
  beforeStep: (at: number) => void | Promise<void> = () => {},
): Promise<Note[]> {
  const notes: Note[] = []
  for (let at = 0; at < steps.length; ) {
    const { together } = steps[at] ?? {}
    const end = together === undefined ? at + 1 : endOfGroup(steps, at)
    const group = steps.slice(at, end)
    const runGroup = async () => {
      for (const [within, step] of group.entries()) {
        await beforeStep(at + within)
        await run(tx, step, notes)
      }
    }
    if (together === undefined) await runGroup()
    else
      await tx.savepoint(runGroup).catch(async (error: unknown) => {
        const code = sqlstateOf(error)
        // A privilege may be granted later: it is tried again.
        if (!isRefusal.test(code) || code === sqlstate.insufficientPrivilege) throw error
        const { refusal, otherwise = [] } = group[0] ?? {}
        for (const step of otherwise) await run(tx, step, notes)
        if (refusal) notes.push(refusal)
      })
    at = end
  }
  return notes
}

function endOfGroup(steps: readonly Step[], from: number): number {
  let end = from
  while (steps[end]?.together === steps[from]?.together) end++
  return end
}

async function run(tx: Tx, step: Step, notes: Note[]): Promise<void> {
  const { orElse, note } = step
  if (orElse === undefined) return runAs(tx, step)
  await tx
    .savepoint(() => runAs(tx, step))
    .catch(async () => {
      await runAs(tx, orElse)
      if (note) notes.push(note)
    })
}

async function runAs(tx: Tx, { sql, as }: Step): Promise<void> {
  if (as === undefined) return void (await tx.unsafe(sql))
  await tx.unsafe(`SET LOCAL ROLE ${quoteIdentifier(as)}`)
  await tx.unsafe(sql)
  await tx.unsafe('RESET ROLE')
}
