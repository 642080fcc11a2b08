import type { Role } from '../../masks/read/roles.ts'

/** Which roles of a cluster are to see masks. A role reaches those that it may become or administer. */
export interface RoleBook {
  readonly roles: ReadonlyMap<string, Role>
  /** Exempt, itself or as a member of a role that is. */
  isExempt(role: string): boolean
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
  /** The watched roles that are this role or may become it. */
  watchedBehind(role: string): string[]
  reaches(role: string, target: string): boolean
}

/** Predefined roles that read beneath or past the privileges on tables. */
const beneath = [
  'pg_read_all_data',
  'pg_read_server_files',
  'pg_write_server_files',
  'pg_execute_server_program',
]

export interface BookOptions {
  /** The role of the binding, and owners of twins. */
  readonly ours: readonly string[]
  readonly exempt: ReadonlySet<string>
  readonly listed: readonly string[]
  /** Of masked relations. */
  readonly owners: readonly string[]
}

export function makeRoleBook(
  roles: ReadonlyMap<string, Role>,
  { ours, exempt, listed, owners }: BookOptions,
): RoleBook {
  const reached = new Map<string, ReadonlySet<string>>()
  const reach = (role: string): ReadonlySet<string> => {
    const known = reached.get(role)
    if (known) return known
    const found = new Set([role])
    for (const each of found) for (const parent of roles.get(each)?.memberOf ?? []) found.add(parent)
    reached.set(role, found)
    return found
  }
  const all = [...roles.values()]
  const superusers = all.filter(({ superuser }) => superuser).map(({ name }) => name)
  const sources = new Set([...superusers, ...exempt, ...owners, ...beneath, ...ours])
  const seers = new Set(
    all.map(({ name }) => name).filter((name) => [...reach(name)].some((one) => sources.has(one))),
  )
  const watched = all
    .filter(({ name }) => canLogIn(roles, name) && !exempt.has(name) && !ours.includes(name))
    .map(({ name }) => name)
    .sort()
  return {
    roles,
    isExempt: (role) => exempt.has(role),
    listed,
    watched,
    makers: [...new Set(watched.flatMap((role) => [...reach(role)]))].filter((role) => !seers.has(role)),
    seers,
    watchedBehind: (role) => watched.filter((one) => reach(one).has(role)),
    reaches: (role, target) => reach(role).has(target),
  }
}

export function canLogIn(roles: ReadonlyMap<string, Role>, name: string): boolean {
  return roles.get(name)?.excess.includes('NOLOGIN') ?? false
}
