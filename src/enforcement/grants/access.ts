import { quoteQualified } from '../../db/quote.ts'
import type { ColumnGrant, Grant, Guard, ObservedTwin, Relation, Right, Snapshot } from '../catalog.ts'
import { isTwinOwnerName } from '../names.ts'
import { isExempt, lendRights, rememberRights } from './rights.ts'
import { type exemptions, withAncestors } from './roles.ts'

/** The grants of a relation without those that the controller made. */
export interface Remembered {
  readonly grants: readonly Grant[]
  readonly columnGrants: readonly ColumnGrant[]
  readonly rights: readonly Right[]
}

/** The grants of a relation while masks are on it. */
export interface Access {
  readonly remembered: Remembered
  readonly grants: readonly Grant[]
  readonly columnGrants: readonly ColumnGrant[]
  /** Masked roles have none: they lead to values. */
  readonly rights: readonly Right[]
  readonly lent: readonly string[]
}

/**
 * The grants that roles were given on a relation, seen through the changes of the controller. A grant made by hand since is
 * taken as meant: it becomes a grant of the masked data. A revoke made by hand is taken as meant too; where the relation
 * shows no trace of a grant, as of a masked column, it is looked for at the twin.
 */
export function remember(
  relation: Relation,
  guard: Guard | undefined,
  { exempt }: Pick<Snapshot, 'exempt'>,
  twins: ReadonlyMap<string, ObservedTwin>,
): Remembered {
  const isTheirs = ({ grantee }: Grant) =>
    grantee !== relation.owner && !(grantee !== null && isTwinOwnerName(grantee))
  const seen = relation.grants.filter(isTheirs)
  const seenColumns = relation.columns.flatMap((column) =>
    column.acl.filter(isTheirs).map((grant) => ({ ...grant, column: column.number })),
  )
  const withRights = (grants: readonly Grant[], columnGrants: readonly ColumnGrant[]): Remembered => {
    const left = new Set([...relation.writers, ...[...grants, ...columnGrants].map(({ grantee }) => grantee)])
    const rights = rememberRights(relation.rights.filter(isTheirs), guard, exempt, relation.owner, left)
    return { grants, columnGrants, rights }
  }
  if (!guard) return withRights(seen, seenColumns)

  const { twin: known } = guard
  const twin = known && !known.isClosed ? twins.get(quoteQualified(known.schema, known.name)) : undefined
  const holders = new Set([...seen, ...seenColumns].map(({ grantee }) => grantee))
  const twinHolders = twin && new Set([...twin.grants, ...twin.columnGrants].map(({ grantee }) => grantee))
  const isTraceless = ({ grantee }: Grant) => guard.hidesAll && !isExempt(exempt, grantee)
  const stillHolds = (grant: Grant) =>
    (isTraceless(grant) && (twinHolders?.has(grant.grantee) ?? true)) || holders.has(grant.grantee)
  const recorded = withOwner(guard, relation.owner)
  // Columns of a twin are in the order of the relation's; of one that is not there yet it tells nothing.
  const nameOf = new Map(relation.columns.map(({ number }, at) => [number, twin?.columns[at]?.name]))
  const trace: Trace = {
    seen,
    seenColumns,
    stillHolds,
    isTraceless,
    atTwin: ({ grantee, column }) => {
      const name = column === undefined ? undefined : nameOf.get(column)
      if (!twin || (column !== undefined && name === undefined)) return undefined
      const there = twin.columnGrants.filter((one) => name === undefined || one.column === name)
      return [...twin.grants, ...there].filter((one) => one.grantee === grantee)
    },
  }
  const grants = rememberWhole(recorded, trace)
  const columnGrants = rememberColumns(recorded, grants, trace)
  return withRights(
    withoutOrphans(grants, relation.owner),
    withoutOrphans(columnGrants, relation.owner, grants),
  )
}

/**
 * The record with the grants of a former owner as grants of the owner, as ALTER TABLE … OWNER TO makes them. A grantor that
 * holds no grant option can only have been the owner.
 */
function withOwner(guard: Guard, owner: string): Guard {
  const able = new Set(
    [...guard.grants, ...guard.columnGrants]
      .filter(({ grantable }) => grantable)
      .map(({ grantee }) => grantee),
  )
  const move = <G extends Grant>(grants: readonly G[]) =>
    grants.map((grant) => (able.has(grant.grantor) ? grant : { ...grant, grantor: owner }))
  return { ...guard, grants: move(guard.grants), columnGrants: move(guard.columnGrants) }
}

/** What is seen of the grants that a record tells of. */
interface Trace {
  readonly seen: readonly Grant[]
  readonly seenColumns: readonly ColumnGrant[]
  stillHolds(grant: Grant): boolean
  isTraceless(grant: Grant): boolean
  /** The grants of the twin to the grantee; undefined: it is not there, or has no such column. */
  atTwin(grant: Grant & { readonly column?: number }): readonly Grant[] | undefined
}

const mayPassOn = (grants: readonly Grant[], grantee: string | null) =>
  grants.some((grant) => grant.grantee === grantee && grant.grantable)

/** Without a grant at the twin there is nothing that an option could have been revoked of. */
function mayAtTwin({ atTwin }: Trace, grant: Grant): boolean {
  const there = atTwin(grant) ?? []
  return there.length === 0 || mayPassOn(there, grant.grantee)
}

function rememberWhole(guard: Guard, trace: Trace): Grant[] {
  const { seen, seenColumns, stillHolds, isTraceless } = trace
  const kept = guard.grants.filter(stillHolds).map((grant) => {
    const still = isTraceless(grant)
      ? mayAtTwin(trace, grant)
      : mayPassOn([...seen, ...seenColumns], grant.grantee)
    const isNew = !mayPassOn(guard.grants, grant.grantee) && mayPassOn(seen, grant.grantee)
    return { ...grant, grantable: grant.grantable ? still : isNew }
  })
  const known = new Set<string | null>([...guard.grants.map(({ grantee }) => grantee), ...guard.lent])
  return [...kept, ...seen.filter(({ grantee }) => !known.has(grantee))]
}

function rememberColumns(guard: Guard, grants: readonly Grant[], trace: Trace): ColumnGrant[] {
  const { seenColumns, stillHolds, isTraceless, atTwin } = trace
  const whole = new Set(grants.map(({ grantee }) => grantee))
  const hiddenBefore = new Set(guard.pins.map(({ number }) => number))
  const lent = new Set<string | null>(guard.lent)
  const keyOf = ({ grantee, column }: ColumnGrant) => JSON.stringify([grantee, column])
  const seenKeys = new Set(seenColumns.map(keyOf))
  const seenOptions = new Set(seenColumns.filter(({ grantable }) => grantable).map(keyOf))
  // Of a hidden column the twin alone shows a trace; but a role that lost the open ones by hand lost this one too.
  const open = [...guard.grants, ...guard.columnGrants.filter(({ column }) => !hiddenBefore.has(column))]
  const showed = new Set(open.map(({ grantee }) => grantee))
  const isThere = (grant: ColumnGrant) => {
    if (whole.has(grant.grantee)) return stillHolds(grant)
    if (seenKeys.has(keyOf(grant))) return true
    if (!(guard.hidesAll || hiddenBefore.has(grant.column)) || atTwin(grant)?.length === 0) return false
    return (!guard.hidesAll && !showed.has(grant.grantee)) || stillHolds(grant)
  }
  const recordedOptions = new Set(guard.columnGrants.filter(({ grantable }) => grantable).map(keyOf))
  const mayStill = (grant: ColumnGrant) => {
    const { grantee } = grant
    const isNew = !recordedOptions.has(keyOf(grant)) && !mayPassOn(guard.grants, grantee)
    if (!grant.grantable) return isNew && seenOptions.has(keyOf(grant))
    if (seenKeys.has(keyOf(grant))) return seenOptions.has(keyOf(grant))
    // As with the grant itself: the option went with that of the open columns, or at the twin.
    const isLost = mayPassOn(open, grantee) && !isTraceless(grant) && !mayPassOn(seenColumns, grantee)
    return !isLost && mayAtTwin(trace, grant)
  }
  const kept = guard.columnGrants.filter(isThere).map((grant) => ({ ...grant, grantable: mayStill(grant) }))
  const known = new Set(guard.columnGrants.map(keyOf))
  const byHand = seenColumns.filter(
    (grant) => !whole.has(grant.grantee) && !lent.has(grant.grantee) && !known.has(keyOf(grant)),
  )
  return [...kept, ...byHand]
}

/** Drops grants whose grantor may no longer pass them on, as PostgreSQL does. */
function withoutOrphans<G extends Grant & { readonly column?: number }>(
  grants: readonly G[],
  owner: string,
  whole: readonly Grant[] = [],
): G[] {
  const kept = new Set<G>()
  const may = ({ grantor, column }: G) =>
    grantor === owner ||
    whole.some((grant) => grant.grantable && grant.grantee === grantor) ||
    [...kept].some((grant) => grant.grantable && grant.grantee === grantor && grant.column === column)
  for (let grew = true; grew; ) {
    grew = false
    for (const grant of grants) if (!kept.has(grant) && may(grant)) grew = !!kept.add(grant)
  }
  return grants.filter((grant) => kept.has(grant))
}

/**
 * Masked roles keep the visible columns. Exempt roles keep all they had, also where it came through a masked role. `reader`: the
 * owner of its twin, where the twin reads the relation itself.
 */
export function grantAccess(
  relation: Relation,
  remembered: Remembered,
  hidden: ReadonlySet<number>,
  exempt: ReturnType<typeof exemptions>,
  { roles }: Snapshot,
  reader: string | null,
): Access {
  const { owner } = relation
  const visible = relation.columns.map(({ number }) => number).filter((number) => !hidden.has(number))
  const grants: Grant[] = remembered.grants.filter(({ grantee }) => exempt.includes(grantee))
  const columnGrants: ColumnGrant[] = [
    ...remembered.grants
      .filter(({ grantee }) => !exempt.includes(grantee))
      .flatMap((grant) => visible.map((column) => ({ ...grant, column }))),
    ...remembered.columnGrants.filter(
      ({ grantee, column }) => !hidden.has(column) || exempt.includes(grantee),
    ),
  ]
  const lent: string[] = []
  const lend = (role: string) => !lent.includes(role) && lent.push(role)
  for (const role of exempt.roles) {
    if (role === owner || isTwinOwnerName(role) || roles.get(role)?.superuser) continue
    const kin = withAncestors(roles, role)
    const reaches = ({ grantee }: Grant) => grantee === null || kin.has(grantee)
    if (remembered.grants.some(reaches) && !grants.some(reaches)) {
      grants.push({ grantor: owner, grantee: role, grantable: false })
      lend(role)
    }
    for (const { column } of remembered.columnGrants.filter(reaches)) {
      if (grants.some(reaches) || columnGrants.some((grant) => grant.column === column && reaches(grant)))
        continue
      columnGrants.push({ grantor: owner, grantee: role, grantable: false, column })
      lend(role)
    }
  }
  const rights = [
    ...remembered.rights.filter(({ grantee }) => exempt.includes(grantee)),
    ...lendRights(remembered.rights, exempt, roles, owner),
  ]
  if (reader !== null) grants.push({ grantor: owner, grantee: reader, grantable: false })
  return {
    remembered,
    grants: mergeGrants(grants),
    columnGrants: mergeGrants(columnGrants),
    rights,
    lent,
  }
}

/** One entry per grantee and column; the stronger of two wins. */
export function mergeGrants<G extends Grant & { readonly column?: number | string }>(
  grants: readonly G[],
): G[] {
  const merged = new Map<string, G>()
  for (const grant of grants) {
    const key = JSON.stringify([grant.grantee, grant.column])
    const other = merged.get(key)
    if (!other || (grant.grantable && !other.grantable)) merged.set(key, grant)
  }
  return [...merged.values()]
}
