import type { Database } from '../db/database.ts'
import type { Tx } from '../db/transaction.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import { apply } from './apply.ts'
import type { Snapshot } from './catalog.ts'
import { desire } from './desire.ts'
import { type Claimant, claim } from './guard/claim.ts'
import { readRecord } from './guard/read-record.ts'
import { guardSchema } from './names.ts'
import { observe } from './observe.ts'
import type { Desired, Note, Step } from './plan.ts'
import type { Policy, Rule, Target } from './policy.ts'
import type { Reading } from './read-relations.ts'
import { dropInherited } from './twins/drop-copied-twins.ts'

export interface Outcome {
  readonly policy: Policy
  /** The steps that were run, or would be. */
  readonly steps: readonly Step[]
  readonly notes: readonly Note[]
  /** The whole database was looked at, not some tables of it. */
  readonly isWhole: boolean
  /** The version of the record in the database afterwards. */
  readonly record: string
  readonly desired: Desired
  readonly snapshot: Snapshot
}

export interface ReconcileOptions {
  /** Say what would be done, and do nothing. */
  readonly dryRun?: boolean
  /**
   * Look at these tables alone, the rest stays as it is; undefined: at everything. `record` is what the node that came
   * last left behind, which may have been another one.
   */
  readonly focus?: (policy: Policy, record: string) => readonly Target[] | undefined
  readonly lockTimeoutMs?: number
  /** The resource that the masks are to belong to. Without one they belong to none, and those of a resource are left alone. */
  readonly claimant?: Claimant
  /** Runs when everything that is to be masked is closed, before anything is opened, where both do not happen at once. */
  readonly onClosed?: () => Promise<unknown>
  /** For tests that let the service die between two statements. */
  readonly beforeStep?: (at: number) => void | Promise<void>
}

export type Planned = Omit<Outcome, 'record' | 'steps'>

export interface Turn {
  readonly tx: Tx
  /** The version of the record in the database before. */
  readonly record: string
  readonly planned: Planned
  /** Steps that were run before the plan was made. */
  readonly done: readonly Step[]
  /** Steps that make the masks the claimant's. */
  readonly claimed: readonly Step[]
}

export type PolicySource = Policy | (() => Promise<Policy>)

/**
 * Runs a transaction in which this node alone reconciles the database. The policy is read under the lock, so that an older
 * one never overwrites a newer one.
 */
export async function takeTurn<T>(
  target: Database,
  policy: PolicySource,
  options: ReconcileOptions,
  run: (turn: Turn) => Promise<T>,
  mode: Reading['mode'] = 'all',
): Promise<T> {
  return target.transaction(async (tx) => {
    await prepare(tx, options.lockTimeoutMs ?? shortWaitMs)
    const wanted = typeof policy === 'function' ? await policy() : policy
    const claimed = await claim(tx, options.claimant, wanted.rules.length > 0)
    const { version } = await readRecord(tx)
    const first = await plan(tx, wanted, options.focus?.(wanted, version), mode)
    const done = mode === 'all' ? await leaveInherited(tx, first) : []
    const planned = done.length > 0 ? await plan(tx, wanted, undefined, mode) : first
    const { snapshot, desired } = planned
    const isKept = desired.masked.length > 0 || (snapshot.guarded && !desired.empty)
    return run({ tx, record: version, planned, done, claimed: isKept ? claimed : [] })
  })
}

/**
 * Well below the second after which PostgreSQL looks for deadlocks: where a reader of two twins and we wait for one another,
 * we are the one to give way, and try again.
 */
const shortWaitMs = 400

async function prepare(tx: Tx, lockTimeoutMs: number): Promise<void> {
  // Names in what we write are looked up among the built-ins alone, and temporary objects of a session never come first.
  await tx`
    select set_config('search_path', 'pg_catalog, pg_temp', true),
      set_config('lock_timeout', ${String(lockTimeoutMs)}, true), set_config('standard_conforming_strings', 'on', true),
      set_config('quote_all_identifiers', 'off', true), set_config('extra_float_digits', '1', true),
      set_config('DateStyle', 'ISO, YMD', true), set_config('IntervalStyle', 'postgres', true),
      -- Compiling a query of the catalog takes seconds, running it milliseconds.
      set_config('jit', 'off', true)`
  await lockGuards(tx)
}

/**
 * Several nodes, one at a time: by a lock on our own table, as every role can take an advisory lock and keep it. What is
 * in these tables decides who gets which grant, so they have to be our own.
 */
async function lockGuards(tx: Tx): Promise<void> {
  const [found] = await tx<{ isOurs: boolean }[]>`
    select bool_and(owner.rolname = current_user or owner.rolsuper) and not exists (
      select 1 from pg_catalog.pg_trigger where not tgisinternal
        and tgrelid in (to_regclass(${`${guardSchema}.relation`}), to_regclass(${`${guardSchema}.policy`}))) as "isOurs"
    from pg_catalog.pg_namespace n left join pg_catalog.pg_class c on c.relnamespace = n.oid
    join pg_catalog.pg_roles owner on owner.oid in (n.nspowner, c.relowner)
    where n.nspname = ${guardSchema} having count(*) > 0`
  if (!found) return
  if (!found.isOurs)
    throw Object.assign(
      new Error(`the schema ${guardSchema} is not the binding role's; drop it, or make that role its owner`),
      { code: sqlstate.insufficientPrivilege },
    )
  await tx`lock table ${tx(guardSchema)}.relation in share row exclusive mode`
}

/** Twins of a copied database would be taken for views of other roles, so they go before the rest is planned; a dry run is rolled back. */
async function leaveInherited(tx: Tx, { policy, snapshot, desired, isWhole }: Planned): Promise<Step[]> {
  if (dropInherited(snapshot, desired.twinOwner).length === 0) return []
  const whole = isWhole ? snapshot : (await plan(tx, policy, undefined, 'all')).snapshot
  const steps = dropInherited(whole, desired.twinOwner)
  await apply(tx, steps)
  return steps
}

async function plan(
  tx: Tx,
  policy: Policy,
  only: readonly Target[] | undefined,
  mode: Reading['mode'],
): Promise<Planned> {
  // With the last rule everything of ours goes, so everything has to be looked at.
  const focus = policy.rules.length === 0 ? undefined : only
  const tables = new Map(
    policy.rules.map(({ schema, table }) => [keyOf({ schema, table }), { schema, table }]),
  )
  const targets = focus ?? [...tables.values()]
  const snapshot = await observe(tx, targets, focus ? 'targets' : 'all', mode, policy.exemptRoles)
  const rules = focus ? policy.rules.filter(concerns(snapshot, focus)) : policy.rules
  const desired = desire(snapshot, { ...policy, rules }, policy.rules.length === 0)
  return {
    policy,
    isWhole: focus === undefined,
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
