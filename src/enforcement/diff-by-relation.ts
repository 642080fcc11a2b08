import { quoteIdentifier, quoteQualified } from '../db/quote.ts'
import type { Guard, ObservedTwin, Snapshot } from './catalog.ts'
import {
  changeExempt,
  createOwner,
  dropIdle,
  findNewlyHidden,
  grantRelation,
  isLoose,
  leave,
  markOwners,
  maskRelation,
  prepareGuards,
  prepareSchemas,
  release,
  startPlan,
  tightenOwner,
} from './diff.ts'
import { restoreAclOrders } from './grants/acl-order.ts'
import { setGrants } from './grants/grant-steps.ts'
import { grantGuard } from './guard/guard-readers.ts'
import {
  createWatch,
  forgetTwin,
  isCompared,
  isWanted,
  markClosed,
  remembersGrants,
  writeGuard,
} from './guard/guard-steps.ts'
import type { Desired, DesiredRelation, OpenStray, Plan, Step } from './plan.ts'
import { recordReaders } from './sessions/old-readers.ts'
import type { TwinOwner } from './twins/choose-twin-owner.ts'
import { closeStray } from './twins/close-strays.ts'
import {
  closeMisplaced,
  dropOrKeep,
  inDropOrder,
  nameReleased,
  retireLeftovers,
} from './twins/released-twins.ts'
import { dropEmptied, removeTwin } from './twins/remove-twin.ts'
import { findRemade, isAsMade, listStanding, listTwinGrants } from './twins/twin-steps.ts'

/** Steps that are done together or not at all, whatever becomes of other groups. */
export interface StepGroup {
  /** The relation, schema or role that they are about. Null: everything else stands on them. */
  readonly target: { readonly name: string; readonly oid?: number } | null
  readonly steps: readonly Step[]
  /** Tells groups about one relation apart; of those that change grants. */
  readonly does?: 'close twin' | 'share twin' | 'close' | 'mask' | 'give back'
  /** The name of the twin that they drop before another group makes it. */
  readonly drops?: string
  /** It shows no raw values meanwhile, and its turn may come another time. */
  readonly mayWait?: boolean
  /** Close the former twin, where the one that they make would use others than its relation does. */
  readonly ifMisled?: readonly Step[]
  /** Only when every other group was done: it drops the records of grants, which the others give back. */
  readonly isLast?: boolean
}

/** The target of the group that lets roles read the records. A relation is named with its schema, in quotes. */
export const guardTarget = 'guard'

/**
 * Closes what is to be masked, relation by relation, without a lock on any twin and without a look at definitions. Masked
 * roles lose the hidden columns; twins that are not as they should be are closed to every role; none is made.
 */
export function diffClosings(snapshot: Snapshot, desired: Desired): StepGroup[] {
  const plan = startPlan(snapshot, desired)
  const misplaced = desired.misplaced.map((one) =>
    groupOf({ name: quoteQualified(one.twin.schema, one.twin.name) }, plan, (own) =>
      closeMisplaced(own, one),
    ),
  )
  if (desired.masked.length === 0) return misplaced.filter(({ steps }) => steps.length > 0)
  const home = desired.owners.filter(({ name }) => name === desired.twinOwner)
  const groups = [
    groupOf(null, plan, ({ steps }) => prepareBase(steps, plan, home)),
    ...tightenOwners(plan),
    ...misplaced,
  ]
  for (const stray of desired.strays)
    groups.push(groupOf(nameStray(stray), plan, (own) => closeStray(own, stray)))
  const absent = listAbsent(plan)
  for (const wanted of desired.masked.map((one) => withoutAbsent(one, absent))) {
    // A lock on the relation itself must not keep its twin open.
    const target = targetOf(wanted)
    groups.push({ ...groupOf(target, plan, (own) => closeTwin(own, wanted)), does: 'close twin' })
    groups.push({ ...groupOf(target, plan, (own) => shareTwin(own, wanted)), does: 'share twin' })
    groups.push({ ...groupOf(target, plan, (own) => closeRelation(own, wanted)), does: 'close' })
  }
  groups.push({ target: null, steps: changeExempt(plan) })
  const hidden = findNewlyHidden(plan)
  if (hidden.length > 0) groups.push({ target: null, steps: [recordReaders(snapshot.guard.schema, hidden)] })
  return groups.filter(({ steps }) => steps.length > 0)
}

/** The rest of the plan, relation by relation: twins are made, and relations without a mask are given back. */
export function diffOpenings(snapshot: Snapshot, desired: Desired): StepGroup[] {
  const plan = startPlan(snapshot, desired)
  const { masked, released, empty } = desired
  const groups: StepGroup[] = []
  if (masked.length > 0) {
    groups.push(groupOf(null, plan, ({ steps }) => prepareBase(steps, plan, desired.owners)))
    groups.push(...tightenOwners(plan))
    // Closing does not need them, and a role that may write comments can hold the lock that each of them takes.
    groups.push({ target: { name: 'marks of owners of twins' }, steps: markOwners(snapshot, desired.owners) })
    if (snapshot.superuser && !snapshot.watched)
      groups.push({ target: { name: 'event trigger' }, steps: createWatch(snapshot.guard.schema) })
    const schemas = groupOf(null, plan, prepareSchemas).steps
    groups.push(...schemas.map((step) => ({ target: { name: step.sql }, steps: [step] })))
  }
  const free = masked.filter(({ isHeld }) => !isHeld)
  const remade = findRemade(plan)
  for (const wanted of free.toReversed()) {
    for (const twin of remade.has(wanted.relation.oid) ? listStanding(plan, wanted) : []) {
      const step = removeTwin(plan, twin, 'a twin that has other columns now')
      // The name may be another relation's before this one has its twin.
      const forgotten = forgetTwin(snapshot.guard.schema, twin.schema, twin.name)
      const drops = quoteQualified(twin.schema, twin.name)
      groups.push({ target: targetOf(wanted), steps: [step, forgotten], drops })
    }
  }
  const isDeferred = ({ relation }: DesiredRelation) => snapshot.deferred.has(relation.oid)
  for (const wanted of [...free.filter((one) => !isDeferred(one)), ...free.filter(isDeferred)])
    groups.push({
      ...groupOf(targetOf(wanted), plan, (own) => {
        // Once more with each of its relations: it reads none where that failed.
        const owner = desired.owners.find(({ name }) => name === wanted.twin?.owner)
        maskRelation(own, wanted, remade)
        if (owner && own.steps.length > 0) own.steps.unshift(...tightenOwner(snapshot, owner))
      }),
      does: 'mask',
      mayWait: isDeferred(wanted),
      // One that has to be dropped first is gone by then.
      ifMisled: remade.has(wanted.relation.oid)
        ? []
        : groupOf(null, plan, (own) => closeTwin(own, wanted)).steps,
    })
  for (const one of inDropOrder(released)) {
    const twin = nameReleased(plan, one)
    const name = one.relation
      ? quoteQualified(one.relation.schema, one.relation.name)
      : (twin ?? 'a dropped relation')
    groups.push({
      ...groupOf({ name, oid: one.guard.oid }, plan, (own) => {
        release(own, one)
        own.steps.push(...restoreAclOrders([one], snapshot.version))
        if (twin) own.steps.push(dropOrKeep(plan, twin))
      }),
      does: 'give back',
    })
  }
  for (const step of retireLeftovers(plan)) groups.push({ target: { name: step.sql }, steps: [step] })
  groups.push({ target: { name: guardTarget }, steps: grantGuard(plan) })
  if (!empty) {
    groups.push({ target: { name: 'former twins' }, steps: dropEmptied(plan) })
    groups.push({ target: { name: 'owners of twins' }, steps: dropIdle(plan) })
  }
  if (empty)
    groups.push({
      ...groupOf({ name: quoteIdentifier(snapshot.guard.schema) }, plan, leave),
      isLast: true,
    })
  return groups.filter(({ steps }) => steps.length > 0)
}

/** Relations behind a lock whose twins are not as they should be: closed, and to be opened when the lock is gone. */
export function listHeld(snapshot: Snapshot, desired: Desired): DesiredRelation[] {
  const plan = startPlan(snapshot, desired)
  return desired.masked.filter((wanted) => wanted.isHeld && !examineTwin(plan, wanted).isKept)
}

function nameStray({ schema, name, oid }: OpenStray): NonNullable<StepGroup['target']> {
  return { name: quoteQualified(schema, name), oid }
}

function targetOf({ relation }: DesiredRelation): NonNullable<StepGroup['target']> {
  return { name: quoteQualified(relation.schema, relation.name), oid: relation.oid }
}

function groupOf(target: StepGroup['target'], plan: Plan, write: (plan: Plan) => void): StepGroup {
  const steps: Step[] = []
  write({ ...plan, steps })
  return { target, steps }
}

function prepareBase(steps: Step[], { snapshot }: Plan, owners: readonly TwinOwner[]): void {
  for (const owner of owners) createOwner(steps, snapshot, owner)
  prepareGuards(steps, snapshot)
}

/** Each by itself: a role that may change one can hold the lock that it takes. */
function tightenOwners({ snapshot, desired }: Plan): StepGroup[] {
  return desired.owners.map((owner) => ({
    target: { name: quoteIdentifier(owner.name) },
    steps: tightenOwner(snapshot, owner),
  }))
}

/**
 * Owners of twins that may not read anything yet: another session may keep one from being created, or from losing a member. Closing does
 * not wait for it.
 */
function listAbsent({ snapshot, desired }: Plan): Set<string | null> {
  const isAbsent = (owner: TwinOwner) =>
    snapshot.roles.has(owner.name) ? isLoose(snapshot, owner) : owner.name !== desired.twinOwner
  return new Set(desired.owners.filter(isAbsent).map(({ name }) => name))
}

function withoutAbsent(wanted: DesiredRelation, absent: ReadonlySet<string | null>): DesiredRelation {
  return { ...wanted, grants: wanted.grants.filter(({ grantee }) => !absent.has(grantee)) }
}

function closeTwin(plan: Plan, wanted: DesiredRelation): void {
  const { guard, observed, isKept } = examineTwin(plan, wanted)
  if (!guard || !observed || isKept) return
  const { owner } = observed
  const on = quoteQualified(observed.schema, observed.name)
  const columns = observed.columns.map(({ name }) => name)
  const target = { on, oid: null, owner, columns, as: owner }
  setGrants(plan.steps, target, observed, { grants: [], columnGrants: [] })
  if (!guard.twin?.isClosed) plan.steps.push(markClosed(plan.snapshot.guard.schema, guard.oid))
}

/**
 * Grants that were made by hand are recorded when the relation is closed. Without them at a twin that stays, they would be taken for
 * revoked there.
 */
function shareTwin(plan: Plan, wanted: DesiredRelation): void {
  const { observed, isKept } = examineTwin(plan, wanted)
  if (!observed || !isKept || !wanted.isHeld || observed.managed !== 'as owner') return
  const { owner } = observed
  const columns = observed.columns.map(({ name }) => name)
  // Columns of a twin are in the order of the relation's.
  const numbers = wanted.relation.columns.map(({ number }) => number)
  const names = new Map(columns.map((name, at) => [numbers[at] ?? 0, name]))
  const target = { on: quoteQualified(observed.schema, observed.name), oid: null, owner, columns, as: owner }
  setGrants(plan.steps, target, observed, listTwinGrants(wanted, owner, names))
}

function closeRelation(plan: Plan, wanted: DesiredRelation): void {
  const { steps, snapshot } = plan
  const { guard, known, isKept } = examineTwin(plan, wanted)
  if (isKept && !wanted.isHeld) {
    maskRelation(plan, wanted, new Set())
    return
  }
  const twin = isKept ? known : known && { ...known, isClosed: true }
  const isRecorded = guard && remembersGrants(guard, wanted)
  if (!isRecorded) steps.push(writeGuard(snapshot, wanted, twin))
  grantRelation(plan, wanted)
}

function examineTwin(plan: Plan, wanted: DesiredRelation) {
  const guard = plan.guards.get(wanted.relation.oid)
  const known = guard?.twin ?? null
  const observed = known ? plan.twins.get(quoteQualified(known.schema, known.name)) : undefined
  return { guard, known, observed, isKept: !!observed && keepsTwin(plan, wanted, guard, observed) }
}

/** True when the twin shows masked values alone. One behind a lock is judged by what the catalog tells without it. */
function keepsTwin(
  { desired }: Plan,
  wanted: DesiredRelation,
  guard: Guard | undefined,
  observed: ObservedTwin,
): boolean {
  const known = guard?.twin
  const { twin, relation, isHeld } = wanted
  if (!known || known.isClosed || !isCompared(known)) return false
  if (!isHeld) return twin !== null && isWanted(known, twin) && isAsMade(known, observed, twin)
  if (relation.definition === null)
    return (
      twin !== null &&
      relation.obstacle === null &&
      isWanted(known, twin) &&
      (known.source ?? null) === twin.source &&
      observed.owner === twin.owner
    )
  const masked = new Set(desired.masked.map((one) => one.relation.oid))
  return wanted.pins.every(({ number }) => number === 0) && !observed.reads.some((oid) => masked.has(oid))
}
