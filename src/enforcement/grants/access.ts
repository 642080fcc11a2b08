import type {
  ColumnGrant,
  Grant,
  Guard,
  ObservedTwin,
  Relation,
  Remembered,
  Right,
  Snapshot,
} from '../catalog.ts'
import { droppedGrantor } from '../guard/stored-grants.ts'
import { isTwinOwnerName } from '../names.ts'
import { markLeft, type WasExempt } from './left-grants.ts'
import { lendRights, rememberRights, traceRights } from './rights.ts'
import { type exemptions, withAncestors } from './roles.ts'
import { traceGrants } from './trace-grants.ts'

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
  wasExempt: WasExempt,
  twins: ReadonlyMap<string, ObservedTwin>,
): Remembered {
  const isTheirs = ({ grantee }: Grant) =>
    grantee !== relation.owner && !(grantee !== null && isTwinOwnerName(grantee))
  const seen = relation.grants.filter(isTheirs)
  const seenColumns = relation.columns.flatMap((column) =>
    column.acl.filter(isTheirs).map((grant) => ({ ...grant, column: column.number })),
  )
  const found = { grants: seen, columnGrants: seenColumns }
  const seenRights = relation.rights.filter(isTheirs)
  if (!guard) return { ...found, rights: traceRights(seenRights, relation, found) }
  const recorded = withOwner(guard, relation.owner)
  const traced = traceGrants(recorded, relation, found, twins, wasExempt)
  const grants = withoutOrphans(traced.grants, relation.owner)
  const columnGrants = withoutOrphans(traced.columnGrants, relation.owner, grants)
  // Grants that ended with the option of their grantor were not revoked from the grantee: they are no sign of a REVOKE ALL.
  const rights = rememberRights(seenRights, recorded, wasExempt, relation, traced)
  return { grants, columnGrants, rights: traceRights(rights, relation, { grants, columnGrants }) }
}

/**
 * The record with the grants of a former owner as grants of the owner, as ALTER TABLE … OWNER TO makes them. A grantor that
 * holds no grant option can only have been the owner. What a dropped role had passed on hangs on nothing, and ends (`withoutOrphans`).
 */
function withOwner(guard: Guard, owner: string): Guard {
  const able = new Set<string | null>(
    [...guard.grants, ...guard.columnGrants]
      .filter(({ grantable }) => grantable)
      .map(({ grantee }) => grantee),
  ).add(droppedGrantor)
  const move = <G extends Grant>(grants: readonly G[]) =>
    grants.map((grant) => (able.has(grant.grantor) ? grant : { ...grant, grantor: owner }))
  return { ...guard, grants: move(guard.grants), columnGrants: move(guard.columnGrants) }
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
    remembered: markLeft(remembered, relation, hidden, exempt),
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
