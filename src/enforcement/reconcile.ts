import type { Database } from '../db/database.ts'
import type { Tx } from '../db/transaction.ts'
import { apply, type Refusal } from './apply.ts'
import type { Note } from './assign-masks.ts'
import type { Snapshot } from './catalog.ts'
import { type Desired, desire, noTwin } from './desire.ts'
import { diff, type Step } from './diff.ts'
import { observe, type Target } from './observe.ts'
import type { Policy, Rule } from './policy.ts'

export interface Outcome {
  readonly policy: Policy
  /** What was done, or would be. */
  readonly steps: readonly Step[]
  readonly notes: readonly Note[]
  /** The whole database was looked at, not some tables of it. */
  readonly isWhole: boolean
  readonly desired: Desired
  readonly snapshot: Snapshot
}

export interface ReconcileOptions {
  /** Say what would be done, and do nothing. */
  readonly dryRun?: boolean
  /** Look at these tables alone, the rest stays as it is; undefined: at everything. */
  readonly focus?: (policy: Policy) => readonly Target[] | undefined
  readonly lockTimeoutMs?: number
  /** For tests that let the service die between two statements. */
  readonly beforeStep?: (at: number) => void
}

/** Several nodes, one at a time. The number only has to be ours. */
const advisoryLock = 7_208_951_144

class DryRun extends Error {}

/**
 * observe → desire → diff → apply, in one transaction: a reader sees the old state or the new one. The policy is read
 * under the lock, so that an older one never overwrites a newer one.
 */
export async function reconcile(
  target: Database,
  policy: Policy | (() => Promise<Policy>),
  options: ReconcileOptions = {},
): Promise<Outcome> {
  let outcome: Outcome | undefined
  try {
    await target.transaction(async (tx) => {
      await prepare(tx, options.lockTimeoutMs ?? 2000)
      const wanted = typeof policy === 'function' ? await policy() : policy
      outcome = await plan(tx, wanted, options.focus?.(wanted))
      if (options.dryRun) throw new DryRun()
      const refusals = await apply(tx, outcome.steps, options.beforeStep)
      outcome = { ...outcome, notes: [...outcome.notes, ...refusals.map(asNote)] }
    })
  } catch (error) {
    if (!(error instanceof DryRun)) throw error
  }
  if (!outcome) throw new Error('a transaction ended without running')
  return outcome
}

function asNote({ together }: Refusal): Note {
  const [schema = '', name = ''] = together.split('.', 2)
  return noTwin({ schema, name })
}

async function prepare(tx: Tx, lockTimeoutMs: number): Promise<void> {
  await tx`select pg_catalog.pg_advisory_xact_lock(${advisoryLock})`
  // Names in what we write are looked up among the built-ins alone, and nobody's temporary objects come first.
  await tx`
    select set_config('search_path', 'pg_catalog, pg_temp', true),
      set_config('lock_timeout', ${String(lockTimeoutMs)}, true), set_config('standard_conforming_strings', 'on', true)`
}

async function plan(tx: Tx, policy: Policy, focus: readonly Target[] | undefined): Promise<Outcome> {
  const targets = focus ?? policy.rules.map(({ schema, table }) => ({ schema, table }))
  const snapshot = await observe(tx, targets, focus ? 'targets' : 'all')
  const rules = focus ? policy.rules.filter(concerns(snapshot, focus)) : policy.rules
  const desired = desire(snapshot, { ...policy, rules }, policy.rules.length === 0)
  return {
    policy,
    isWhole: focus === undefined,
    steps: diff(snapshot, desired),
    notes: desired.notes,
    desired,
    snapshot,
  }
}

/** Rules for what is in view: the tables in focus, and what else turned out to hang together with them. */
function concerns(snapshot: Snapshot, focus: readonly Target[]): (rule: Rule) => boolean {
  const tables = new Set([
    ...focus.map(keyOf),
    ...snapshot.relations.map(({ schema, name }) => keyOf({ schema, table: name })),
    ...snapshot.guards.flatMap(({ pins }) => pins.map(keyOf)),
  ])
  return (rule) => tables.has(keyOf(rule))
}

const keyOf = ({ schema, table }: Target) => JSON.stringify([schema, table])
