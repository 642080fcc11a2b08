import type { Database } from '../db/database.ts'
import type { Sql } from '../db/sql.ts'
import type { Tx } from '../db/transaction.ts'
import { apply } from './apply.ts'
import type { Snapshot } from './catalog.ts'
import { desire } from './desire.ts'
import { listJudged } from './grants/roles.ts'
import { type Claimant, claim, keysOf } from './guard/claim.ts'
import { type CopyPlace, openCopy } from './guard/copy-records.ts'
import { Fence } from './guard/fence.ts'
import { type KeptRecords, readPlace } from './guard/kept-records.ts'
import { readRecord, readRecordVersion } from './guard/read-record.ts'
import { holdExempt } from './hold-exempt.ts'
import { idleMs, type Lease } from './lease.ts'
import type { FindNeighbours } from './logins/find-neighbours.ts'
import { isTwinOwnerName } from './names.ts'
import { type Basics, observe, readBasics } from './observe.ts'
import type { Desired, Note, Step } from './plan.ts'
import type { Policy, Rule, Target } from './policy.ts'
import type { Printing } from './print-by-halves.ts'
import type { Reading } from './read-relations.ts'
import { holdSchemas, requireSameNames } from './same-names.ts'
import { readTurnFacts, type TurnFacts } from './turn-facts.ts'
import { listServing } from './twins/assign-twin-owners.ts'
import { dropInherited } from './twins/drop-copied-twins.ts'
import { findLegal } from './twins/find-legal-constants.ts'
import { readDeparture } from './twins/read-departure.ts'
import type { Unfinished } from './unfinished.ts'

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
  /** Finds login roles of other databases: a role that they hold does not become exempt. */
  readonly findNeighbours?: FindNeighbours
  /** Holds the records of grants while the database cannot. */
  readonly kept?: KeptRecords
  /**
   * Runs when everything that is to be masked is closed, before anything is opened, where both do not happen at once; with
   * the schema of our records.
   */
  readonly onClosed?: (guardSchema: string) => Promise<unknown>
  /** Runs when everything was closed but what is listed, and nothing could be opened: what closes must not wait for that. */
  readonly onUnopened?: (closed: Outcome, unfinished: readonly Unfinished[]) => Promise<unknown>
  /** Decides which node changes the database. Without one, nothing but the lock on the records does. */
  readonly lease?: Lease
  /** Relations that were kept from being closed for too long, by oid: sessions in the way are ended meanwhile. */
  readonly overdue?: () => ReadonlySet<number>
  /** Schemas that were renamed while earlier attempts were made, by oid: a superuser can keep them from it. */
  readonly exchanged?: readonly number[]
  /** Limits are for tests of a server that prints slowly. */
  readonly printing?: Printing
  /** For tests that let the service die between two statements. */
  readonly beforeStep?: (at: number) => void | Promise<void>
}

export interface Planned extends Omit<Outcome, 'record' | 'steps'> {
  /** What should be there by the same policy, where other facts are found. */
  readonly redesire: (snapshot: Snapshot) => Desired
}

export interface Turn {
  readonly tx: Tx
  /** The version of the record in the database before. */
  readonly record: string
  readonly planned: Planned
  /** Steps that were run before the plan was made. */
  readonly done: readonly Step[]
  /** Steps that make the masks the claimant's. */
  readonly claimed: readonly Step[]
  /** The service's own copy of the records, if it keeps one. */
  readonly copy: CopyPlace | undefined
  /** Takes the lease, before the first change. */
  enter(): Promise<void>
}

/**
 * Reads the policy by the connection of the turn. Another one of the pool may not come free: turns of other callers may hold all of them
 * and wait for the lock of this one.
 */
export type PolicySource = Policy | ((sql: Sql) => Promise<Policy>)

/**
 * Runs a transaction in which this node alone reconciles the database. The policy is read under the lock, so that an older
 * one never overwrites a newer one. `makesRecords`: false for a turn that runs because the records cannot be created, and
 * so has no place for the epoch of its lease; the store still refuses it when the lease is lost.
 */
export async function takeTurn<T>(
  target: Database,
  policy: PolicySource,
  options: ReconcileOptions,
  run: (turn: Turn) => Promise<T>,
  mode: Reading['mode'] = 'all',
  makesRecords = true,
): Promise<T> {
  const fence = new Fence(options.dryRun ? undefined : options.lease)
  const runFenced = async (tx: Tx) => {
    await fence.release()
    await fence.look()
    const begun = await begin(tx, options)
    const { guard } = begun
    if (begun.superuser && options.exchanged?.length) await holdSchemas(tx, options.exchanged)
    const [, stored, record, basics, place] = await Promise.all([
      shortenWaits(tx, options),
      typeof policy === 'function' ? policy(tx) : policy,
      readRecord(tx, guard.isThere ? guard.schema : null),
      readBasics(tx, begun),
      options.kept && !options.dryRun ? readPlace(tx) : undefined,
    ])
    const wanted = await holdExempt(tx, stored, record, basics.roles, options.findNeighbours)
    const copy = options.kept && place !== undefined ? openCopy(options.kept, place) : undefined
    const claimed = await claim(tx, guard.schema, record, options.claimant, wanted.rules.length > 0)
    const facts: TurnFacts = {
      ...begun,
      printing: options.printing,
      exempt: record?.exempt ?? [],
      exemptOids: record ? record.exemptOids : [],
      adminOids: record?.adminOids ?? [],
      guardReaders: record?.guardReaders ?? [],
      guardedOwners: record?.guardedOwners ?? [],
      twinKeepers: record?.twinKeepers ?? [],
      kept: guard.isThere ? [] : ((await options.kept?.read(await readPlace(tx))) ?? []),
      closesAll: !makesRecords,
    }
    const version = record?.version ?? ''
    const first = await plan(tx, facts, wanted, options.focus?.(wanted, version), mode, basics)
    const enter = async () => {
      await fence.enter(record?.epoch ?? 0)
      if (guard.isThere && guard.isCurrent) fence.raise(tx, guard.schema)
    }
    const done = mode === 'all' ? await leaveInherited(tx, facts, first, enter) : []
    const planned = done.length > 0 ? await plan(tx, facts, wanted, undefined, mode) : first
    const result = await run({
      tx,
      record: version,
      planned,
      done,
      claimed: isGuarded(planned) ? claimed : [],
      copy,
      enter,
    }).catch(async (error: unknown) => {
      // After it failed, so did every later statement, for a reason that tells nothing.
      await fence.requireRaised()
      throw error
    })
    if (makesRecords && hasEpoch(planned)) fence.raise(tx, guard.schema)
    await fence.requireHeld()
    return result
  }
  try {
    return await target.transaction(runFenced, { isPipelined: true })
  } finally {
    // Not waited for: the next turn of any node waits for it.
    void fence.release()
  }
}

/** True when the records are there after the plan was carried out, with a place for the epoch. */
function hasEpoch(planned: Planned): boolean {
  const { snapshot, desired } = planned
  return isGuarded(planned) && (snapshot.guard.isCurrent || desired.masked.length > 0)
}

/** True when the records are there after the plan was carried out. */
export function isGuarded({ snapshot, desired }: Pick<Planned, 'snapshot' | 'desired'>): boolean {
  return desired.masked.length > 0 || (snapshot.guard.isThere && !desired.empty)
}

/** The version of the record after steps were run. */
export async function readVersion(tx: Tx, planned: Planned): Promise<string> {
  const schema = isGuarded(planned) ? planned.snapshot.guard.schema : null
  return readRecordVersion(tx, schema)
}

/**
 * Well below the second after which PostgreSQL looks for deadlocks: where a reader of two twins and we wait for one another,
 * we are the one to give way, and try again.
 */
const shortWaitMs = 400

/** A turn of another node is waited for, which PostgreSQL ends when its node is paused for `idleMs`. */
const turnWaitMs = idleMs + 1_000

/**
 * Several nodes, one at a time: by a lock on our own table, as every role can take an advisory lock and keep it.
 */
async function begin(tx: Tx, { lockTimeoutMs, claimant, kept }: ReconcileOptions) {
  const facts = await readTurnFacts(tx, lockTimeoutMs ?? turnWaitMs, claimant && keysOf(claimant), kept)
  const { isThere, schema } = facts.guard
  if (isThere) await tx`lock table ${tx(schema)}.relation in share row exclusive mode`
  return facts
}

function shortenWaits(tx: Tx, { lockTimeoutMs = shortWaitMs }: ReconcileOptions) {
  return tx`select set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`
}

/** Twins of a copied database would be taken for views of other roles, so they go before the rest is planned; a dry run is rolled back. */
async function leaveInherited(
  tx: Tx,
  facts: TurnFacts,
  { policy, snapshot, desired, isWhole }: Planned,
  enter: () => Promise<void>,
): Promise<Step[]> {
  if (dropInherited(snapshot, desired.twinOwner).length === 0) return []
  const whole = isWhole ? snapshot : (await plan(tx, facts, policy, undefined, 'all')).snapshot
  const steps = dropInherited(whole, desired.twinOwner)
  await enter()
  await apply(tx, steps)
  await requireSameNames(
    tx,
    // The twins are gone by now, and whatever else their owners had here.
    {
      relations: whole.relations.filter(
        ({ schema, owner }) => ![whole.shadowSchemas.get(schema) ?? '', owner].some(isTwinOwnerName),
      ),
      roles: [],
      schemas: [],
      made: [],
    },
    { snapshot, desired },
  )
  return steps
}

async function plan(
  tx: Tx,
  facts: TurnFacts,
  policy: Policy,
  only: readonly Target[] | undefined,
  mode: Reading['mode'],
  basics?: Basics,
): Promise<Planned> {
  // With the last rule everything of ours goes, so everything has to be looked at.
  const focus = policy.rules.length === 0 ? undefined : only
  const tables = new Map(
    policy.rules.map(({ schema, table }) => [keyOf({ schema, table }), { schema, table }]),
  )
  const targets = focus ?? [...tables.values()]
  // For few relations, planning takes longer than running. Lists of many are hashed in a plan of their own alone.
  const [, seen] = await Promise.all([
    focus && tx`set local plan_cache_mode = force_generic_plan`,
    observe(tx, facts, targets, focus ? 'targets' : 'all', mode, policy.exemptRoles, basics),
  ])
  const exemptRoles = listJudged(policy, seen.roles)
  const exemptGrantees = seen.exemptGrantees.filter((role) => exemptRoles.includes(role))
  const observed = { ...seen, exemptGrantees }
  const rules = focus ? policy.rules.filter(concerns(observed, focus)) : policy.rules
  // Closing waits for no check of a domain.
  const snapshot = mode === 'none' ? observed : await findLegal(tx, observed, rules, facts.statementTimeout)
  const redesire = (facts: Snapshot) =>
    desire(facts, { ...policy, rules, exemptRoles }, policy.rules.length === 0)
  const desired = redesire(snapshot)
  const leaving = focus ? [] : listLeaving(snapshot, desired)
  return {
    policy,
    isWhole: focus === undefined,
    notes: desired.notes,
    desired,
    redesire,
    snapshot:
      leaving.length === 0
        ? snapshot
        : { ...snapshot, departure: await readDeparture(tx, desired.twinOwner, leaving) },
  }
}

/** Owners of twins that read nothing when the plan was carried out. */
function listLeaving(snapshot: Snapshot, { twinOwner, owners, empty }: Desired): string[] {
  const used = new Set(owners.map(({ name }) => name))
  const idle = listServing(snapshot).filter(({ name }) => !used.has(name))
  return [...(empty ? [twinOwner] : []), ...idle.map(({ name }) => name)]
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
