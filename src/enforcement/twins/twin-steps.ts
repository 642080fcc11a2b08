import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import type { Grant, ObservedTwin, Relation, Snapshot, Twin } from '../catalog.ts'
import { clearPrivileges, type Grants, named, setGrants } from '../grants/grant-steps.ts'
import { isCompared, isWanted, recordParsed } from '../guard/guard-steps.ts'
import { isTwinOwnerName } from '../names.ts'
import { noTwin } from '../notes.ts'
import type { Desired, DesiredRelation, DesiredTwin, Plan, Step } from '../plan.ts'
import { commentAgain, commentColumns } from './comments.ts'
import { removeTwin, removeTwins } from './remove-twin.ts'
import { refuseStrays } from './stray-makers.ts'

/** Relations whose twins must go or cannot be replaced in place. */
export function findRemade(plan: Plan): ReadonlySet<number> {
  const { snapshot, desired, guards, twins, strays } = plan
  const gone = new Set<number>()
  const shared = listShared(plan)
  for (const { relation, twin } of desired.masked) {
    const known = guards.get(relation.oid)?.twin
    const own = known && twins.get(quoteQualified(known.schema, known.name))
    const observed = own ?? findStray(strays, twin)
    if (!observed) continue
    // The twin of a view may have other types than the view by its own text: asked for again, it would be dropped in each turn.
    const stays = known && twin && observed === own && isDefinedAsWanted(known, observed, twin)
    if (
      !twin ||
      shared.has(quoteQualified(observed.schema, observed.name)) ||
      observed.schema !== twin.schema ||
      observed.name !== twin.name ||
      (observed.owner !== twin.owner && !canReown(snapshot, desired, observed, twin)) ||
      (!stays && !replaceable(observed, twin, relation, observed === own)) ||
      relation.reads.some((oid) => gone.has(oid))
    )
      gone.add(relation.oid)
  }
  return gone
}

/** Twins, by name, that the records of two masked relations name, as an earlier release left them. */
function listShared({ desired, guards }: Plan): ReadonlySet<string> {
  const seen = new Set<string>()
  const shared = new Set<string>()
  for (const { relation } of desired.masked) {
    const twin = guards.get(relation.oid)?.twin
    if (!twin) continue
    const name = quoteQualified(twin.schema, twin.name)
    if (seen.has(name)) shared.add(name)
    seen.add(name)
  }
  return shared
}

export function dropRemade(plan: Plan, remade: ReadonlySet<number>): void {
  const standing = plan.desired.masked
    .toReversed()
    .flatMap((wanted) => (remade.has(wanted.relation.oid) ? listStanding(plan, wanted) : []))
  const each = [...new Set(standing)]
  plan.steps.push(...removeTwins(plan, each, 'twins that are not wanted or have other columns now'))
}

/** The twin of a relation, and what stands where it is to have one. */
export function listStanding(plan: Plan, { relation, twin }: DesiredRelation): ObservedTwin[] {
  const own = plan.twins.get(nameTwin(plan, relation.oid) ?? '')
  const stray = findStray(plan.strays, twin)
  const found = [own, stray].flatMap((one) => one ?? [])
  return [...new Map(found.map((one) => [quoteQualified(one.schema, one.name), one])).values()]
}

/** The view that stands where a twin is to be made, and is not the relation's own. */
export function findStray(strays: Plan['strays'], twin: DesiredTwin | null): ObservedTwin | undefined {
  return twin ? strays.get(quoteQualified(twin.schema, twin.name)) : undefined
}

/** The twin of a relation, where it is there. */
export function nameTwin({ guards, twins }: Plan, oid: number): string | undefined {
  const twin = guards.get(oid)?.twin
  const name = twin && quoteQualified(twin.schema, twin.name)
  return name && twins.has(name) ? name : undefined
}

/**
 * CREATE OR REPLACE VIEW keeps what depends on the twin, but only takes the same columns, and new ones at the end. Under a mask, a
 * column of a domain has the type below it; in the twin of a view either is possible. `isOwn`: the relation's own twin reads each of its
 * columns, which PostgreSQL does not drop then, so one of another name was renamed.
 */
function replaceable(
  observed: ObservedTwin,
  twin: DesiredTwin,
  { columns, definition }: Relation,
  isOwn: boolean,
): boolean {
  return observed.columns.every(({ name, type }, at) => {
    const column = columns[at]
    if (!column || !(isOwn || name === column.name)) return false
    const isMasked = twin.comments.has(column.name)
    const types =
      definition !== null ? [column.type, column.baseType] : [isMasked ? column.baseType : column.type]
    return types.includes(type)
  })
}

/** Returns whether it is made anew. */
export function makeTwin(
  plan: Plan,
  wanted: DesiredRelation,
  twin: DesiredTwin,
  names: ReadonlyMap<number, string>,
  dropped: boolean,
): boolean {
  const { steps, snapshot, desired, guards, strays } = plan
  const { relation } = wanted
  const name = quoteQualified(twin.schema, twin.name)
  const known = guards.get(relation.oid)?.twin
  // A view that is the twin of another relation by its record is never replaced.
  const own = nameTwin(plan, relation.oid) === name ? plan.twins.get(name) : undefined
  const standing = own ?? strays.get(name)
  const mayStay = standing?.owner === twin.owner || (standing && canReown(snapshot, desired, standing, twin))
  const observed = dropped || !mayStay ? undefined : standing
  // PostgreSQL has refused this very twin before: asking again would change nothing.
  if (known?.made === null && isWanted(known, twin) && (known.source ?? null) === twin.source) return false
  const asWanted = !!known && observed !== undefined && isDefinedAsWanted(known, observed, twin)
  // A view that cannot have a twin has none, nor keeps an older one that may show more; the view itself is closed.
  const gone = removeTwin(plan, { ...twin, owner: standing?.owner ?? twin.owner }, 'a twin that is refused')
  const together = `${relation.schema}.${relation.name}`
  const refusal = noTwin(relation)
  // A role that is granted the twin has another name by now, or the table has. The twin of a view may read one that is refused.
  const renamed = [sqlstate.undefinedObject]
  // What stands there then is the twin of a relation that this turn does not look at.
  const taken = [...renamed, sqlstate.duplicateTable]
  const passing = wanted.readsItself ? [...taken, sqlstate.undefinedTable] : taken
  const anew = writeTwin(plan, wanted, twin, names, undefined, false)
  // PostgreSQL may still make it where nothing stands. A reader may have kept one that was to be dropped.
  const otherwise = [gone, ...anew.map((step) => ({ ...step, together, passing, otherwise: [], refusal }))]
  const alternative = standing ? { otherwise, passing: renamed } : { otherwise: [], passing, refusal }
  const made = writeTwin(plan, wanted, twin, names, observed, asWanted)
  steps.push(...made.map((step) => ({ ...step, together, ...alternative })))
  if (asWanted && !isAsParsed(known, observed, twin))
    steps.push(recordParsed(snapshot.guard.schema, relation.oid, twin))
  return !asWanted
}

/** Makes a twin where `observed` stands, with its comments and grants. */
function writeTwin(
  { snapshot, desired }: Plan,
  wanted: DesiredRelation,
  twin: DesiredTwin,
  names: ReadonlyMap<number, string>,
  observed: ObservedTwin | undefined,
  asWanted: boolean,
): Step[] {
  const { owner } = twin
  const name = quoteQualified(twin.schema, twin.name)
  const comments = commentColumns(twin, observed)
  const made = observed && observed.owner !== owner ? giveTwin(snapshot, name, observed.owner, owner) : []
  if (observed) made.push(...renameColumns(observed, twin))
  const create = () => createTwin(twin, wanted.relation, desired, comments, observed !== undefined)
  made.push(...(asWanted ? commentAgain(comments, owner) : create()))
  if (!observed && snapshot.generous.has(owner)) made.push(clearPrivileges(name, owner))
  const renamed = new Map(observed?.columns.map((column, at) => [column.name, twin.columns[at]]))
  const nameNow = (column: string) => renamed.get(column) ?? column
  // What its former owner granted is by the new one.
  const ofOwner = <G extends Grant>(grant: G) =>
    grant.grantor === observed?.owner ? { ...grant, grantor: owner } : grant
  const seen = {
    grants: (observed?.grants ?? []).filter(({ grantee }) => grantee !== observed?.owner).map(ofOwner),
    columnGrants: (observed?.columnGrants ?? []).map((one) => ({
      ...ofOwner(one),
      column: nameNow(one.column),
    })),
  }
  const columns = observed?.columns.map((column) => nameNow(column.name)) ?? []
  const target = { on: name, oid: null, owner, columns, as: owner }
  setGrants(made, target, seen, listTwinGrants(wanted, owner, names))
  return made
}

/** The grants of a twin. `names`: of its columns, by the numbers of the relation's. */
export function listTwinGrants(
  { relation, remembered }: Pick<DesiredRelation, 'relation' | 'remembered'>,
  owner: string,
  names: ReadonlyMap<number, string>,
): Grants {
  const reader = { grantor: owner, grantee: relation.owner, grantable: false }
  return {
    grants: [...remembered.grants, reader],
    columnGrants: named(remembered.columnGrants, names),
  }
}

/** Two columns may have exchanged their names: each gets one that no column has first. */
function renameColumns(observed: ObservedTwin, { columns, owner }: DesiredTwin): Step[] {
  const renamed = observed.columns.flatMap(({ name }, at) => {
    const to = columns[at]
    return to === undefined || to === name ? [] : [{ from: name, to }]
  })
  const taken = new Set([...columns, ...observed.columns.map(({ name }) => name)])
  let prefix = 'renamed'
  while ([...taken].some((name) => name.startsWith(prefix))) prefix += '_'
  const rename = (from: string, to: string): Step => ({
    sql: `ALTER VIEW ${quoteQualified(observed.schema, observed.name)} RENAME COLUMN ${quoteIdentifier(from)} TO ${quoteIdentifier(to)}`,
    why: 'a column was renamed',
    as: owner,
  })
  return [
    ...renamed.map(({ from }, at) => rename(from, `${prefix}${at}`)),
    ...renamed.map(({ to }, at) => rename(`${prefix}${at}`, to)),
  ]
}

export function isAsMade(known: Twin, observed: ObservedTwin, twin: DesiredTwin): boolean {
  return (
    observed.owner === twin.owner &&
    isDefinedAsMade(known, observed, twin) &&
    isAsParsed(known, observed, twin)
  )
}

/**
 * There is nothing to replace in it. A node of the last release records no hashes: made again, that node's twin would be made again by
 * each in turn. Every change of the transaction compares the twins: one that uses others undoes it, is closed, and made again then.
 */
function isDefinedAsWanted(known: Twin, observed: ObservedTwin, twin: DesiredTwin): boolean {
  const isUnhashed = known.source === undefined && !known.isClosed
  return (
    isWanted(known, twin) &&
    isDefinedAsMade(known, observed, twin) &&
    (isUnhashed || isAsParsed(known, observed, twin))
  )
}

function isDefinedAsMade(known: Twin, observed: ObservedTwin, twin: DesiredTwin): boolean {
  return (
    known.made === observed.definition &&
    observed.securityBarrier === twin.securityBarrier &&
    observed.securityInvoker === twin.securityInvoker
  )
}

/** Its source and its rule lead to what they led to when it was made. */
function isAsParsed(known: Twin, observed: ObservedTwin, twin: DesiredTwin): boolean {
  const { source = null, parsed = null } = known
  return isCompared(known) && source === twin.source && parsed === observed.parsed
}

/** Twins go from one owner of twins to another as they are, with the objects of others that read them. */
function canReown(
  { version, superuser, createsRoles, twinRoles }: Snapshot,
  { owners }: Desired,
  observed: ObservedTwin,
  twin: DesiredTwin,
): boolean {
  const isOurs = isTwinOwnerName(observed.owner) && owners.some(({ name }) => name === twin.owner)
  const role = twinRoles.find(({ name }) => name === twin.owner)
  const isMaster = superuser || (createsRoles && version < 160000)
  return isOurs && (isMaster || !role || role.isAdministered)
}

/** To give an object away takes membership in its new owner. */
function giveTwin({ superuser, version }: Snapshot, name: string, from: string, to: string): Step[] {
  const why = 'the twins of each owner of tables have a role of their own'
  const give = { sql: `ALTER VIEW ${name} OWNER TO ${quoteIdentifier(to)}`, why }
  if (superuser) return [give]
  const [role, member] = [quoteIdentifier(to), quoteIdentifier(from)]
  const option = version >= 160000 ? ' WITH SET TRUE, INHERIT FALSE' : ''
  return [
    { sql: `GRANT ${role} TO ${member}${option}`, why },
    { ...give, as: from },
    { sql: `REVOKE ${role} FROM ${member}`, why },
  ]
}

/** Only owners of twins may create in their schemas, except for this one statement. PostgreSQL refuses a name that is not free. */
function createTwin(
  twin: DesiredTwin,
  relation: Relation,
  desired: Desired,
  comments: readonly string[],
  isReplaced: boolean,
): Step[] {
  const columns = twin.columns.map(quoteIdentifier).join(', ')
  const options = [twin.securityBarrier && 'security_barrier', twin.securityInvoker && 'security_invoker']
  const on = options.filter(Boolean)
  const withOptions = on.length > 0 ? ` WITH (${on.join(', ')})` : ''
  const name = quoteQualified(twin.schema, twin.name)
  const verb = isReplaced ? 'CREATE OR REPLACE VIEW' : 'CREATE VIEW'
  const create: Step = {
    sql: [`${verb} ${name} (${columns})${withOptions} AS ${twin.select}`, ...comments].join(';\n'),
    why: `the masked twin of ${relation.schema}.${relation.name}`,
    as: twin.owner,
  }
  const { twinOwner, owners } = desired
  if (owners.some(({ name }) => name === twin.owner)) return [create]
  const privilege = `CREATE ON SCHEMA ${quoteIdentifier(twin.schema)}`
  const owner = quoteIdentifier(twin.owner)
  const step = (sql: string): Step => ({ sql, why: 'the owner of a view owns its twin', as: twinOwner })
  return [
    step(`GRANT ${privilege} TO ${owner}`),
    create,
    step(`REVOKE ${privilege} FROM ${owner}`),
    refuseStrays(twin.schema, desired),
  ]
}
