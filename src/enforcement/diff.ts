import { quoteIdentifier, quoteQualified } from '../db/quote.ts'
import type { Relation, Snapshot } from './catalog.ts'
import { actAs, named, restoreGrants, setGrants } from './grants/grant-steps.ts'
import {
  createGuards,
  createWatch,
  forget,
  remembers,
  wantedText,
  writeExempt,
  writeGuard,
} from './guard/guard-steps.ts'
import { guardSchema } from './names.ts'
import type { Desired, DesiredRelation, Plan, Released, Step } from './plan.ts'
import { dropTwins, isAsMade, makeTwin } from './twins/twin-steps.ts'

/** Pure and printable: what it takes to get from what is there to what should be. Empty when nothing is to be done. */
export function diff(snapshot: Snapshot, desired: Desired): Step[] {
  const steps: Step[] = []
  const guards = new Map(snapshot.guards.map((guard) => [guard.oid, guard]))
  const twins = new Map(snapshot.twins.map((twin) => [quoteQualified(twin.schema, twin.name), twin]))
  const plan = { steps, snapshot, desired, guards, twins }
  prepare(plan)
  const remade = dropTwins(plan)
  for (const wanted of desired.masked) maskRelation(plan, wanted, remade)
  for (const released of desired.released) release(plan, released)
  const lost = JSON.stringify(snapshot.exempt) !== JSON.stringify(desired.recordedExempt)
  if (desired.masked.length > 0 && lost) steps.push(writeExempt(desired.recordedExempt))
  if (desired.empty) leave(plan)
  return steps
}

/**
 * Steps that take no lock on a twin, for when a session holds a lock on it or other objects depend on it. They set who
 * may read and close stale twins, but create none: nothing that must be masked stays open meanwhile.
 */
export function diffByGrants(snapshot: Snapshot, desired: Desired): Step[] {
  const steps: Step[] = []
  const guards = new Map(snapshot.guards.map((guard) => [guard.oid, guard]))
  const twins = new Map(snapshot.twins.map((twin) => [quoteQualified(twin.schema, twin.name), twin]))
  const plan = { steps, snapshot, desired, guards, twins }
  if (desired.masked.length > 0) prepareOwner(steps, snapshot, desired.twinOwner)
  if (desired.masked.length > 0 && !snapshot.guarded) steps.push(...createGuards)
  for (const wanted of desired.masked) {
    const { relation, twin } = wanted
    const known = guards.get(relation.oid)?.twin ?? null
    const observed = known && twins.get(quoteQualified(known.schema, known.name))
    const isKept =
      twin !== null &&
      known?.wanted === wantedText(twin) &&
      observed !== undefined &&
      observed !== null &&
      isAsMade(known, observed, twin)
    if (isKept) {
      maskRelation(plan, wanted, new Set())
      continue
    }
    if (observed) {
      const name = quoteQualified(observed.schema, observed.name)
      setGrants(steps, name, observed.owner, observed, { grants: [], columnGrants: [] }, observed.owner)
    }
    grantRelation(plan, wanted)
    steps.push(writeGuard(wanted, snapshot.roles, known))
  }
  return steps
}

/** The role, the schemas and the notes that everything else stands on. */
function prepare({ steps, snapshot, desired }: Plan): void {
  const owner = quoteIdentifier(desired.twinOwner)
  if (desired.masked.length === 0) return
  prepareOwner(steps, snapshot, desired.twinOwner)
  if (!snapshot.guarded) steps.push(...createGuards)
  if (snapshot.superuser && !snapshot.watched) steps.push(...createWatch)
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
  for (const schema of snapshot.closedSchemas)
    steps.push({
      sql: `GRANT USAGE ON SCHEMA ${quoteIdentifier(schema)} TO ${owner}`,
      why: 'twins read tables there',
    })
  for (const type of snapshot.closedTypes)
    steps.push({ sql: `GRANT USAGE ON TYPE ${type} TO ${owner}`, why: 'twins have columns of it' })
}

/** A role that could act as this one would read every masked table: it has NOLOGIN, and no member but the binding's. */
function prepareOwner(steps: Step[], snapshot: Snapshot, twinOwner: string): void {
  const owner = quoteIdentifier(twinOwner)
  const known = snapshot.roles.get(twinOwner)
  if (!known) steps.push({ sql: `CREATE ROLE ${owner} NOLOGIN`, why: 'a role to own the twins' })
  else if (known.excess.length > 0)
    steps.push({
      sql: `ALTER ROLE ${owner} ${known.excess.join(' ')}`,
      why: 'the owner of the twins can do nothing else',
    })
  const grantedBy = snapshot.version >= 160000
  for (const { member, grantor } of snapshot.intruders)
    steps.push({
      sql: `REVOKE ${owner} FROM ${quoteIdentifier(member)}${grantedBy ? ` GRANTED BY ${quoteIdentifier(grantor)}` : ''} CASCADE`,
      why: 'no other role acts as the owner of the twins',
    })
  const holds = snapshot.roles.get(snapshot.user)?.memberOf.includes(twinOwner)
  if (holds || (known && snapshot.superuser)) return
  const self = snapshot.version >= 160000 ? ' WITH SET TRUE, INHERIT FALSE' : ''
  steps.push({ sql: `GRANT ${owner} TO CURRENT_USER${self}`, why: 'to make twins in its name' })
}

function maskRelation(plan: Plan, wanted: DesiredRelation, remade: ReadonlySet<number>): void {
  const { steps, guards } = plan
  const { relation } = wanted
  const names = namesOf(relation)
  const made = wanted.twin ? makeTwin(plan, wanted, wanted.twin, names, remade.has(relation.oid)) : false
  grantRelation(plan, wanted)
  if (made || !remembers(guards.get(relation.oid), wanted))
    steps.push(writeGuard(wanted, plan.snapshot.roles))
}

function namesOf({ columns }: Relation): ReadonlyMap<number, string> {
  return new Map(columns.map((column) => [column.number, column.name]))
}

function grantRelation({ steps }: Plan, wanted: DesiredRelation): void {
  const { relation } = wanted
  const seen = {
    grants: relation.grants,
    columnGrants: relation.columns.flatMap(({ name, acl }) =>
      acl.map((grant) => ({ ...grant, column: name })),
    ),
  }
  const name = quoteQualified(relation.schema, relation.name)
  const columnGrants = named(wanted.columnGrants, namesOf(relation))
  setGrants(steps, name, relation.owner, seen, { grants: wanted.grants, columnGrants }, actAs(relation).as)
}

/** Restores the remembered grants, each with its grantor. */
function release({ steps }: Plan, { guard, relation, remembered }: Released): void {
  if (relation) restoreGrants(steps, relation, remembered)
  steps.push(forget(guard.oid))
}

/** Nothing is masked any more: what we brought goes as a whole, and with it every privilege it was given. */
function leave({ steps, snapshot, desired }: Plan): void {
  const owner = quoteIdentifier(desired.twinOwner)
  const shadows = [...snapshot.shadowSchemas.values()].includes(desired.twinOwner)
  if (!snapshot.guarded && !shadows) return
  if (snapshot.guarded)
    steps.push({
      sql: `DROP SCHEMA ${quoteIdentifier(guardSchema)} CASCADE`,
      why: 'nothing is left to remember',
    })
  if (!snapshot.roles.has(desired.twinOwner)) return
  steps.push({ sql: `DROP OWNED BY ${owner}`, why: 'its schemas and privileges', as: desired.twinOwner })
  // A role that an operator prepared is for the operator to drop.
  const nothing: Step = { sql: 'SELECT 1', why: 'it stays' }
  steps.push({ sql: `DROP ROLE ${owner}`, why: 'it has nothing to own', orElse: nothing })
}
