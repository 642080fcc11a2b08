import type { Note } from '../contracts/note.ts'
import type { Database } from '../db/database.ts'
import type { Sql } from '../db/sql.ts'
import type { Tx } from '../db/transaction.ts'
import { codeOf, sqlstate } from '../kernel/sqlstate.ts'
import { NameHeld } from '../sessions/holder.ts'
import type { OpenEntry } from '../sessions/open-sessions.ts'
import { watchWaits } from '../sessions/watch-waits.ts'
import { apply } from './apply/apply.ts'
import { closeEach, type Done, openEach, type Run } from './apply/apply-each.ts'
import { judge } from './apply/outcomes.ts'
import { postcheck } from './apply/postcheck.ts'
import type { Oid, Snapshot, Statement } from './model.ts'
import { say } from './plan/grant-statements.ts'
import { upgradeGuards } from './plan/guard-tables.ts'
import type { Unfinished } from './plan/model.ts'
import { type Plan, plan } from './plan/plan.ts'
import type { Policy, Target } from './policy.ts'
import { type Claimant, claim } from './read/claim.ts'
import { readDefinitions } from './read/definitions.ts'
import { readHeader } from './read/guard.ts'
import { listExemptNames, readExempt, readSnapshot } from './read/snapshot.ts'
import { idleMs, readStart } from './read/start.ts'
import { TurnUnderWay } from './unfit.ts'

export interface TurnOptions {
  /** Tables to look at, by the version of the records; undefined: everything. */
  readonly focus?: (policy: Policy, version: string) => readonly Target[] | undefined
  /** Say what would be done, and do nothing. */
  readonly dryRun?: boolean
  /** The resource that the masks are to belong to. Those of another resource are left alone. */
  readonly claimant?: Claimant
  /** True: the service has masked the database of this place. */
  readonly isMasked?: (place: string) => Promise<boolean>
  /** Runs when everything is closed and before anything is opened, where both do not happen at once. Ends sessions. */
  readonly onClosed?: (closed: TurnResult) => Promise<TurnResult['open']>
  /** Runs where everything was closed but what is unfinished, and nothing could be opened. */
  readonly onUnopened?: (closed: TurnResult) => Promise<unknown>
  /** Relations that wait to be closed for too long: sessions in the way are ended meanwhile. */
  readonly overdue?: () => ReadonlySet<Oid>
  /** For tests that stop the service between two statements. */
  readonly beforeStep?: () => void | Promise<void>
}

export interface TurnResult {
  readonly policy: Policy
  /** The statements that were run, or would be. */
  readonly steps: readonly Statement[]
  readonly notes: readonly Note[]
  readonly unfinished: readonly Unfinished[]
  readonly snapshot: Snapshot
  readonly plan: Plan
  /** The version of the records afterwards. Empty: there are none. */
  readonly version: string
  /** The records list these sessions, which are to end. */
  readonly open: readonly OpenEntry[]
}

/** Read by the connection of the turn: others of the pool may not come free. */
export type PolicySource = Policy | ((sql: Sql) => Promise<Policy>)

/** How a turn waits for locks: it gives way before PostgreSQL looks for deadlocks, after a second. */
const waits = { together: 400, closing: 100, opening: 100 } as const

export interface Phase {
  readonly name: keyof typeof waits
  /** The name of our schema may be taken by a transaction that is not committed. */
  readonly renamesGuard?: boolean
  /** Only these relations are closed, and sessions in the way are ended. */
  readonly insists?: ReadonlySet<Oid>
}

/** A turn of another node is waited for, which PostgreSQL ends when its node is paused. */
const turnWaitMs = idleMs + 1_000

class DryRun extends Error {}

export async function run(
  database: Database,
  source: PolicySource,
  options: TurnOptions,
  phase: Phase,
): Promise<TurnResult> {
  let result: TurnResult | undefined
  try {
    await database.transaction(
      async (tx) => {
        result = await runIn(tx, database, source, options, phase)
        if (options.dryRun) throw new DryRun()
      },
      { isPipelined: true },
    )
  } catch (error) {
    if (!(error instanceof DryRun)) throw error
  }
  if (!result) throw new Error('a transaction ended without running')
  return result
}

async function runIn(
  tx: Tx,
  database: Database,
  source: PolicySource,
  options: TurnOptions,
  phase: Phase,
): Promise<TurnResult> {
  const { start, policy, header, claims, exempt } = await begin(tx, source, options, phase)
  const focus = start.isCurrent ? options.focus?.(policy, header?.version ?? '') : undefined
  // With the last rule everything of ours goes, so everything is looked at.
  const looked = policy.rules.length === 0 ? undefined : focus
  const snapshot = await readSnapshot(tx, start, header, exempt, policy, looked)
  const rules = looked ? policy.rules.filter(concerns(snapshot, looked)) : policy.rules
  const planned = await planWith(tx, snapshot, { ...policy, rules }, phase, start.statementTimeout)
  const { masked, isLeaving, finish } = planned
  const isGuarded = masked.length > 0 || (start.guard.isThere && !isLeaving)
  const claimed = isGuarded ? claims : []
  const steps = listSteps(planned, claimed)
  const base = { policy, notes: planned.notes, unfinished: [], snapshot, plan: planned }
  if (options.dryRun || steps.length === 0)
    return { ...base, steps, version: header?.version ?? '', open: header?.open ?? [] }
  const { beforeStep } = options
  if (phase.name === 'together') {
    const applied = apply(tx, steps, beforeStep)
    if (beforeStep || isLeaving) await applied
    if (isLeaving) return { ...base, steps, version: '', open: [] }
    const checked = Promise.all([raise(tx, snapshot), postcheck(tx, snapshot, masked, false)])
    // What PostgreSQL refused tells more than that nothing behind it was run.
    checked.catch(() => {})
    await applied
    const [raised] = await checked
    return { ...base, steps, ...raised }
  }
  const first = [...planned.records, ...claimed]
  const done = await changeEach({ tx, snapshot, plan: planned, beforeStep }, database, first, phase)
  await apply(tx, finish, beforeStep)
  const isGone = isLeaving && phase.name === 'opening' && done.unfinished.length === 0
  return {
    ...base,
    notes: [...planned.notes, ...done.notes],
    steps: [...first, ...done.steps, ...finish],
    unfinished: done.unfinished,
    ...(isGone ? { version: '', open: [] } : await raise(tx, snapshot)),
  }
}

/** Relation by relation. What the masks stand on comes first: without it nothing can be closed. */
async function changeEach(
  run: Omit<Run, 'takeHolders'>,
  database: Database,
  first: readonly Statement[],
  { name, insists }: Phase,
): Promise<Done> {
  const { tx, snapshot, beforeStep } = run
  using watch = await watchWaits(database, tx, insists && listExemptNames(snapshot))
  await apply(tx, first, beforeStep).catch((error: unknown) => {
    if (judge(error) === 'locked') throw new NameHeld(watch.take(), error)
    throw error
  })
  const each = { ...run, takeHolders: watch.take }
  return name === 'closing' ? await closeEach(each, insists) : await openEach(each)
}

/** Takes the lock of the database, and reads under it what the turn is about. */
async function begin(tx: Tx, source: PolicySource, options: TurnOptions, phase: Phase) {
  const start = await readStart(tx, turnWaitMs, options.isMasked, phase.renamesGuard)
  const { guard, server } = start
  if (guard.isThere && !start.isCurrent)
    await apply(tx, say('records of an earlier release', ...upgradeGuards(guard.schema, server.version)))
  if (guard.isThere) await takeLock(tx, guard.schema)
  const [policy, header] = await Promise.all([
    typeof source === 'function' ? source(tx) : source,
    guard.isThere ? readHeader(tx, guard.schema) : null,
    tx`select set_config('lock_timeout', ${String(waits[phase.name])}, true)`,
  ])
  const claims = await claim(tx, guard.schema, header, options.claimant, policy.rules.length > 0)
  const exempt = await readExempt(tx, policy, server.version)
  return { start, header, claims, policy, exempt }
}

/**
 * Nodes take turns by a lock on our own table, and read the policy under it: no plan of an older one is applied. Every
 * role can take an advisory lock and keep it; this one no masked role can.
 */
async function takeLock(tx: Tx, schema: string): Promise<void> {
  await tx`lock table ${tx(schema)}.relation in share row exclusive mode`.catch((error: unknown) => {
    throw codeOf(error) === sqlstate.lockNotAvailable ? new TurnUnderWay() : error
  })
}

async function planWith(
  tx: Tx,
  snapshot: Snapshot,
  policy: Policy,
  { name }: Phase,
  statementTimeout: string,
): Promise<Plan> {
  const first = plan(snapshot, policy, new Map())
  if (name === 'closing' || first.needed.length === 0) return first
  const texts = await readDefinitions(tx, first.needed, name === 'opening', statementTimeout)
  return plan(snapshot, policy, texts)
}

/** Numbers the change. The event trigger noted the changes of this turn, which are none to look at. */
async function raise(tx: Tx, { guard, isWatched }: Snapshot): Promise<Pick<TurnResult, 'version' | 'open'>> {
  const swept = tx`with swept as (
    delete from ${tx(guard.schema)}.drift where transaction = pg_catalog.txid_current())`
  const [now] = await tx<Pick<TurnResult, 'version' | 'open'>[]>`
    ${isWatched ? swept : tx``} update ${tx(guard.schema)}.policy set epoch = coalesce(epoch, 0) + 1
    returning ${guard.schema}::regnamespace::oid || '/' || epoch as version, open`
  return now ?? { version: '', open: [] }
}

/** Rules of the tables in focus, and of what turned out to hang together with them. */
function concerns({ relations, records }: Snapshot, focus: readonly Target[]): (rule: Target) => boolean {
  const keyOf = ({ schema, table }: Target) => `${schema}\0${table}`
  const pins = [...records.values()].flatMap(({ pins: own }) => own)
  const named = [...relations.values()].map(({ schema, name }) => ({ schema, table: name }))
  const tables = new Set([...focus, ...named, ...pins].map(keyOf))
  return (rule) => tables.has(keyOf(rule))
}

const listSteps = ({ records, groups, finish }: Plan, claimed: readonly Statement[]) => [
  ...records,
  ...claimed,
  ...groups.flatMap(({ close }) => close),
  ...groups.flatMap(({ open }) => open),
  ...finish,
]
