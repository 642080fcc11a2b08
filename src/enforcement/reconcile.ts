import type { Database } from '../db/database.ts'
import type { Tx } from '../db/transaction.ts'
import { apply } from './apply.ts'
import type { Note } from './assign-masks.ts'
import type { Snapshot } from './catalog.ts'
import { type Desired, desire } from './desire.ts'
import { diff, type Step } from './diff.ts'
import { observe } from './observe.ts'
import type { Policy } from './policy.ts'

export interface Outcome {
  /** What was done, or would be. */
  readonly steps: readonly Step[]
  readonly notes: readonly Note[]
  readonly desired: Desired
  readonly snapshot: Snapshot
}

export interface ReconcileOptions {
  /** Say what would be done, and do nothing. */
  readonly dryRun?: boolean
  /** Look at these tables alone: the rest stays as it is. */
  readonly only?: readonly { readonly schema: string; readonly table: string }[]
  readonly lockTimeoutMs?: number
  /** For tests that let the service die between two statements. */
  readonly beforeStep?: (at: number) => void
}

/** Several nodes, one at a time. The number only has to be ours. */
const advisoryLock = 7_208_951_144

class DryRun extends Error {}

/** observe → desire → diff → apply, in one transaction: a reader sees the old state or the new one. */
export async function reconcile(
  target: Database,
  policy: Policy,
  options: ReconcileOptions = {},
): Promise<Outcome> {
  let outcome: Outcome | undefined
  try {
    await target.transaction(async (tx) => {
      await settle(tx, options.lockTimeoutMs ?? 2000)
      outcome = await plan(tx, policy, options)
      if (options.dryRun) throw new DryRun()
      await apply(tx, outcome.steps, options.beforeStep)
    })
  } catch (error) {
    if (!(error instanceof DryRun)) throw error
  }
  if (!outcome) throw new Error('a transaction ended without running')
  return outcome
}

async function settle(tx: Tx, lockTimeoutMs: number): Promise<void> {
  await tx`select pg_advisory_xact_lock(${advisoryLock})`
  // Names in what we write are looked up among the built-ins alone, and nobody's temporary objects come first.
  await tx`select set_config('search_path', 'pg_catalog, pg_temp', true), set_config('lock_timeout', ${String(lockTimeoutMs)}, true),
    set_config('standard_conforming_strings', 'on', true), set_config('check_function_bodies', 'off', true)`
}

async function plan(tx: Tx, policy: Policy, { only }: ReconcileOptions): Promise<Outcome> {
  const targets = only ?? policy.rules.map(({ schema, table }) => ({ schema, table }))
  const snapshot = await observe(tx, targets, only ? 'targets' : 'all')
  const within = only && new Set(only.map(({ schema, table }) => JSON.stringify([schema, table])))
  const rules = within
    ? policy.rules.filter(({ schema, table }) => within.has(JSON.stringify([schema, table])))
    : policy.rules
  const desired = desire(snapshot, { ...policy, rules }, policy.rules.length === 0)
  return { steps: diff(snapshot, desired), notes: desired.notes, desired, snapshot }
}
