import { quoteQualified } from '../db/quote.ts'
import type { Guard, Relation, Remembered, Snapshot, StrayTwin } from './catalog.ts'
import { createCopyPins, listCopied } from './copies.ts'
import { grantAccess, remember } from './grants/access.ts'
import { recallExempt } from './grants/left-grants.ts'
import { exemptions, listAdministrators, listRoleMakers, withAncestors } from './grants/roles.ts'
import { listGuardReaders } from './guard/guard-readers.ts'
import { isWanted } from './guard/guard-steps.ts'
import { everybody } from './names.ts'
import {
  copyStaysClosed,
  exemptNameTaken,
  exemptsNoRole,
  exemptsNothing,
  listTakenNames,
  noTwin,
  noTwinOwner,
  ownerReads,
  readsStrangers,
  rowSecurity,
  sharedTwinOwner,
  twinClosed,
  twinEmptied,
} from './notes.ts'
import { orderWithStrays } from './order-by-reads.ts'
import type { Desired, DesiredRelation, DesiredTwin, Note, Released } from './plan.ts'
import type { Policy } from './policy.ts'
import { assignMasks, type Masks, pinsOf } from './twins/assign-masks.ts'
import { assignTwinOwners, listChosen } from './twins/assign-twin-owners.ts'
import { chooseTwinOwner, indexNames, isRevocable, type TwinOwner } from './twins/choose-twin-owner.ts'
import { describeMasks } from './twins/comments.ts'
import { listMisplaced } from './twins/misplaced-twins.ts'
import { nameTwins } from './twins/name-twins.ts'
import { isArmed } from './twins/released-twins.ts'
import { describeStrays } from './twins/stray-makers.ts'
import { tableTwinSelect, viewTwinSelect } from './twins/twin-select.ts'
import { describeUnmanaged, listUnclosed } from './unclosed.ts'

/**
 * Pure: from what is there and what the policy says to what should be there. `lasting`: strays, by oid, that no twin replaces although
 * the relation of that name is masked.
 */
export function desire(
  snapshot: Snapshot,
  policy: Policy,
  empty: boolean,
  lasting: ReadonlySet<number> = new Set(),
): Desired {
  const { twinOwner } = snapshot
  const { masks, notes } = assignMasks(snapshot, policy)
  const twinNames = nameTwins(snapshot, masks)
  const twinNameOf = ({ oid, name }: Relation) => twinNames.get(oid) ?? { schema: '', name }
  const nameTwin = (relation: Relation) => {
    const { schema, name } = twinNameOf(relation)
    return quoteQualified(schema, name)
  }
  const copied = listCopied(snapshot, policy, masks)
  const copies = [...copied.keys()]
  const { ordered, strays, barred, unsure } = orderWithStrays(
    snapshot,
    policy,
    masks,
    nameTwin,
    lasting,
    copies,
  )
  const affected = new Set([...ordered.map(({ oid }) => oid), ...barred])
  const guards = new Map(snapshot.guards.map((guard) => [guard.oid, guard]))
  const relations = new Map(snapshot.relations.map((relation) => [relation.oid, relation]))
  const twins = new Map(snapshot.twins.map((twin) => [quoteQualified(twin.schema, twin.name), twin]))
  const exempt = exemptions(snapshot.roles, policy.exemptRoles, policy.heldOids)
  const wasExempt = recallExempt(snapshot)
  // A view over something masked runs with its owner's eyes: as a whole it is for the exempt.
  const isRaw = ({ oid, reads, securityInvoker }: Relation) =>
    securityInvoker || copied.has(oid) || unsure.has(oid) || reads.some((each) => affected.has(each))
  const pinCopy = createCopyPins(snapshot, masks, copied)
  const readsItself = (relation: Relation) => relation.definition === null || !isRaw(relation)
  const read = ordered.filter((relation) => isManaged(relation) && readsItself(relation))
  const twinOwners = assignTwinOwners(snapshot, read, withAncestors(snapshot.roles, snapshot.user))
  const readers = new Set([twinOwner, ...ordered.flatMap((one) => twinOwners.of(one)?.name ?? [])])
  const unclosed = listUnclosed(ordered, masks, exempt, snapshot, readers, barred)
  const heir = findHeir(ordered, masks, snapshot)
  const describe = (relation: Relation) =>
    describeUnmanaged(
      relation,
      unclosed.find((one) => one.relation === relation),
      heir,
      snapshot,
    )
  const ownerless = read.filter((relation) => twinOwners.of(relation) === null)
  const taken = indexNames(snapshot.twinRoles)
  const led = read.filter(({ strangers }) => strangers.length > 0)
  // Behind a lock the twin from before is judged by itself.
  const unsettled = ordered.filter(({ oid }) => unsure.has(oid) && !snapshot.held.has(oid))
  const unserved = [...ownerless, ...led, ...unsettled]
  const twinless = findTwinless(ordered, policy, notes, describe, unserved, barred)
  notes.push(...led.map(readsStrangers))
  for (const relation of ownerless) {
    const oid = snapshot.roles.get(relation.owner)?.oid ?? 0
    notes.push(noTwinOwner(relation, snapshot, chooseTwinOwner(snapshot, taken, oid).name))
  }
  const moves = new Map(
    ordered.map((relation) => [quoteQualified(relation.schema, relation.name), nameTwin(relation)]),
  )

  const masked = ordered.filter(isManaged).map((relation): DesiredRelation => {
    const own: Masks = masks.get(relation.oid) ?? new Map()
    const isRead = readsItself(relation)
    const reader = isRead && !twinless.has(relation.oid) ? (twinOwners.of(relation)?.name ?? null) : null
    const hidden = new Set(isRead ? own.keys() : relation.columns.map(({ number }) => number))
    const remembered = remember(relation, guards.get(relation.oid), wasExempt, twins)
    const isHeld = snapshot.held.has(relation.oid) && !twinless.has(relation.oid)
    const select = isRead
      ? tableTwinSelect(relation, own, nameTwin(relation))
      : viewTwinSelect(relation, own, moves)
    if (select === null && !isHeld) notes.push(noTwin(relation))
    const twin: DesiredTwin | null =
      select === null
        ? null
        : {
            ...twinNameOf(relation),
            columns: relation.columns.map(({ name }) => name),
            select,
            source: sourceOf(relation, isRead),
            owner: reader ?? relation.owner,
            securityBarrier: relation.securityBarrier || relation.restrictions.length > 0,
            securityInvoker: relation.securityInvoker,
            comments: describeMasks(relation, own),
          }
    return {
      relation,
      pins: [...pinCopy(relation), ...pinsOf(own)],
      readsItself: isRead,
      hidesAll: relation.columns.every(({ number }) => hidden.has(number)),
      ...grantAccess(relation, remembered, hidden, exempt, snapshot, reader),
      twin: twinless.has(relation.oid) ? null : twin,
      isHeld,
    }
  })
  const made = new Set(
    masked.flatMap(({ relation, twin }) =>
      twin && !isRefused(guards.get(relation.oid), twin) ? [quoteQualified(twin.schema, twin.name)] : [],
    ),
  )
  const isMade = ({ schema, name }: StrayTwin) => made.has(quoteQualified(schema, name))
  const left = strays.filter((stray) => !barred.has(stray.oid) && !isMade(stray))
  // What reads a stray that stays shows raw values: that is closed, too.
  if (left.length > 0)
    return desire(snapshot, policy, empty, new Set([...lasting, ...left.map(({ oid }) => oid)]))
  for (const { relation, twin } of masked)
    if (twin && isRefused(guards.get(relation.oid), twin)) notes.push(noTwin(relation))
  const released = snapshot.guards
    .filter(({ oid }) => !affected.has(oid))
    .map((guard): Released => {
      const relation = relations.get(guard.oid)
      const nothing: Remembered = { grants: [], columnGrants: [], rights: [] }
      return {
        guard,
        relation,
        remembered: relation ? remember(relation, guard, wasExempt, twins) : nothing,
      }
    })
  const closed = strays.map((stray) => ({ ...stray, isReplaced: isMade(stray) }))
  const givenBack = new Set(
    released.flatMap(({ guard: { twin } }) => (twin ? [quoteQualified(twin.schema, twin.name)] : [])),
  )
  const leftovers = snapshot.strays.filter(
    (one) =>
      one.recordedFor === null &&
      one.managed !== 'not' &&
      one.reads.length > 0 &&
      isArmed(snapshot, one) &&
      !strays.includes(one) &&
      !isMade(one) &&
      !givenBack.has(quoteQualified(one.schema, one.name)),
  )
  for (const { relation, pins } of masked)
    if (pins.length > 0 && pins.every(({ isCut }) => isCut)) notes.push(copyStaysClosed(relation))
  for (const stray of closed)
    if (!stray.isReplaced && released.every(({ guard }) => guard.oid !== stray.recordedFor))
      notes.push(twinClosed(stray))
  for (const emptied of snapshot.emptied)
    if (emptied.isRead && !made.has(quoteQualified(emptied.schema, emptied.name)))
      notes.push(twinEmptied(emptied))
  const roleMakers = listRoleMakers(snapshot.roles, snapshot.user)
  for (const entry of policy.rules.length > 0 ? policy.exemptRoles : [])
    if (!matches(entry, snapshot)) notes.push(exemptsNothing(entry, roleMakers))
  for (const entry of policy.rules.length > 0 ? (policy.namedEntries ?? []) : [])
    if (snapshot.roles.has(entry) && !exempt.roles.has(entry)) notes.push(exemptsNoRole(entry))
  for (const entry of policy.takenNames ?? []) notes.push(exemptNameTaken(entry, roleMakers))
  const owners = masked.length > 0 ? [chooseTwinOwner(snapshot, taken), ...listReaders()] : []
  const makers = [
    twinOwner,
    ...owners.map(({ name }) => name),
    ...listChosen(snapshot).map(({ name }) => name),
  ]
  if (masked.length > 0)
    notes.push(
      ...listIntruders(snapshot, owners),
      ...listTakenNames(snapshot, owners),
      ...describeStrays(snapshot, { twinOwner, makers }),
    )
  if (!exempt.everybody) notes.push(...listOwnedCopies(ordered, masks, exempt.roles, snapshot))
  const names = [...exempt.roles].sort()
  const recordedExempt = exempt.everybody ? [everybody] : names
  const administrators = exempt.everybody
    ? []
    : listAdministrators(snapshot.roles, exempt.roles, snapshot.user)
  const guardReaders = listGuardReaders(snapshot, policy.exemptRoles, exempt.everybody, { masked, released })
  return {
    twinOwner,
    owners,
    makers,
    masked,
    released,
    strays: closed,
    leftovers,
    misplaced: listMisplaced(snapshot, twinOwners),
    unclosed,
    exempt: names,
    recordedExempt,
    adminOids: administrators.map(({ oid }) => oid).sort((one, other) => one - other),
    guardReaders,
    empty,
    notes,
  }

  /** Owners of twins other than the one that owns their schemas. */
  function listReaders(): TwinOwner[] {
    const found = new Map(
      read.flatMap((one) => {
        const owner = twinOwners.of(one)
        return owner && owner.name !== twinOwner ? [[owner.name, owner]] : []
      }),
    )
    return [...found.values()]
  }
}

/** Roles that only another role than that of the binding can keep from acting as an owner of twins. */
function listIntruders(snapshot: Snapshot, owners: readonly TwinOwner[]): Note[] {
  return owners.flatMap(({ name, intruders }) =>
    intruders.filter((one) => !isRevocable(one, snapshot)).map((one) => sharedTwinOwner(name, one)),
  )
}

/** Materialized views, partitions and children of masked roles. An owner of the masked table itself is an exposure. */
function listOwnedCopies(
  ordered: readonly Relation[],
  masks: ReadonlyMap<number, Masks>,
  exempt: ReadonlySet<string>,
  { roles, user }: Snapshot,
): Note[] {
  const roots = listRoots(ordered, masks)
  const trusted = new Set([user, ...exempt, ...roots.map(({ owner }) => owner)])
  return ordered
    .filter((one) => one.kind !== 'view' && isManaged(one) && !trusted.has(one.owner))
    .filter(({ owner }) => !roles.get(owner)?.superuser)
    .map((one) => ownerReads(one, roots[0]?.owner ?? user))
}

/**
 * Relations that rules name; of a rule that names none any more, those that are no part of another one. A masked role may put its part of
 * a table under a parent of its own.
 */
function listRoots(ordered: readonly Relation[], masks: ReadonlyMap<number, Masks>): Relation[] {
  const nameOf = (schema: string, name: string) => quoteQualified(schema, name)
  const names = new Set(ordered.map(({ schema, name }) => nameOf(schema, name)))
  return ordered.filter(({ oid, schema, name, parents }) => {
    const isTop = !parents.some((one) => masks.has(one))
    return [...(masks.get(oid)?.values() ?? [])].some((rule) => {
      const named = nameOf(rule.schema, rule.table)
      return named === nameOf(schema, name) || (isTop && !names.has(named))
    })
  })
}

/** The role that copies of masked tables are to belong to: the owner of a table that can be masked. */
function findHeir(
  ordered: readonly Relation[],
  masks: ReadonlyMap<number, Masks>,
  { user }: Snapshot,
): string {
  return listRoots(ordered, masks).find(isManaged)?.owner ?? user
}

function matches(entry: string, { roles }: Pick<Snapshot, 'roles'>): boolean {
  return roles.has(entry) || entry.toLowerCase() === everybody
}

function isManaged({ managed }: Relation): boolean {
  return managed !== 'not'
}

/** What the text of its twin repeats, as parsed. */
function sourceOf({ restrictions, parsed }: Relation, isRead: boolean): string | null {
  const hashes = isRead ? restrictions.map((one) => one.parsed) : [parsed]
  return hashes.some((hash) => hash !== null) ? hashes.map((hash) => hash ?? '').join(' ') : null
}

function isRefused(guard: Guard | undefined, twin: DesiredTwin): boolean {
  const known = guard?.twin
  return known?.made === null && isWanted(known, twin) && (known.source ?? null) === twin.source
}

/**
 * Tables and views that get no twin: suspended tables; `unserved` ones, which have no owner for it or row policies that read tables of
 * others; views that we may not act for; views over a table with row policies that restrict certain roles, as these would not be found
 * any more. And whatever reads one of them, or a stray that is `barred`.
 */
function findTwinless(
  ordered: readonly Relation[],
  { suspended }: Policy,
  notes: Note[],
  describe: (unmanaged: Relation) => Note,
  unserved: readonly Relation[],
  barred: ReadonlySet<number>,
): ReadonlySet<number> {
  const found = new Set(barred)
  const restricted = new Set(
    ordered.filter(({ restrictions }) => restrictions.length > 0).map(({ oid }) => oid),
  )
  for (const relation of ordered) {
    const { oid, schema, name, definition, reads, parents } = relation
    const isSuspended = suspended.some((target) => target.schema === schema && target.table === name)
    const isView = definition !== null
    const isRestricted = isView && reads.some((other) => restricted.has(other))
    const cannotAct = !isManaged(relation) || (isView && !relation.settable)
    if (isRestricted || relation.hasRolePolicies) notes.push(rowSecurity(relation, isRestricted))
    if (cannotAct) notes.push(describe(relation))
    const isOut = isSuspended || isRestricted || cannotAct || unserved.includes(relation)
    if (isOut || [...reads, ...parents].some((other) => found.has(other))) found.add(oid)
  }
  return found
}
