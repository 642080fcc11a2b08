import { type Role, readingRoles, withAncestors } from '../../masks/read/roles.ts'

/** Which roles of a cluster are to see masks. A role reaches those that it may become. */
export interface RoleBook {
  readonly roles: ReadonlyMap<string, Role>
  /** The role of the binding: it has to be able to see the columns that it masks. */
  readonly self: string
  /** That role, and owners of twins. */
  readonly ours: readonly string[]
  /** Exempt, by themselves or as members of a role that is. */
  readonly exempt: ReadonlySet<string>
  /** Named in the policy, as against members of those. */
  readonly listed: readonly string[]
  /** Roles that are to see masks: not exempt, may log in, not ours. */
  readonly watched: readonly string[]
  /** Those of the watched roles, and of roles that they may become, whose rights lead to no raw value. */
  readonly makers: readonly string[]
  /**
   * Roles whose code reads raw values: superusers, exempt ones, ours, owners of masked relations, and what reaches
   * these.
   */
  readonly seers: ReadonlySet<string>
  reaches(role: string, target: string): boolean
}

/** `owners`: of masked relations. */
export function makeRoleBook(
  known: Pick<RoleBook, 'roles' | 'self' | 'ours' | 'exempt' | 'listed'>,
  owners: readonly string[],
): RoleBook {
  const { roles, ours, exempt } = known
  const all = [...roles.values()]
  const reached = new Map(all.map(({ name }) => [name, withAncestors(roles, name)]))
  const reach = (role: string) => reached.get(role) ?? new Set([role])
  const superusers = all.filter(({ superuser }) => superuser).map(({ name }) => name)
  const sources = new Set([...superusers, ...exempt, ...owners, ...readingRoles, ...ours])
  const seers = all.filter(({ name }) => [...reach(name)].some((one) => sources.has(one)))
  const seeing = new Set(seers.map(({ name }) => name))
  const watched = all
    .map(({ name }) => name)
    .filter((name) => canLogIn(roles, name) && !exempt.has(name) && !ours.includes(name))
    .sort()
  return {
    ...known,
    watched,
    makers: [...new Set(watched.flatMap((role) => [...reach(role)]))].filter((role) => !seeing.has(role)),
    seers: seeing,
    reaches: (role, target) => reach(role).has(target),
  }
}

export function canLogIn(roles: RoleBook['roles'], name: string): boolean {
  return roles.get(name)?.excess.includes('NOLOGIN') ?? false
}
