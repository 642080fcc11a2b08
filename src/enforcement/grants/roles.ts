import type { Role } from '../catalog.ts'
import type { Policy } from '../policy.ts'

/** A role and every role that it is a member of, at any depth. Membership may go in a circle through nothing but itself. */
export function withAncestors(roles: ReadonlyMap<string, Role>, name: string): ReadonlySet<string> {
  const found = new Set([name])
  for (const each of found) for (const parent of roles.get(each)?.memberOf ?? []) found.add(parent)
  return found
}

/**
 * Roles that could grant themselves one of the exempt roles by ADMIN, at any depth, and act as it: SET ROLE outlasts the grant and ADMIN.
 * Superusers and `user`, the role of the binding, are trusted, and so are the ways through them.
 */
export function listAdministrators(
  roles: ReadonlyMap<string, Role>,
  exempt: ReadonlySet<string>,
  user: string,
): Role[] {
  const holdersOf = new Map<string, Role[]>()
  for (const role of roles.values())
    for (const held of [...role.memberOf, ...role.administers]) {
      const holders = holdersOf.get(held) ?? []
      holdersOf.set(held, holders)
      holders.push(role)
    }
  const isTrusted = (role: Role | undefined) => role?.superuser || role?.name === user
  const found = new Set([...exempt].filter((name) => !isTrusted(roles.get(name))))
  for (const each of found)
    for (const holder of holdersOf.get(each) ?? []) if (!isTrusted(holder)) found.add(holder.name)
  return [...roles.values()].filter(({ name }) => found.has(name) && !exempt.has(name))
}

/** The entries of an exempt list whose names still lead to the roles that they were judged by. Others count again with the next turn. */
export function listJudged(
  { exemptRoles, judgedRoles }: Pick<Policy, 'exemptRoles' | 'judgedRoles'>,
  roles: ReadonlyMap<string, Role>,
): string[] {
  return exemptRoles.filter((entry) => {
    const [judged, role] = [judgedRoles?.get(entry), roles.get(entry)]
    return judged === undefined || role === undefined || role.oid === judged
  })
}

/**
 * Roles with CREATEROLE, which could take the name of an entry to be exempt: exempt ones too, as their exemption may end. `user`: the
 * role of the binding.
 */
export function listRoleMakers(roles: ReadonlyMap<string, Role>, user: string): string[] {
  const isMaker = ({ name, superuser, excess }: Role) =>
    excess.includes('NOCREATEROLE') && !superuser && name !== user
  return [...roles.values()].filter(isMaker).map(({ name }) => name)
}

/** Says of each grantee (null: PUBLIC) whether the policy exempts it. `held`: OIDs of members of listed roles that it does not exempt so far. */
export function exemptions(
  roles: ReadonlyMap<string, Role>,
  listed: readonly string[],
  held: readonly number[] = [],
) {
  // No role can be called "public", but one can be called "PUBLIC".
  const everybody = listed.some((name) => name.toLowerCase() === 'public' && !roles.has(name))
  const names = new Set(listed)
  const isListed = (role: string) => [...withAncestors(roles, role)].some((name) => names.has(name))
  const exempt = new Set(
    [...roles.values()]
      .filter(({ name, oid }) => everybody || (!held.includes(oid) && isListed(name)))
      .map(({ name }) => name),
  )
  return {
    roles: exempt,
    everybody,
    includes: (grantee: string | null) => everybody || (grantee !== null && exempt.has(grantee)),
  }
}
