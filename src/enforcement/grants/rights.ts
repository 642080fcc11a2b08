import type { Grant, Guard, Relation, Remembered, Right, Role } from '../catalog.ts'
import { droppedGrantor } from '../guard/stored-grants.ts'
import { hasStood, type WasExempt } from './left-grants.ts'
import { type exemptions, withAncestors } from './roles.ts'

export const keyOfRight = ({ grantee, privilege, column }: Right) =>
  JSON.stringify([grantee, privilege, column])

type Selects = Pick<Remembered, 'grants' | 'columnGrants'>
type Held = Pick<Relation, 'owner' | 'writers'>

const fromOf = ({ grantee, grantor }: Pick<Grant, 'grantee' | 'grantor'>) =>
  JSON.stringify([grantee, grantor])

/** Grantees of SELECT, each with its grantor. During masking the owner grants what others had granted, so it counts as by the owner, too. */
function listSelects({ grants, columnGrants }: Selects, owner: string): string[] {
  return [...grants, ...columnGrants].flatMap((grant) => [
    fromOf(grant),
    fromOf({ ...grant, grantor: owner }),
  ])
}

/** The rights, each marked where a REVOKE ALL by its grantor will show at SELECT or at a privilege that masking does not touch. */
export function traceRights(rights: readonly Right[], { owner, writers }: Held, selects: Selects): Right[] {
  const holders = new Set([...writers.map(fromOf), ...listSelects(selects, owner)])
  return rights.map(({ traced: _, ...right }) =>
    holders.has(fromOf(right)) ? { ...right, traced: true } : right,
  )
}

/**
 * The rights that roles were given, seen through the changes of the controller; one made by hand since is recorded too. Those of
 * masked roles leave no trace at the relation and stay as recorded, unless the role had another privilege by the same grantor and none
 * is left: a REVOKE ALL by hand. `selects`: SELECT that was not revoked.
 */
export function rememberRights(
  seen: readonly Right[],
  guard: Guard,
  wasExempt: WasExempt,
  { owner, writers }: Held,
  selects: Selects,
): Right[] {
  const stood = (right: Right) => hasStood(right, wasExempt)
  const stored = guard.rights.filter(({ lent }) => !lent)
  const able = new Set(stored.filter(({ grantable }) => grantable).map(({ grantee }) => grantee)).add(
    droppedGrantor,
  )
  // A grantor without the option can only have been the owner, unless it was dropped: that ends what it passed on.
  const recorded = stored.map((right) => (able.has(right.grantor) ? right : { ...right, grantor: owner }))
  // Records of earlier releases tell SELECT alone.
  const hadSelect = new Set(listSelects(guard, owner))
  const holders = new Set([...writers.map(fromOf), ...listSelects(selects, owner)])
  // Where masking left nothing of a right, one that is seen was granted since, maybe behind a REVOKE ALL.
  const isHeld = (right: Right) =>
    holders.has(fromOf(right)) || (right.left !== false && find(right).length > 0)
  const isRevoked = (right: Right) => (right.traced || hadSelect.has(fromOf(right))) && !isHeld(right)

  const lent = new Set(guard.rights.filter((right) => right.lent).map(keyOfRight))
  const recordedAt = Map.groupBy(recorded, keyOfRight)
  /** Granted by the owner since, beside the same by others of which masking left nothing. */
  const isBeside = (right: Right) => {
    const same = recordedAt.get(keyOfRight(right)) ?? []
    return (
      right.grantor === owner &&
      !lent.has(keyOfRight(right)) &&
      same.every((one) => one.grantor !== owner && one.left === false && !wasExempt(one.grantee))
    )
  }
  const [beside, others] = [seen.filter(isBeside), seen.filter((right) => !isBeside(right))]
  const seenAt = Map.groupBy(others, keyOfRight)
  /** The same right, by the owner as a turn grants it, or by its grantor as it was. */
  const find = (right: Right) =>
    (seenAt.get(keyOfRight(right)) ?? []).filter(
      ({ grantor }) => grantor === owner || grantor === right.grantor,
    )
  const recordedOptions = new Set(recorded.filter(({ grantable }) => grantable).map(keyOfRight))
  const mayPassOn = (right: Right) => {
    const mayStill = find(right).some(({ grantable }) => grantable)
    return right.grantable ? !stood(right) || mayStill : !recordedOptions.has(keyOfRight(right)) && mayStill
  }
  const kept = recorded
    .filter((right) => right.grantee !== owner && (stood(right) ? find(right).length > 0 : !isRevoked(right)))
    .map((right) => ({ ...right, grantable: mayPassOn(right) }))
  const known = new Set([...kept.map(keyOfRight), ...lent])
  const byHand = others.filter((right) => !known.has(keyOfRight(right)))
  return withoutOrphans([...kept, ...beside, ...byHand], owner)
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
