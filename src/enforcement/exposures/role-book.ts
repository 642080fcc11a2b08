import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'

export interface RoleFacts {
  readonly name: string
  readonly login: boolean
  readonly superuser: boolean
  readonly replication: boolean
  readonly bypassRls: boolean
  readonly createRole: boolean
  /** The one that initdb made: it cannot stop being a superuser. */
  readonly bootstrap: boolean
}

interface Edge {
  readonly member: string
  readonly role: string
  readonly grantor: string
}

/** The roles of a cluster, their memberships, and which of them are to see masks. */
export interface RoleBook {
  readonly roles: ReadonlyMap<string, RoleFacts>
  /** Exempt, itself or as a member of a role that is. */
  isExempt(role: string): boolean
  /** Named in the policy, as against members of those. */
  readonly listed: readonly string[]
  /** Roles that are to see masks: not exempt, may log in, not ours. */
  readonly watched: readonly string[]
  /** The watched roles and those that they may become, without superusers. */
  readonly ofWatched: readonly string[]
  /** The watched roles that are this role or may become it. */
  watchedBehind(role: string): string[]
  reaches(role: string, target: string): boolean
  /** Statements that revoke a role from members: unless `from` chooses others, those through which a watched role has it. */
  revokeMembership(role: string, from?: (member: string) => boolean): string | null
  /** Members of it, at any depth, that may log in. */
  loginsBehind(role: string): string[]
}

export interface BookOptions {
  readonly version: number
  readonly self: string
  readonly twinOwners: readonly string[]
  readonly exempt: ReadonlySet<string>
  readonly listed: readonly string[]
}

export async function readRoleBook(sql: Sql, options: BookOptions): Promise<RoleBook> {
  const roles = await sql<RoleFacts[]>`
    select rolname::text as name, rolcanlogin as login, rolsuper as superuser, rolreplication as replication,
      rolbypassrls as "bypassRls", rolcreaterole as "createRole", oid = 10 as bootstrap
    from pg_catalog.pg_roles order by 1`
  // Before PostgreSQL 16 every membership can be used; since, one may be for administration alone, or for nothing.
  const edges = await sql<Edge[]>`
    select m.rolname::text as member, g.rolname::text as role, coalesce(b.rolname, '')::text as grantor
    from pg_catalog.pg_auth_members a
    join pg_catalog.pg_roles m on m.oid = a.member join pg_catalog.pg_roles g on g.oid = a.roleid
    left join pg_catalog.pg_roles b on b.oid = a.grantor
    where a.admin_option or coalesce((to_jsonb(a) ->> 'set_option')::boolean, true)
      or coalesce((to_jsonb(a) ->> 'inherit_option')::boolean, true)
    order by 1, 2, 3`
  return makeRoleBook(roles, edges, options)
}

function makeRoleBook(
  roles: readonly RoleFacts[],
  edges: readonly Edge[],
  { version, self, twinOwners, exempt, listed }: BookOptions,
): RoleBook {
  const parents = Map.groupBy(edges, ({ member }) => member)
  const reached = new Map<string, ReadonlySet<string>>()
  const reach = (role: string): ReadonlySet<string> => {
    const known = reached.get(role)
    if (known) return known
    const found = new Set([role])
    for (const each of found) for (const edge of parents.get(each) ?? []) found.add(edge.role)
    reached.set(role, found)
    return found
  }
  const watched = roles
    .filter(({ name, login }) => login && !exempt.has(name) && name !== self && !twinOwners.includes(name))
    .map(({ name }) => name)
  const reachedByWatched = new Set(watched.flatMap((one) => [...reach(one)]))
  const watchedBehind = (role: string) => watched.filter((one) => reach(one).has(role))
  return {
    roles: new Map(roles.map((role) => [role.name, role])),
    isExempt: (role) => exempt.has(role),
    listed,
    watched,
    ofWatched: roles
      .filter(({ name, superuser }) => !superuser && reachedByWatched.has(name))
      .map(({ name }) => name),
    watchedBehind,
    reaches: (role, target) => reach(role).has(target),
    revokeMembership(role, from = (member) => watched.some((one) => reach(one).has(member))) {
      const cuts = edges.filter((edge) => edge.role === role && edge.member !== self && from(edge.member))
      return joinStatements(cuts.map((edge) => revoke(edge, version)))
    },
    loginsBehind: (role) =>
      roles
        .filter(({ name, login }) => login && name !== role && reach(name).has(role))
        .map(({ name }) => name),
  }
}

function revoke({ member, role, grantor }: Edge, version: number): string {
  const by = version >= 160000 && grantor !== '' ? ` GRANTED BY ${quoteIdentifier(grantor)}` : ''
  return `REVOKE ${quoteIdentifier(role)} FROM ${quoteIdentifier(member)}${by} CASCADE`
}

export function joinStatements(statements: readonly string[]): string | null {
  return statements.length === 0 ? null : [...new Set(statements)].join(';\n')
}
