import type { Query } from '../../db/query.ts'
import type { MembershipGraph } from '../membership/graph.ts'

/** A database role that a user, a service principal or the people of a group have. */
export interface Mapped {
  readonly databaseRole: string
  readonly principalId: string
}

/** The login of a user or application, and the database roles that it has. */
export interface LoginRights {
  readonly principalId: string
  /** The userPrincipalName or the appId. */
  readonly name: string
  readonly roles: readonly string[]
}

/**
 * The rights of the principals that have some, by mappings to themselves and to the groups that contain them at any
 * depth. A principal that is deleted, disabled or of another tenant has none.
 */
export async function readLoginRights(
  sql: Query,
  graph: MembershipGraph,
  tenantId: string,
  mappings: readonly Mapped[],
  principalIds: readonly string[],
): Promise<LoginRights[]> {
  if (mappings.length === 0 || principalIds.length === 0) return []
  const principals = await sql<{ id: string; name: string }[]>`
    select id, coalesce(user_principal_name, app_id) as name from directory_object
    where tenant_id = ${tenantId} and id = any(${principalIds}::uuid[]) and deleted_at is null
      and kind in ('user', 'servicePrincipal') and coalesce((properties -> 'accountEnabled')::boolean, true)
      and coalesce(user_principal_name, app_id) is not null
    order by id`
  const holders = await findHolders(
    sql,
    graph,
    tenantId,
    [...new Set(mappings.map(({ principalId }) => principalId))],
    principals.map(({ id }) => id),
  )
  return principals.flatMap(({ id, name }) => {
    const held = mappings.filter(({ principalId }) => holders.get(id)?.has(principalId))
    const roles = [...new Set(held.map(({ databaseRole }) => databaseRole))].sort()
    return roles.length === 0 ? [] : [{ principalId: id, name, roles }]
  })
}

/** For each principal which of the mapped principals count for it: itself and its groups. */
async function findHolders(
  sql: Query,
  graph: MembershipGraph,
  tenantId: string,
  mapped: readonly string[],
  ids: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const holders = new Map(ids.map((id) => [id, new Set([id])]))
  // Up from the principals or down from the groups, whichever are fewer.
  if (ids.length <= mapped.length)
    for (const id of ids)
      for (const group of await graph.groupsAmong(tenantId, id, mapped)) holders.get(id)?.add(group)
  else
    for (const { id: group } of await sql<{ id: string }[]>`
      select id from directory_object where tenant_id = ${tenantId} and id = any(${mapped}::uuid[])
        and deleted_at is null and kind = 'group'`)
      for (const member of await graph.membersOf(tenantId, group)) holders.get(member)?.add(group)
  return holders
}
