import type { Query } from '../../db/query.ts'
import { isUuid } from '../../kernel/uuid.ts'
import type { MembershipGraph } from '../membership/graph.ts'

interface Principal {
  readonly id: string
  readonly kind: string
}

/** What an exempt list stands for. */
export interface Exempt {
  /** Names of database roles. */
  readonly roles: string[]
  /** Users and applications, by id: the login roles that the controller made for them. */
  readonly principals: string[]
}

/**
 * What an exempt list stands for: each entry as the name of a role, and, where it names a user, a group or an application
 * of the directory, these people and applications, through any depth of groups. These are exempt through the login roles
 * that are made for them: whoever may create roles could create one that is called like somebody.
 *
 * Entries name directory objects by id, userPrincipalName or appId alone. A displayName is not unique: whoever may create
 * a group could name it like an entry, and be exempt.
 */
export async function findExempt(
  sql: Query,
  graph: MembershipGraph,
  tenantId: string,
  entries: readonly string[],
): Promise<Exempt> {
  if (entries.length === 0) return { roles: [], principals: [] }
  const ids = entries.filter((entry) => isUuid(entry))
  const named = await sql<Principal[]>`
    select id, kind from directory_object where tenant_id = ${tenantId} and deleted_at is null
      and kind in ('user', 'group', 'servicePrincipal') and (id = any(${ids}::uuid[])
        or (kind = 'user' and lower(user_principal_name) = any(${entries.map((entry) => entry.toLowerCase())}))
        or (kind = 'servicePrincipal' and app_id = any(${ids.map((id) => id.toLowerCase())})))`
  const members = await Promise.all(
    named.map(({ id, kind }) => (kind === 'group' ? graph.membersOf(tenantId, id) : [id])),
  )
  const principals = await sql<{ id: string }[]>`
    select id from directory_object
    where tenant_id = ${tenantId} and id = any(${[...new Set(members.flat())]}::uuid[]) and deleted_at is null
      and kind in ('user', 'servicePrincipal') and coalesce((properties -> 'accountEnabled')::boolean, true)`
  return { roles: [...new Set(entries)].sort(), principals: principals.map(({ id }) => id).sort() }
}

/** Whether the list names the principal itself, by id, userPrincipalName or appId, or a group that it is in. */
export async function isExemptPrincipal(
  sql: Query,
  graph: MembershipGraph,
  tenantId: string,
  objectId: string,
  entries: readonly string[],
): Promise<boolean> {
  const names = new Set(entries.map((entry) => entry.toLowerCase()))
  const [row] = await sql<{ name: string | null }[]>`
    select lower(coalesce(user_principal_name, app_id)) as name from directory_object
    where tenant_id = ${tenantId} and id = ${objectId} and deleted_at is null and kind in ('user', 'servicePrincipal')`
  if (!row) return false
  if (names.has(objectId.toLowerCase()) || (row.name !== null && names.has(row.name))) return true
  const groups = [...names].filter((name) => isUuid(name))
  return groups.length > 0 && (await graph.groupsAmong(tenantId, objectId, groups)).length > 0
}
