import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { ObservedTwin, Relation, Twin } from '../catalog.ts'
import { clearPrivileges, named, setGrants } from '../grants/grant-steps.ts'
import { wantedText } from '../guard/guard-steps.ts'
import type { DesiredRelation, DesiredTwin, Plan, Step } from '../plan.ts'

/** Twins that must go or cannot be replaced in place, the last made first. Returns those that are to be made again. */
export function dropTwins({ steps, desired, guards, twins }: Plan): ReadonlySet<number> {
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

/** Returns whether it is made anew. */
export function makeTwin(
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

export function isAsMade(known: Twin, observed: ObservedTwin, twin: DesiredTwin): boolean {
  return (
    known.made === observed.definition &&
    observed.owner === twin.owner &&
    observed.securityBarrier === twin.securityBarrier &&
    observed.securityInvoker === twin.securityInvoker
  )
}

/** Only the owner of the twins may create in their schemas, except for this one statement. */
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
