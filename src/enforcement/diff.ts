import { quoteIdentifier, quoteQualified } from '../db/quote.ts'
import type { Guard, ObservedTwin, Relation, Snapshot } from './catalog.ts'
import type { Desired, DesiredRelation, DesiredTwin, Released } from './desire.ts'
import { named, restoreGrants, setGrants } from './grant-steps.ts'
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
  readonly orElse?: string
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
  const relations = new Map(snapshot.relations.map((relation) => [relation.oid, relation]))
  const plan = { steps, snapshot, desired, guards, twins, relations }
  prepare(plan)
  const remade = dropTwins(plan)
  for (const wanted of desired.masked) maskRelation(plan, wanted, remade)
  for (const released of desired.released) release(plan, released)
  const lost = JSON.stringify(snapshot.exempt) !== JSON.stringify(desired.exempt)
  if (desired.masked.length > 0 && lost) steps.push(writeExempt(desired.exempt))
  if (desired.empty) leave(plan)
  return steps
}

interface Plan {
  readonly steps: Step[]
  readonly snapshot: Snapshot
  readonly desired: Desired
  readonly guards: ReadonlyMap<number, Guard>
  readonly twins: ReadonlyMap<string, ObservedTwin>
  readonly relations: ReadonlyMap<number, Relation>
}

/** The role, the schemas and the notes that everything else stands on. */
function prepare({ steps, snapshot, desired }: Plan): void {
  const owner = quoteIdentifier(desired.twinOwner)
  if (desired.masked.length === 0) return
  if (!snapshot.roles.has(desired.twinOwner)) {
    steps.push({ sql: `CREATE ROLE ${owner} NOLOGIN`, why: 'a role to own the twins' })
    const self = snapshot.version >= 160000 ? ' WITH SET TRUE, INHERIT FALSE' : ''
    steps.push({ sql: `GRANT ${owner} TO CURRENT_USER${self}`, why: 'to make twins in its name' })
  }
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
  if (desired.masked.some(({ relation }) => relation.definition !== null))
    for (const { schema, name } of snapshot.bystanders.filter(({ readable }) => !readable)) {
      steps.push({
        sql: `GRANT USAGE ON SCHEMA ${quoteIdentifier(schema)} TO ${owner}`,
        why: 'the twin of a view reads it',
      })
      steps.push({
        sql: `GRANT SELECT ON ${quoteQualified(schema, name)} TO ${owner}`,
        why: 'the twin of a view reads it',
      })
    }
}

/** Twins that must go or cannot be replaced in place, the last made first. Returns those that are to be made again. */
function dropTwins({ steps, desired, guards, twins }: Plan): ReadonlySet<number> {
  const gone = new Set<number>()
  for (const { relation, twin } of desired.masked) {
    const known = guards.get(relation.oid)?.twin
    const observed = known && twins.get(quoteQualified(known.schema, known.name))
    if (!observed) continue
    const moved = !twin || known.schema !== twin.schema || known.name !== twin.name
    if (moved || !replaceable(observed, twin, relation) || relation.reads.some((oid) => gone.has(oid)))
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
  const names = new Map(relation.columns.map((column) => [column.number, column.name]))
  const made = wanted.twin ? makeTwin(plan, wanted, wanted.twin, names, remade.has(relation.oid)) : false
  const seen = {
    grants: relation.grants,
    columnGrants: relation.columns.flatMap(({ name, acl }) =>
      acl.map((grant) => ({ ...grant, column: name })),
    ),
  }
  setGrants(steps, quoteQualified(relation.schema, relation.name), relation.owner, seen, {
    grants: wanted.grants,
    columnGrants: named(wanted.columnGrants, names),
  })
  if (made || !remembers(guards.get(relation.oid), wanted)) steps.push(writeGuard(wanted))
}

/** Returns whether it is made anew. */
function makeTwin(
  { steps, guards, twins, desired }: Plan,
  { relation, remembered }: DesiredRelation,
  twin: DesiredTwin,
  names: ReadonlyMap<number, string>,
  dropped: boolean,
): boolean {
  const owner = desired.twinOwner
  const name = quoteQualified(twin.schema, twin.name)
  const known = guards.get(relation.oid)?.twin
  const observed = dropped ? undefined : twins.get(name)
  const isKnown = known?.wanted === wantedText(twin)
  // PostgreSQL has refused this very twin before: asking again would change nothing.
  if (isKnown && known.made === null) return false
  const asWanted = isKnown && known.made === observed?.definition && observed.owner === owner
  const made: Step[] = []
  if (!asWanted) {
    const columns = twin.columns.map(quoteIdentifier).join(', ')
    const barrier = twin.securityBarrier ? ' WITH (security_barrier)' : ''
    const why = `the masked twin of ${relation.schema}.${relation.name}`
    made.push({
      sql: `CREATE OR REPLACE VIEW ${name} (${columns})${barrier} AS ${twin.select}`,
      why,
      as: owner,
    })
  }
  const wanted = { grants: remembered.grants, columnGrants: named(remembered.columnGrants, names) }
  setGrants(made, name, owner, observed ?? { grants: [], columnGrants: [] }, wanted, owner)
  // A view that cannot have a twin has none; the view itself is closed all the same, and so is an older twin.
  const closed: Step[] = []
  if (observed) setGrants(closed, name, owner, observed, { grants: [], columnGrants: [] }, owner)
  const together = `${relation.schema}.${relation.name}`
  steps.push(...made.map((step) => ({ ...step, together, otherwise: closed })))
  return !asWanted
}

/** Gives back what was remembered, as it was, each grant by whoever gave it. */
function release({ steps }: Plan, { guard, relation, remembered }: Released): void {
  if (relation) restoreGrants(steps, relation, remembered)
  steps.push(forget(guard.oid))
}

/** Nothing is masked any more: what we brought goes as a whole, and with it every privilege it was given. */
function leave({ steps, snapshot, desired }: Plan): void {
  const owner = quoteIdentifier(desired.twinOwner)
  if (snapshot.guarded)
    steps.push({
      sql: `DROP SCHEMA ${quoteIdentifier(guardSchema)} CASCADE`,
      why: 'nothing is left to remember',
    })
  if (!snapshot.roles.has(desired.twinOwner)) return
  steps.push({ sql: `DROP OWNED BY ${owner}`, why: 'its schemas and privileges' })
  steps.push({ sql: `DROP ROLE ${owner}`, why: 'it has nothing to own' })
}
