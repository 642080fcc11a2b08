import { isDeepStrictEqual } from 'node:util'
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../db/quote.ts'
import type { Closed, Pin, Relation, Snapshot, Twin } from './catalog.ts'
import { restoreAclOrders } from './grants/acl-order.ts'
import { actAs, named, refuseToGiveBack, restoreGrants, setGrants } from './grants/grant-steps.ts'
import { restoreRights, setRights } from './grants/right-steps.ts'
import { grantGuard } from './guard/guard-readers.ts'
import {
  copyRecord,
  createGuards,
  createWatch,
  forget,
  hasRecords,
  listExemptOids,
  recordLeft,
  remembers,
  upgradeGuards,
  writeExempt,
  writeGuard,
} from './guard/guard-steps.ts'
import type { Desired, DesiredRelation, Plan, Released, Step } from './plan.ts'
import { recordReaders } from './sessions/old-readers.ts'
import { isRevocable, type TwinOwner } from './twins/choose-twin-owner.ts'
import { closeStray } from './twins/close-strays.ts'
import { dropIdleOwners, dropTwinOwners } from './twins/drop-twin-owner.ts'
import { closeMisplaced, dropReleased, retireLeftovers } from './twins/released-twins.ts'
import { dropEmptied } from './twins/remove-twin.ts'
import { revokeStrays } from './twins/stray-makers.ts'
import { dropRemade, findRemade, findStray, makeTwin } from './twins/twin-steps.ts'

/** Pure and printable: what it takes to get from what is there to what should be. Empty when nothing is to be done. */
export function diff(snapshot: Snapshot, desired: Desired): Step[] {
  const plan = startPlan(snapshot, desired)
  const { steps } = plan
  prepare(plan)
  for (const one of desired.misplaced) closeMisplaced(plan, one)
  // One that is replaced gets its grants with its new definition.
  for (const stray of desired.strays) if (!stray.isReplaced) closeStray(plan, stray)
  const remade = findRemade(plan)
  dropRemade(plan, remade)
  for (const wanted of desired.masked) maskRelation(plan, wanted, remade)
  for (const released of desired.released) release(plan, released)
  steps.push(...restoreAclOrders(desired.released, snapshot.version))
  dropReleased(plan)
  steps.push(...retireLeftovers(plan))
  if (desired.masked.length > 0) steps.push(...changeExempt(plan))
  steps.push(...grantGuard(plan))
  const hidden = findNewlyHidden(plan)
  if (hidden.length > 0) steps.push(recordReaders(snapshot.guard.schema, hidden))
  if (desired.empty) leave(plan)
  else steps.push(...dropEmptied(plan), ...dropIdle(plan))
  return steps
}

export function startPlan(snapshot: Snapshot, desired: Desired): Plan {
  return {
    steps: [],
    snapshot,
    desired,
    guards: new Map(snapshot.guards.map((guard) => [guard.oid, guard])),
    twins: new Map(snapshot.twins.map((twin) => [quoteQualified(twin.schema, twin.name), twin])),
    strays: listStrays(snapshot, desired),
  }
}

/** Views where twins are that no record names, or the record of a relation that is given back. */
function listStrays({ strays, twins }: Snapshot, { released }: Desired): Plan['strays'] {
  const nameOf = ({ schema, name }: Pick<Twin, 'schema' | 'name'>) => quoteQualified(schema, name)
  const left = new Set(released.flatMap(({ guard }) => (guard.twin ? [nameOf(guard.twin)] : [])))
  const found = [
    ...strays.filter(({ recordedFor }) => recordedFor === null),
    ...twins.filter((twin) => left.has(nameOf(twin))),
  ]
  return new Map(found.map((twin) => [nameOf(twin), twin]))
}

/** Behind the changes of relations: their records say by then what is left of grants. */
export function changeExempt({ snapshot, desired }: Plan): Step[] {
  const oids = listExemptOids(snapshot.roles, desired.recordedExempt)
  const isSame = isDeepStrictEqual(
    [snapshot.exempt, snapshot.exemptOids, snapshot.adminOids],
    [desired.recordedExempt, oids, desired.adminOids],
  )
  const { isThere, schema } = snapshot.guard
  return isSame ? [] : [...(isThere ? [recordLeft(schema)] : []), writeExempt(snapshot, desired)]
}

/** The role, the schemas and the notes that everything else stands on. */
function prepare(plan: Plan): void {
  const { steps, snapshot, desired } = plan
  if (desired.masked.length === 0) return
  for (const owner of desired.owners) {
    createOwner(steps, snapshot, owner)
    steps.push(...tightenOwner(snapshot, owner))
  }
  steps.push(...markOwners(snapshot, desired.owners))
  prepareGuards(steps, snapshot)
  if (snapshot.superuser && !snapshot.watched) steps.push(...createWatch(snapshot.guard.schema))
  prepareSchemas(plan)
}

/** Records that the service kept itself move to the new schema at once: a relation behind a lock would lose them. */
export function prepareGuards(steps: Step[], { guard, guards, roles }: Snapshot): void {
  if (!guard.isThere)
    steps.push(...createGuards(guard), ...guards.map((one) => copyRecord(guard.schema, one, roles)))
  else if (!guard.isCurrent) steps.push(...upgradeGuards(guard))
}

/** Relations of which a plan hides columns that could be read before. */
export function findNewlyHidden({ snapshot, desired }: Pick<Plan, 'snapshot' | 'desired'>): number[] {
  const guards = new Map(snapshot.guards.map((guard) => [guard.oid, guard]))
  return desired.masked
    .filter(({ relation, pins, hidesAll }) => {
      const guard = guards.get(relation.oid)
      const known = new Set(guard?.pins.map(({ number }) => number))
      const isNew = ({ number }: Pin) => number !== 0 && !known.has(number)
      return !guard || (hidesAll && !guard.hidesAll) || pins.some(isNew)
    })
    .map(({ relation }) => relation.oid)
}

/** The schemas of the twins, and the rights that owners of twins need to make them and to read the relations behind them. */
export function prepareSchemas({ steps, snapshot, desired }: Plan): void {
  const owner = quoteIdentifier(desired.twinOwner)
  for (const schema of new Set(desired.masked.flatMap(({ twin }) => (twin ? [twin.schema] : [])))) {
    if (snapshot.shadowSchemas.has(schema)) continue
    const name = quoteIdentifier(schema)
    steps.push({ sql: `CREATE SCHEMA ${name} AUTHORIZATION ${owner}`, why: 'a schema for twins' })
    steps.push({
      sql: `GRANT USAGE ON SCHEMA ${name} TO PUBLIC`,
      why: 'twins have privileges of their own',
      as: desired.twinOwner,
    })
  }
  for (const { schema, owner: maker } of listMakers(desired))
    if (!snapshot.shadowMakers.get(schema)?.includes(maker))
      steps.push({
        sql: `GRANT CREATE ON SCHEMA ${quoteIdentifier(schema)} TO ${quoteIdentifier(maker)}`,
        why: 'its twins are there',
        as: desired.twinOwner,
      })
  steps.push(...revokeStrays(snapshot, desired))
  const owners = new Set(desired.owners.map(({ name }) => name))
  const readers = new Map(
    desired.masked.flatMap(({ relation, twin }) =>
      twin && owners.has(twin.owner) ? [[relation.oid, twin.owner]] : [],
    ),
  )
  const open = (closed: readonly Closed[], kind: 'SCHEMA' | 'TYPE', why: string) => {
    for (const { name, relations } of closed)
      for (const reader of new Set(relations.flatMap((oid) => readers.get(oid) ?? []))) {
        const what = kind === 'SCHEMA' ? quoteIdentifier(name) : name
        steps.push({ sql: `GRANT USAGE ON ${kind} ${what} TO ${quoteIdentifier(reader)}`, why })
      }
  }
  open(snapshot.closedSchemas, 'SCHEMA', 'twins read tables there')
  open(snapshot.closedTypes, 'TYPE', 'twins have columns of it')
}

/** Owners of twins that do not own the schema of these. */
function listMakers({ masked, owners, twinOwner }: Desired) {
  const names = new Set(owners.map(({ name }) => name).filter((name) => name !== twinOwner))
  const made = masked.flatMap(({ twin }) => (twin && names.has(twin.owner) ? [twin] : []))
  return new Map(made.map((twin) => [JSON.stringify([twin.schema, twin.owner]), twin])).values()
}

export function createOwner(steps: Step[], snapshot: Snapshot, { name }: TwinOwner): void {
  if (snapshot.roles.has(name)) return
  steps.push(
    { sql: `CREATE ROLE ${quoteIdentifier(name)} NOLOGIN`, why: 'a role to own twins' },
    {
      ...markOwner(name, 'masquerade twins'),
      writeFor: { role: name, write: (oid) => markOwner(name, snapshot.writeTwinMark(oid)).sql },
    },
    joinOwner(name, snapshot),
  )
}

/**
 * What one that is there has to lose before it reads anything. A role that could act as it would read masked tables: it has NOLOGIN, and
 * no member but the binding's.
 */
export function tightenOwner(snapshot: Snapshot, { name, intruders }: TwinOwner): Step[] {
  const owner = quoteIdentifier(name)
  const known = snapshot.roles.get(name)
  if (!known) return []
  const steps: Step[] = []
  if (known.excess.length > 0)
    steps.push({
      sql: `ALTER ROLE ${owner} ${known.excess.join(' ')}`,
      why: 'an owner of twins can do nothing else',
    })
  const grantedBy = snapshot.version >= 160000
  for (const { member, grantor } of intruders.filter((one) => isRevocable(one, snapshot)))
    steps.push({
      sql: `REVOKE ${owner} FROM ${quoteIdentifier(member)}${grantedBy ? ` GRANTED BY ${quoteIdentifier(grantor)}` : ''} CASCADE`,
      why: 'no other role acts as an owner of twins',
    })
  const isJoined = snapshot.twinRoles.some((one) => one.name === name && one.isJoined)
  const holds = snapshot.roles.get(snapshot.user)?.memberOf.includes(name)
  if (!holds && !(isJoined && snapshot.superuser)) steps.push(joinOwner(name, snapshot))
  return steps
}

/** True where another role may act as it, or it may do more than own twins. */
export function isLoose(snapshot: Snapshot, { name, intruders }: TwinOwner): boolean {
  const isInExcess = (snapshot.roles.get(name)?.excess.length ?? 0) > 0
  return isInExcess || intruders.some((one) => isRevocable(one, snapshot))
}

function joinOwner(name: string, { version }: Snapshot): Step {
  const self = version >= 160000 ? ' WITH SET TRUE, INHERIT FALSE' : ''
  return { sql: `GRANT ${quoteIdentifier(name)} TO CURRENT_USER${self}`, why: 'to make twins in its name' }
}

/** The marks that owners of twins lack, or that an older key signed. Since PostgreSQL 16 a comment takes ADMIN on the role, too. */
export function markOwners(snapshot: Snapshot, owners: readonly TwinOwner[]): Step[] {
  const { superuser, createsRoles, version, twinRoles } = snapshot
  const names = new Set(owners.map(({ name }) => name))
  return twinRoles.flatMap(({ name, isOurs, isAdministered, mark }) => {
    const mayMark = superuser || (createsRoles && (version < 160000 || isAdministered))
    return names.has(name) && isOurs && mark !== null && mayMark ? [markOwner(name, mark)] : []
  })
}

function markOwner(name: string, mark: string): Step {
  return {
    sql: `COMMENT ON ROLE ${quoteIdentifier(name)} IS ${quoteLiteral(mark)}`,
    why: 'to know it again, whatever other roles are named',
  }
}

export function maskRelation(plan: Plan, wanted: DesiredRelation, remade: ReadonlySet<number>): void {
  const { steps, guards } = plan
  const { relation } = wanted
  const names = namesOf(relation)
  const made = wanted.twin ? makeTwin(plan, wanted, wanted.twin, names, remade.has(relation.oid)) : false
  if (made || !remembers(guards.get(relation.oid), wanted)) steps.push(writeGuard(plan.snapshot, wanted))
  grantRelation(plan, wanted)
}

function namesOf({ columns }: Relation): ReadonlyMap<number, string> {
  return new Map(columns.map((column) => [column.number, column.name]))
}

export function grantRelation({ steps }: Plan, wanted: DesiredRelation): void {
  const { relation } = wanted
  const seen = {
    grants: relation.grants,
    columnGrants: relation.columns.flatMap(({ name, acl }) =>
      acl.map((grant) => ({ ...grant, column: name })),
    ),
  }
  const { oid, owner } = relation
  const on = quoteQualified(relation.schema, relation.name)
  const columnGrants = named(wanted.columnGrants, namesOf(relation))
  const columns = relation.columns.map(({ name }) => name)
  const target = { on, oid, owner, columns, ...actAs(relation) }
  setGrants(steps, target, seen, { grants: wanted.grants, columnGrants })
  setRights(steps, relation, wanted.rights)
}

export function release(plan: Plan, released: Released): void {
  const { steps, snapshot } = plan
  giveBackGrants(plan, released)
  if (hasRecords(plan)) steps.push(forget(snapshot.guard.schema, released.guard.oid))
}

/**
 * Gives the recorded grants back, each by the role that gave it. Refuses where the binding cannot act for the owner: PostgreSQL answers a
 * GRANT with a warning where the role has any privilege on the relation, and the record would be forgotten.
 */
export function giveBackGrants({ steps, snapshot }: Plan, { relation, remembered }: Released): void {
  if (!relation) return
  const restored: Step[] = []
  restoreGrants(restored, relation, remembered)
  restoreRights(restored, relation, remembered.rights)
  const isRefused = relation.managed === 'not' && restored.length > 0
  steps.push(...(isRefused ? [refuseToGiveBack(relation, snapshot.user)] : restored))
}

/**
 * Nothing is masked any more: our schemas and the owners of the twins go, and with them every privilege they were given. Twins
 * that objects of others read stay, with their owners, until those objects are gone.
 */
export function leave({ steps, snapshot, desired }: Plan): void {
  const shadows = [...snapshot.shadowSchemas.values()].includes(desired.twinOwner)
  const { isThere, schema } = snapshot.guard
  if (isThere)
    steps.push({
      sql: `DROP SCHEMA ${quoteIdentifier(schema)} CASCADE`,
      why: 'nothing is left to remember',
    })
  const { departure } = snapshot
  if (!departure || !snapshot.roles.has(desired.twinOwner) || !(isThere || shadows)) return
  if (!isThere && departure.hasKeptTwins) return
  steps.push(...dropTwinOwners(desired.twinOwner, departure, listOurs(snapshot)))
}

function listOurs({ twinRoles }: Snapshot): Set<string> {
  return new Set(twinRoles.filter(({ isOurs }) => isOurs).map(({ name }) => name))
}

/** Twins of relations that the binding cannot act for stay, with their owners. */
export function dropIdle({ snapshot, desired, strays, guards, twins }: Plan): Step[] {
  if (!snapshot.departure) return []
  const changed = [
    ...desired.masked.map(({ relation }) => relation.oid),
    ...desired.released.flatMap(({ guard, relation }) => (relation?.managed === 'not' ? [] : guard.oid)),
  ]
  const leaving = changed.flatMap((oid) => {
    const twin = guards.get(oid)?.twin
    return (twin && twins.get(quoteQualified(twin.schema, twin.name))) ?? []
  })
  const replaced = desired.masked.flatMap(({ twin }) => findStray(strays, twin) ?? [])
  const all = [...new Set([...leaving, ...replaced])]
  return dropIdleOwners(desired.twinOwner, snapshot.departure, all, listOurs(snapshot))
}
