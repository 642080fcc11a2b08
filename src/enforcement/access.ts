import type { ColumnGrant, Grant, Guard, Relation, Snapshot } from './catalog.ts'
import { type exemptions, withAncestors } from './roles.ts'

/** Who was given what, apart from what the controller gave. */
export interface Remembered {
  readonly grants: readonly Grant[]
  readonly columnGrants: readonly ColumnGrant[]
}

/** Who is to have what while masks are on. */
export interface Access {
  readonly remembered: Remembered
  readonly grants: readonly Grant[]
  readonly columnGrants: readonly ColumnGrant[]
  readonly lent: readonly string[]
}

/**
 * What people were granted on a relation, seen through what the controller has made of it. A grant made by hand since is
 * taken as meant: it becomes a grant of the masked data. A revoke made by hand is taken as meant too.
 */
export function remember(
  relation: Relation,
  guard: Guard | undefined,
  { roles }: Snapshot,
  twinOwner: string,
): Remembered {
  const seen = relation.grants.filter(({ grantee }) => grantee !== twinOwner)
  const seenColumns = relation.columns.flatMap((column) =>
    column.acl
      .filter(({ grantee }) => grantee !== twinOwner && grantee !== relation.owner)
      .map((grant) => ({ ...grant, column: column.number })),
  )
  if (!guard) return { grants: seen, columnGrants: seenColumns }

  const exists = ({ grantee }: Grant) => grantee === null || roles.has(grantee)
  const holders = new Set([...seen, ...seenColumns].map(({ grantee }) => grantee))
  const stillHeld = ({ grantee }: Grant) => guard.hidesAll || holders.has(grantee)
  const kept = guard.grants.filter((grant) => exists(grant) && stillHeld(grant))
  const known = new Set(guard.grants.map(({ grantee }) => grantee))
  const lent = new Set<string | null>(guard.lent)
  const byHand = seen.filter(({ grantee }) => !known.has(grantee) && !lent.has(grantee))
  const grants = [...kept, ...byHand]

  const whole = new Set(grants.map(({ grantee }) => grantee))
  const hiddenBefore = new Set(guard.pins.map(({ number }) => number))
  const columnKey = ({ grantee, column }: ColumnGrant) => JSON.stringify([grantee, column])
  const seenKeys = new Set(seenColumns.map(columnKey))
  const keptColumns = guard.columnGrants.filter(
    (grant) =>
      exists(grant) &&
      (guard.hidesAll ||
        hiddenBefore.has(grant.column) ||
        whole.has(grant.grantee) ||
        seenKeys.has(columnKey(grant))),
  )
  const knownColumns = new Set(guard.columnGrants.map(columnKey))
  const columnsByHand = seenColumns.filter(
    (grant) => !whole.has(grant.grantee) && !lent.has(grant.grantee) && !knownColumns.has(columnKey(grant)),
  )
  return { grants, columnGrants: [...keptColumns, ...columnsByHand] }
}

/** Non-exempt: the visible columns. Exempt: what they had, also where it came through somebody who is not exempt. */
export function grantAccess(
  relation: Relation,
  remembered: Remembered,
  hidden: ReadonlySet<number>,
  exempt: ReturnType<typeof exemptions>,
  { roles }: Snapshot,
  twinOwner: string,
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
    if (role === owner || role === twinOwner || roles.get(role)?.superuser) continue
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
  grants.push({ grantor: owner, grantee: twinOwner, grantable: false })
  return { remembered, grants: mergeGrants(grants), columnGrants: mergeGrants(columnGrants), lent }
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
