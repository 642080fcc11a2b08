import { revokeMembership } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'

export interface Role {
  readonly oid: number
  readonly name: string
  readonly canLogIn: boolean
  readonly superuser: boolean
  readonly replication: boolean
  readonly createRole: boolean
}

export interface Membership {
  readonly role: number
  readonly member: number
  readonly grantor: number
}

export interface RoleGraph {
  readonly roles: ReadonlyMap<number, Role>
  /** By the role that members are in. */
  readonly memberships: ReadonlyMap<number, readonly Membership[]>
  readonly version: number
}

/** INHERIT, SET and ADMIN count all: ADMIN can grant the others. Before 16 each membership has the first two. */
export async function readRoleGraph(sql: Sql): Promise<RoleGraph> {
  const roles = await sql<(Role & { version: number })[]>`
    select oid::int8 as oid, rolname::text as name, rolcanlogin as "canLogIn", rolsuper as superuser,
      rolreplication as replication, rolcreaterole as "createRole",
      current_setting('server_version_num')::int as version
    from pg_catalog.pg_roles`
  const version = roles[0]?.version ?? 0
  const holds = version >= 160000 ? sql`m.inherit_option or m.set_option or m.admin_option` : sql`true`
  const memberships = await sql<Membership[]>`
    select m.roleid::int8 as role, m.member::int8 as member, m.grantor::int8 as grantor
    from pg_catalog.pg_auth_members m where ${holds}`
  return {
    roles: new Map(roles.map((role) => [role.oid, role])),
    memberships: Map.groupBy(memberships, ({ role }) => role),
    version,
  }
}

/**
 * The roles that reach the holders by membership at any depth, each with its own memberships on the way there. A way
 * through one of `stops` does not count: to reach that role is a reason by itself.
 */
export function findMembers(
  { memberships }: RoleGraph,
  holders: readonly number[],
  stops: ReadonlySet<number> = new Set(),
): Map<number, Membership[]> {
  const found = new Map<number, Membership[]>()
  const open = [...holders]
  const known = new Set(open)
  for (const role of open) {
    if (stops.has(role) && !holders.includes(role)) continue
    for (const membership of memberships.get(role) ?? []) {
      const { member } = membership
      const ways = found.get(member)
      if (ways) ways.push(membership)
      else found.set(member, [membership])
      if (!known.has(member)) open.push(member)
      known.add(member)
    }
  }
  return found
}

/** The statement that ends these memberships of one role: since 16, by the roles that granted them. */
export function revokeMemberships({ roles, version }: RoleGraph, ways: readonly Membership[]): string {
  const nameOf = (oid: number) => roles.get(oid)?.name
  return ways
    .map(({ role, member, grantor }) => {
      const by = version >= 160000 ? nameOf(grantor) : undefined
      return revokeMembership(nameOf(role) ?? '', nameOf(member) ?? '', by ?? null)
    })
    .join(';\n')
}
