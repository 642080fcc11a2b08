import { quoteIdentifier, quoteQualified } from '../db/quote.ts'
import type { Guard, ObservedTwin, Relation, Snapshot, Twin } from './catalog.ts'
import type { Desired, DesiredRelation, DesiredTwin, Released } from './desire.ts'
import { actAs, clearPrivileges, named, restoreGrants, setGrants } from './grant-steps.ts'
import {
  createGuards,
  createWatch,
  forget,
  remembers,
  wantedText,
  writeExempt,
  writeGuard,
} from './guard-steps.ts'
import { guardSchema } from './names.ts'

/** One statement of a plan, and why it is there. */
export interface Step {
  readonly sql: string
  readonly why: string
  /** Runs as this role: twins are made by their owner, grants of others are given back by those who gave them. */
  readonly as?: string
  /** May fail without harm: the grant is then given by the owner of the relation. */
  readonly orElse?: Step
  /** Steps of one name after one another are done together or not at all; the rest of the plan goes on. */
  readonly together?: string
  /** What is done instead when they fail. */
  readonly otherwise?: readonly Step[]
}

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
  const lost = JSON.stringify(snapshot.exempt) !== JSON.stringify(desired.exempt)
  if (desired.masked.length > 0 && lost) steps.push(writeExempt(desired.exempt))
  if (desired.empty) leave(plan)
  return steps
}

/**
 * What takes no lock on a twin, for when somebody holds one or has built on it: nothing that is to be masked stays open
 * until the twin can be changed. Who may read is set; twins that are not as they should be are closed, none is made.
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

interface Plan {
  readonly steps: Step[]
  readonly snapshot: Snapshot
  readonly desired: Desired
  readonly guards: ReadonlyMap<number, Guard>
  readonly twins: ReadonlyMap<string, ObservedTwin>
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

/** Whoever could act as this role would read everything: nobody logs in as it, and nobody else is a member. */
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
      why: 'nobody acts as the owner of the twins',
    })
  const holds = snapshot.roles.get(snapshot.user)?.memberOf.includes(twinOwner)
  if (holds || (known && snapshot.superuser)) return
  const self = snapshot.version >= 160000 ? ' WITH SET TRUE, INHERIT FALSE' : ''
  steps.push({ sql: `GRANT ${owner} TO CURRENT_USER${self}`, why: 'to make twins in its name' })
}

/** Twins that must go or cannot be replaced in place, the last made first. Returns those that are to be made again. */
function dropTwins({ steps, desired, guards, twins }: Plan): ReadonlySet<number> {
  const gone = new Set<number>()
  for (const { relation, twin } of desired.masked) {
    const known = guards.get(relation.oid)?.twin
    const observed = known && twins.get(quoteQualified(known.schema, known.name))
    if (!observed) continue
    const moved = !twin || known.schema !== twin.schema || known.name !== twin.name
    if (
      moved ||
      observed.owner !== twin.owner ||
      !replaceable(observed, twin, relation) ||
      relation.reads.some((oid) => gone.has(oid))
    )
      gone.add(relation.oid)
  }
  const released = desired.released.flatMap(({ guard: { twin } }) =>
    twin && twins.has(quoteQualified(twin.schema, twin.name)) ? [twin] : [],
  )
  const remade = desired.masked.flatMap(({ relation }) => {
    const twin = guards.get(relation.oid)?.twin
    return twin && gone.has(relation.oid) ? [twin] : []
  })
  const names = [...remade, ...released].map(({ schema, name }) => quoteQualified(schema, name))
  if (names.length > 0)
    steps.push({
      sql: `DROP VIEW ${names.join(', ')}`,
      why: 'twins that are not wanted or have other columns now',
      as: desired.twinOwner,
    })
  return gone
}

/** CREATE OR REPLACE VIEW keeps what depends on the twin, but only takes the same columns, and new ones at the end. */
function replaceable(observed: ObservedTwin, twin: DesiredTwin, relation: Relation): boolean {
  return observed.columns.every(
    ({ name, type }, at) =>
      name === twin.columns[at] &&
      [relation.columns[at]?.type, relation.columns[at]?.baseType].includes(type),
  )
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

/** Returns whether it is made anew. */
function makeTwin(
  { steps, snapshot, guards, twins, desired }: Plan,
  { relation, remembered }: DesiredRelation,
  twin: DesiredTwin,
  names: ReadonlyMap<number, string>,
  dropped: boolean,
): boolean {
  const { owner } = twin
  const name = quoteQualified(twin.schema, twin.name)
  const known = guards.get(relation.oid)?.twin
  const observed = dropped ? undefined : twins.get(name)
  const isKnown = known?.wanted === wantedText(twin)
  // PostgreSQL has refused this very twin before: asking again would change nothing.
  if (isKnown && known.made === null) return false
  const asWanted = isKnown && observed !== undefined && isAsMade(known, observed, twin)
  const made = asWanted ? [] : createTwin(twin, relation, desired.twinOwner)
  if (!observed && snapshot.generous.has(owner)) made.push(clearPrivileges(name, owner))
  const reader = { grantor: owner, grantee: relation.owner, grantable: false }
  const wanted = {
    grants: [...remembered.grants, reader],
    columnGrants: named(remembered.columnGrants, names),
  }
  setGrants(made, name, owner, observed ?? { grants: [], columnGrants: [] }, wanted, owner)
  // A view that cannot have a twin has none, nor keeps an older one that may show more; the view itself is closed.
  const gone = {
    sql: `DROP VIEW IF EXISTS ${name} CASCADE`,
    why: 'a twin that is refused',
    as: desired.twinOwner,
  }
  const together = `${relation.schema}.${relation.name}`
  steps.push(...made.map((step) => ({ ...step, together, otherwise: [gone] })))
  return !asWanted
}

function isAsMade(known: Twin, observed: ObservedTwin, twin: DesiredTwin): boolean {
  return (
    known.made === observed.definition &&
    observed.owner === twin.owner &&
    observed.securityBarrier === twin.securityBarrier &&
    observed.securityInvoker === twin.securityInvoker
  )
}

/** Nobody but the owner of the twins may create in their schemas, except for this one statement. */
function createTwin(twin: DesiredTwin, relation: Relation, twinOwner: string): Step[] {
  const columns = twin.columns.map(quoteIdentifier).join(', ')
  const options = [twin.securityBarrier && 'security_barrier', twin.securityInvoker && 'security_invoker']
  const on = options.filter(Boolean)
  const withOptions = on.length > 0 ? ` WITH (${on.join(', ')})` : ''
  const name = quoteQualified(twin.schema, twin.name)
  const create: Step = {
    sql: `CREATE OR REPLACE VIEW ${name} (${columns})${withOptions} AS ${twin.select}`,
    why: `the masked twin of ${relation.schema}.${relation.name}`,
    as: twin.owner,
  }
  if (twin.owner === twinOwner) return [create]
  const privilege = `CREATE ON SCHEMA ${quoteIdentifier(twin.schema)}`
  const owner = quoteIdentifier(twin.owner)
  const step = (sql: string): Step => ({ sql, why: 'the owner of a view owns its twin', as: twinOwner })
  return [step(`GRANT ${privilege} TO ${owner}`), create, step(`REVOKE ${privilege} FROM ${owner}`)]
}

/** Gives back what was remembered, as it was, each grant by whoever gave it. */
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
  // One that was prepared by somebody else is theirs to drop.
  const nothing: Step = { sql: 'SELECT 1', why: 'it stays' }
  steps.push({ sql: `DROP ROLE ${owner}`, why: 'it has nothing to own', orElse: nothing })
}
