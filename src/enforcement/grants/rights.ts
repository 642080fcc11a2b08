import type { Guard, Right, Role } from '../catalog.ts'
import { everybody } from '../names.ts'
import { type exemptions, withAncestors } from './roles.ts'

export const keyOfRight = ({ grantee, privilege, column }: Right) =>
  JSON.stringify([grantee, privilege, column])

/**
 * The rights that roles were given, seen through the changes of the controller. Those of masked roles leave no trace at the
 * relation and stay as recorded; one made by hand since is recorded too.
 */
export function rememberRights(
  seen: readonly Right[],
  guard: Guard | undefined,
  exempt: readonly string[],
  owner: string,
): Right[] {
  if (!guard) return [...seen]
  const wasExempt = ({ grantee }: Right) =>
    exempt.includes(everybody) || (grantee !== null && exempt.includes(grantee))
  const there = new Set(seen.map(keyOfRight))
  const recorded = guard.rights.filter(({ lent }) => !lent)
  const able = new Set(recorded.filter(({ grantable }) => grantable).map(({ grantee }) => grantee))
  const kept = recorded
    .filter((right) => right.grantee !== owner && (!wasExempt(right) || there.has(keyOfRight(right))))
    .map((right) => (able.has(right.grantor) ? right : { ...right, grantor: owner }))
  const known = new Set(guard.rights.map(keyOfRight))
  return [...kept, ...seen.filter((right) => !known.has(keyOfRight(right)))]
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
