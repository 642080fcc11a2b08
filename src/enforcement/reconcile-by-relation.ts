import type { Database } from '../db/database.ts'
import { sqlstateOf } from '../db/sqlstate.ts'
import type { Tx } from '../db/transaction.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import { apply } from './apply.ts'
import { findNewlyHidden } from './diff.ts'
import { diffClosings, diffOpenings, listHeld, type StepGroup } from './diff-by-relation.ts'
import { prepareCopy } from './guard/copy-records.ts'
import {
  isGuarded,
  type Outcome,
  type Planned,
  type PolicySource,
  type ReconcileOptions,
  readVersion,
  type Turn,
  takeTurn,
} from './in-turn.ts'
import type { Note, Step } from './plan.ts'
import { type RunGroups, runsGroups } from './run-groups.ts'
import { isRaced, listTwinOwners, NamesExchanged, requireSameNames } from './same-names.ts'
import type { Holder } from './sessions/holder.ts'
import { NameHeld } from './sessions/name-holders.ts'
import { recordLateReaders } from './sessions/old-readers.ts'
import { watchWaits } from './sessions/watch-waits.ts'
import { describeHeld, describeLate, describeUnread, type Unfinished } from './unfinished.ts'

/** Everything but a few relations is as the policy says. */
export class PartlyEnforced extends Error {
  readonly outcome: Outcome
  readonly unfinished: readonly Unfinished[]

  constructor(outcome: Outcome, unfinished: readonly Unfinished[], cause: unknown) {
    super(unfinished.map(({ target, reason }) => `${target}: ${reason}`).join('; '), { cause })
    this.outcome = outcome
    this.unfinished = unfinished
  }
}

/**
 * Two transactions, in which each relation has a savepoint of its own. The first closes everything that is to be masked,
 * without a look at definitions, which a lock or an overlong view could make it wait for. The second makes twins and gives
 * back. A relation that fails in one holds up no other.
 */
export async function reconcileByRelation(
  target: Database,
  policy: PolicySource,
  options: ReconcileOptions,
  cause: unknown,
): Promise<Outcome> {
  const close = async (insisted?: ReadonlySet<number>) => {
    const ran = await runGroups(target, policy, options, 'none', insisted)
    const { schema } = ran.outcome.snapshot.guard
    await recordLateReaders(target, schema, findNewlyHidden(ran.outcome))
    if (isGuarded(ran.outcome)) await options.onClosed?.(schema)
    await ran.copy?.write()
    return ran
  }
  let closed = await close()
  const overdue = options.overdue?.() ?? new Set<number>()
  const isOverdue = ({ oids: [oid = 0] }: Unfinished) => overdue.has(oid)
  try {
    if (closed.unfinished.some(isOverdue)) closed = join(closed, await close(overdue), isOverdue)
    return await openClosed(target, policy, options, closed, cause)
  } catch (error) {
    // Where that fails too, the first error is the reason, and the next turn tries again.
    if (!(error instanceof PartlyEnforced))
      await options.onUnopened?.(closed.outcome, closed.unfinished).catch(() => {})
    throw error
  }
}

async function openClosed(
  target: Database,
  policy: PolicySource,
  options: ReconcileOptions,
  closed: Ran,
  cause: unknown,
): Promise<Outcome> {
  const open = new Set(closed.unfinished.map((one) => one.target))
  const opened = await runGroups(target, policy, options, 'careful')
  await opened.copy?.write()
  const unfinished = [
    ...closed.unfinished,
    ...opened.unfinished.filter((one) => !open.has(one.target)),
    ...opened.held.filter((one) => !open.has(one.target)),
  ]
  const outcome = {
    ...opened.outcome,
    steps: [...closed.outcome.steps, ...opened.outcome.steps],
    notes: [...opened.outcome.notes, ...(opened.copy?.notes ?? [])],
  }
  if (unfinished.length > 0) throw new PartlyEnforced(outcome, unfinished, cause)
  if (!isGuarded(outcome)) await options.kept?.clear()
  return outcome
}

type Ran = Awaited<ReturnType<typeof runGroups>>

function join(first: Ran, second: Ran, isRepeated: (one: Unfinished) => boolean): Ran {
  return {
    ...second,
    outcome: { ...second.outcome, steps: [...first.outcome.steps, ...second.outcome.steps] },
    unfinished: [...first.unfinished.filter((one) => !isRepeated(one)), ...second.unfinished],
  }
}

/** `insisted`: only these relations, by oid, are changed, and sessions in the way are ended meanwhile. */
async function runGroups(
  target: Database,
  policy: PolicySource,
  options: ReconcileOptions,
  mode: 'none' | 'careful',
  insisted?: ReadonlySet<number>,
) {
  const isClosed = mode === 'careful'
  const diff = isClosed ? diffOpenings : diffClosings
  for (let attempt = 1; ; attempt++)
    try {
      return await takeTurn(
        target,
        policy,
        options,
        async ({ tx, record, planned, claimed, copy: own, enter }: Turn) => {
          const { snapshot, desired } = planned
          const groups = [
            ...diff(snapshot, desired).filter(({ target: one }) => !insisted || insisted.has(one?.oid ?? 0)),
            ...(claimed.length > 0 ? [{ target: null, steps: claimed }] : []),
          ]
          if (groups.length > 0) await enter()
          using watch = await watchWaits(target, tx, insisted ? desired.exempt : null)
          const { notes, done, unfinished } = await applyGroups(
            tx,
            groups,
            planned,
            mode,
            insisted ? insistent : usual,
            watch.take,
          )
          // The rest was looked at with its group: one role that renames a schema or role of its own again and again must not keep the
          // others from being closed.
          const [copy] = await Promise.all([
            own && isGuarded(planned) ? prepareCopy(tx, own, record, planned, true) : undefined,
            groups.length > 0 ? requireSameNames(tx, listTwinOwners(planned), planned) : undefined,
          ])
          const outcome = {
            ...planned,
            steps: done,
            notes: [...planned.notes, ...notes],
            record: copy?.version ?? (await readVersion(tx, planned)),
          }
          return {
            outcome,
            copy,
            unfinished: isClosed ? [...unfinished, ...describeUnread(snapshot)] : unfinished,
            held: isClosed ? listHeld(snapshot, desired).map(describeHeld) : [],
          }
        },
        mode,
      )
    } catch (error) {
      // A lock was taken between the look at locks and the look at definitions.
      const isPassing = sqlstateOf(error) === sqlstate.lockNotAvailable && !(error instanceof NameHeld)
      if (attempt === 3 || !isPassing) throw error
    }
}

/** So long locks are waited for in all; after that no longer than a moment for each. */
const usual = { groupMs: 100, inAllMs: 500 }
const insistent = { groupMs: 2000, inAllMs: 2000 }
const momentMs = 5

/** After so long the turn ends for views that may wait: other changes wait for it. */
const turnMs = 3000

async function applyGroups(
  tx: Tx,
  groups: readonly StepGroup[],
  planned: Planned,
  mode: 'none' | 'careful',
  wait: typeof usual,
  takeBlockers: () => Holder[],
) {
  const isClosed = mode === 'careful'
  const run = runsGroups(tx, planned, mode)
  const notes: Note[] = []
  const done: Step[] = []
  const unfinished: Unfinished[] = []
  let waitedMs = 0
  const end = Date.now() + turnMs
  let hasBegun = false
  const late: StepGroup[] = []
  const setWait = (ms: number) => tx`select set_config('lock_timeout', ${String(ms)}, true)`
  await setWait(wait.groupMs)
  const isDone = isClosed ? new Set<StepGroup>() : await closeTogether(groups, run, notes)
  for (const group of groups) {
    const { target, steps } = group
    if (isDone.has(group)) {
      done.push(...steps)
      continue
    }
    const from = Date.now()
    // At least one of them is done in each turn.
    if (group.mayWait && hasBegun && from > end) {
      late.push(group)
      continue
    }
    if (group.isLast && unfinished.length + late.length > 0) continue
    hasBegun ||= group.mayWait === true
    try {
      notes.push(...(await applyGroup(tx, group, run, planned)))
      done.push(...steps)
    } catch (error) {
      const code = sqlstateOf(error)
      if (target === null && code === sqlstate.lockNotAvailable && !hasBase(planned, isClosed))
        throw new NameHeld(takeBlockers(), error)
      // Without memory for locks no group can succeed.
      if (target === null || code === '' || code === sqlstate.outOfMemory) throw error
      const isMisled = error instanceof NamesExchanged && error.isMisled
      const isShut = !isMisled || (await closeFormer(tx, group.ifMisled ?? [], planned))
      const reason = error instanceof Error ? error.message : ''
      const oids = target.oid === undefined ? [] : [target.oid, ...readsOf(planned, target.oid)]
      const blockers = takeBlockers()
      unfinished.push({
        target: target.name,
        oids,
        sqlstate: code,
        reason,
        isClosed: isClosed && isShut,
        blockers,
      })
      const isPatient = waitedMs < wait.inAllMs
      if (code === sqlstate.lockNotAvailable) waitedMs += Date.now() - from
      if (isPatient && waitedMs >= wait.inAllMs) await setWait(momentMs)
    }
  }
  if (late.length > 0) unfinished.push(describeLate(late))
  return { notes, done, unfinished }
}

const mostTogether = 25

/** Tries many groups under one savepoint, as each of its own costs round trips. Returns those that are done. */
async function closeTogether(
  groups: readonly StepGroup[],
  run: RunGroups,
  notes: Note[],
): Promise<Set<StepGroup>> {
  const done = new Set<StepGroup>()
  for (let from = 0; from < groups.length; from += mostTogether) {
    const some = groups.slice(from, from + mostTogether)
    try {
      notes.push(...(await run(some)))
      for (const group of some) done.add(group)
    } catch {
      // The rest is done one by one, which tells what is in the way: further tries like this would wait for further locks.
      break
    }
  }
  return done
}

/**
 * Names may lead to others by the time that a statement has them, and a session that changes a grant of the relation makes ours fail
 * with "tuple concurrently updated": grants are then changed by OIDs, again and again. Where that fails, too, a superuser can lock the
 * rows of the catalog first: the next change then waits for us.
 */
async function applyGroup(tx: Tx, group: StepGroup, run: RunGroups, { snapshot }: Planned): Promise<Note[]> {
  let failure: unknown
  for (const byOids of [false, true])
    try {
      return await run([group], byOids)
    } catch (error) {
      failure = error
      if (!isRaced(error)) break
    }
  const oid = snapshot.superuser ? group.target?.oid : undefined
  if (sqlstateOf(failure) !== sqlstate.internalError || oid === undefined) throw failure
  return await tx.savepoint(async () => {
    await tx`select from pg_catalog.pg_class where oid = ${oid}::int8::oid for update`
    await tx`select from pg_catalog.pg_attribute where attrelid = ${oid}::int8::oid for update`
    return run([group], true)
  })
}

/** Its relation has changed: the former twin may call what the relation does not call any more. False: it stays open. */
async function closeFormer(tx: Tx, steps: readonly Step[], planned: Planned): Promise<boolean> {
  if (steps.length === 0) return true
  const closing = tx.savepoint(async () => {
    await apply(tx, steps)
    await requireSameNames(tx, { relations: [], roles: [], schemas: [], made: [] }, planned, steps)
  })
  return closing.then(
    () => true,
    () => false,
  )
}

/** The records are there, and the owners of twins: to close relations, that of the schemas is enough. */
function hasBase({ snapshot, desired }: Planned, isClosed: boolean): boolean {
  const needed = isClosed ? desired.owners.map(({ name }) => name) : [desired.twinOwner]
  return snapshot.guard.isThere && needed.every((name) => snapshot.roles.has(name))
}

function readsOf({ snapshot }: Planned, oid: number): readonly number[] {
  return snapshot.relations.find((one) => one.oid === oid)?.reads ?? []
}
