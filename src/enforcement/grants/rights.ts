import type { Guard, Right, Role } from '../catalog.ts'
import { hasStood, type WasExempt } from './left-grants.ts'
import { type exemptions, withAncestors } from './roles.ts'

export const keyOfRight = ({ grantee, privilege, column }: Right) =>
  JSON.stringify([grantee, privilege, column])

/**
 * The rights that roles were given, seen through the changes of the controller; one made by hand since is recorded too. Those of
 * masked roles leave no trace at the relation and stay as recorded, unless the role had another privilege and none is left: a
 * REVOKE ALL by hand. `holders`: grantees that have SELECT, as far as is known, or a privilege that masking does not touch.
 */
export function rememberRights(
  seen: readonly Right[],
  guard: Guard | undefined,
  wasExempt: WasExempt,
  owner: string,
  holders: ReadonlySet<string | null>,
): Right[] {
  const trace = ({ traced: _, ...right }: Right): Right =>
    holders.has(right.grantee) ? { ...right, traced: true } : right
  if (!guard) return seen.map(trace)
  const stood = (right: Right) => hasStood(right, wasExempt)
  // Records of earlier releases tell SELECT alone.
  const hadSelect = new Set([...guard.grants, ...guard.columnGrants].map(({ grantee }) => grantee))
  const present = new Set([...holders, ...seen.map(({ grantee }) => grantee)])
  const isRevoked = ({ grantee, traced }: Right) =>
    (traced || hadSelect.has(grantee)) && !present.has(grantee)
  const seenAt = Map.groupBy(seen, keyOfRight)
  /** The same right, by the owner as a turn grants it, or by its grantor as it was. */
  const find = (right: Right) =>
    (seenAt.get(keyOfRight(right)) ?? []).filter(
      ({ grantor }) => grantor === owner || grantor === right.grantor,
    )
  const recorded = guard.rights.filter(({ lent }) => !lent)
  const able = new Set(recorded.filter(({ grantable }) => grantable).map(({ grantee }) => grantee))
  const recordedOptions = new Set(recorded.filter(({ grantable }) => grantable).map(keyOfRight))
  const mayPassOn = (right: Right) => {
    const mayStill = find(right).some(({ grantable }) => grantable)
    return right.grantable ? !stood(right) || mayStill : !recordedOptions.has(keyOfRight(right)) && mayStill
  }
  const kept = recorded
    .filter((right) => right.grantee !== owner && (stood(right) ? find(right).length > 0 : !isRevoked(right)))
    .map((right) => ({
      ...right,
      grantor: able.has(right.grantor) ? right.grantor : owner,
      grantable: mayPassOn(right),
    }))
  const known = new Set([...kept, ...guard.rights.filter(({ lent }) => lent)].map(keyOfRight))
  const byHand = seen.filter((right) => !known.has(keyOfRight(right)))
  return withoutOrphans([...kept, ...byHand], owner).map(trace)
}

/** Drops rights whose grantor may no longer pass them on, as PostgreSQL does. Each comes behind the one that it was granted by. */
export function withoutOrphans(rights: readonly Right[], owner: string): Right[] {
  const kept = new Set<Right>()
  const may = ({ grantor, privilege, column }: Right) =>
    grantor === owner ||
    [...kept].some(
      (other) =>
        other.grantable &&
        other.grantee === grantor &&
        other.privilege === privilege &&
        (other.column === null || other.column === column),
    )
  for (let grew = true; grew; ) {
    grew = false
    for (const right of rights) if (!kept.has(right) && may(right)) grew = !!kept.add(right)
  }
  return [...kept]
}

/** An exempt role keeps a right that it had through a masked one. */
export function lendRights(
  remembered: readonly Right[],
  exempt: ReturnType<typeof exemptions>,
  roles: ReadonlyMap<string, Role>,
  owner: string,
): Right[] {
  if (remembered.every(({ grantee }) => exempt.includes(grantee))) return []
  const lent = new Map<string, Right>()
  for (const role of exempt.roles) {
    if (role === owner || roles.get(role)?.superuser) continue
    const kin = withAncestors(roles, role)
    const reaches = ({ grantee }: Right) => grantee === null || kin.has(grantee)
    for (const { privilege, column } of remembered.filter(reaches)) {
      const isSame = (other: Right) => other.privilege === privilege && other.column === column
      if (remembered.some((other) => isSame(other) && reaches(other) && exempt.includes(other.grantee)))
        continue
      const right: Right = { grantor: owner, grantee: role, grantable: false, privilege, column, lent: true }
      lent.set(keyOfRight(right), right)
    }
  }
  return [...lent.values()]
}
