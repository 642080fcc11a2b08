import type { Database } from '../db/database.ts'
import { sqlstateOf } from '../db/sqlstate.ts'
import type { Tx } from '../db/transaction.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import { apply, type Refusal } from './apply.ts'
import type { Snapshot } from './catalog.ts'
import { desire, noTwin } from './desire.ts'
import { diff, diffByGrants } from './diff.ts'
import { type Claimant, claim } from './guard/claim.ts'
import { readRecord } from './guard/read-record.ts'
import { guardSchema } from './names.ts'
import { observe } from './observe.ts'
import type { Desired, Note, Step } from './plan.ts'
import type { Policy, Rule, Target } from './policy.ts'
import { Unfit } from './states/explain-failure.ts'
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
  /** For tests that let the service die between two statements. */
  readonly beforeStep?: (at: number) => void | Promise<void>
}

/**
 * Well below the second after which PostgreSQL looks for deadlocks: where a reader of two twins and we wait for one another,
 * we are the one to give way, and try again.
 */
const shortWaitMs = 400

class DryRun extends Error {}

type Planned = Omit<Outcome, 'record'>

/** Another node was the first to create our schema, or the last to drop it. */
const conflicts: readonly string[] = [
  sqlstate.uniqueViolation,
  sqlstate.invalidSchemaName,
  sqlstate.undefinedObject,
  sqlstate.undefinedTable,
  sqlstate.duplicateSchema,
  sqlstate.duplicateTable,
  sqlstate.duplicateObject,
]

/**
 * observe → desire → diff → apply, in one transaction: a reader sees the old state or the new one. The policy is read
 * under the lock, so that an older one never overwrites a newer one. If a twin cannot be changed, because a session
 * holds a lock on it or other objects depend on it, the relation is closed before the error is reported.
 */
export async function reconcile(
  target: Database,
  policy: Policy | (() => Promise<Policy>),
  options: ReconcileOptions = {},
): Promise<Outcome> {
  for (let attempt = 1; ; attempt++)
    try {
      return await reconcileOnce(target, policy, options)
    } catch (error) {
      const code = sqlstateOf(error)
      if (
        !options.dryRun &&
        (code === sqlstate.lockNotAvailable || code === sqlstate.dependentObjectsExist)
      ) {
        await reconcileOnce(target, policy, { ...options, byGrantsAlone: true })
        throw error
      }
      if (attempt === 5 || !conflicts.includes(code)) throw error
    }
}

/** The steps that would be run: none where the masks belong to another resource, which the state says. */
export async function dryRun(
  target: Database,
  policy: () => Promise<Policy>,
  claimant: Claimant,
): Promise<readonly Step[]> {
  try {
    return (await reconcile(target, policy, { dryRun: true, claimant })).steps
  } catch (error) {
    if (error instanceof Unfit) return []
    throw error
  }
}

async function reconcileOnce(
  target: Database,
  policy: Policy | (() => Promise<Policy>),
  options: ReconcileOptions & { readonly byGrantsAlone?: boolean },
): Promise<Outcome> {
  let outcome: Outcome | undefined
  try {
    await target.transaction(async (tx) => {
      await prepare(tx, options.lockTimeoutMs ?? shortWaitMs)
      const wanted = typeof policy === 'function' ? await policy() : policy
      const claimed = await claim(tx, options.claimant, wanted.rules.length > 0)
      const { version } = await readRecord(tx)
      const first = await plan(tx, wanted, options.focus?.(wanted, version))
      const gone = options.byGrantsAlone ? [] : await leaveInherited(tx, first)
      const planned = gone.length > 0 ? await plan(tx, wanted, undefined) : first
      const { snapshot, desired } = planned
      const wantedSteps = options.byGrantsAlone ? diffByGrants(snapshot, desired) : planned.steps
      const isKept = desired.masked.length > 0 || (snapshot.guarded && !desired.empty)
      const steps = isKept ? [...wantedSteps, ...claimed] : wantedSteps
      outcome = { ...planned, steps: [...gone, ...steps], record: version }
      if (options.dryRun) throw new DryRun()
      const refusals = await apply(tx, steps, options.beforeStep)
      outcome = {
        ...outcome,
        notes: [...outcome.notes, ...refusals.map(asNote)],
        record: (await readRecord(tx)).version,
      }
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
  // Our statements look up names among the built-ins alone: temporary objects of other roles must not come first.
  await tx`
    select set_config('search_path', 'pg_catalog, pg_temp', true),
      set_config('lock_timeout', ${String(lockTimeoutMs)}, true), set_config('standard_conforming_strings', 'on', true),
      set_config('quote_all_identifiers', 'off', true), set_config('extra_float_digits', '1', true),
      set_config('DateStyle', 'ISO, YMD', true), set_config('IntervalStyle', 'postgres', true),
      -- Compiling a query of the catalog takes seconds, running it milliseconds.
      set_config('jit', 'off', true)`
  await takeTurn(tx)
}

/**
 * Serialises nodes by a lock on our own table: any role could take an advisory lock and keep it. These tables decide
 * which role gets which grant, so they have to be our own.
 */
async function takeTurn(tx: Tx): Promise<void> {
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

/**
 * Inherited twins would be taken for views of users, so they are dropped before the rest is planned; a dry run restores
 * them.
 */
async function leaveInherited(tx: Tx, { policy, snapshot, desired, isWhole }: Planned): Promise<Step[]> {
  if (dropInherited(snapshot, desired.twinOwner).length === 0) return []
  const whole = isWhole ? snapshot : (await plan(tx, policy, undefined)).snapshot
  const steps = dropInherited(whole, desired.twinOwner)
  await apply(tx, steps)
  return steps
}

async function plan(tx: Tx, policy: Policy, only: readonly Target[] | undefined): Promise<Planned> {
  // With the last rule everything of ours goes, so everything has to be looked at.
  const focus = policy.rules.length === 0 ? undefined : only
  const tables = new Map(
    policy.rules.map(({ schema, table }) => [keyOf({ schema, table }), { schema, table }]),
  )
  const targets = focus ?? [...tables.values()]
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
