import type { Query } from '../../db/query.ts'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'
import { isUuid } from '../../kernel/uuid.ts'
import type { MembershipGraph } from '../membership/graph.ts'
import { describeExempt } from './describe-exempt.ts'

/** The roles and principals that an exempt list names. */
export interface Exempt {
  /** Entries that name no object of the directory: they are names of database roles. */
  readonly roles: string[]
  /** Users and applications, by id: the login roles that the controller made for them. */
  readonly principals: string[]
  /** Entries that name an object of the directory. */
  readonly named: string[]
}

/**
 * The roles and principals that an exempt list names. An entry that names a user, an application or a group exempts this
 * principal, or the members of the group at any depth, and no role: any other entry is the name of a role. Principals are
 * exempt through the login roles that the controller makes for them. A role with CREATEROLE could create one with the name
 * of a person, before the operator exempts the person (ENF-314).
 *
 * Entries name directory objects by id, userPrincipalName or appId alone. A displayName is not unique: a caller who may
 * create a group could give it the name of an entry, and be exempt.
 */
export async function findExempt(
  sql: Query,
  graph: MembershipGraph,
  tenantId: string,
  entries: readonly string[],
): Promise<Exempt> {
  if (entries.length === 0) return { roles: [], principals: [], named: [] }
  const named = await describeExempt(sql, tenantId, entries)
  const members = await Promise.all(
    named.map(({ id, type }) => (type === 'Group' ? graph.membersOf(tenantId, id) : [id])),
  )
  const principals = await sql<{ id: string }[]>`
    select id from directory_object
    where tenant_id = ${tenantId} and id = any(${[...new Set(members.flat())]}::uuid[]) and deleted_at is null
      and kind in ('user', 'servicePrincipal') and coalesce((properties -> 'accountEnabled')::boolean, true)`
  const objects = new Set(named.map(({ entry }) => entry))
  return {
    roles: [...new Set(entries)].filter((entry) => !objects.has(entry)).sort(),
    principals: principals.map(({ id }) => id).sort(),
    named: [...objects].sort(),
  }
}

/** True when the list names the principal, by id, userPrincipalName or appId, or a group that contains it. */
export async function isExemptPrincipal(
  sql: Query,
  graph: MembershipGraph,
  tenantId: string,
  objectId: string,
  entries: readonly string[],
): Promise<boolean> {
  const names = new Set(entries.map(foldPrincipalName))
  const [row] = await sql<{ name: string | null }[]>`
    select coalesce(folded_principal_name, app_id) as name from directory_object
    where tenant_id = ${tenantId} and id = ${objectId} and deleted_at is null and kind in ('user', 'servicePrincipal')`
  if (!row) return false
  if (names.has(objectId.toLowerCase()) || (row.name !== null && names.has(row.name))) return true
  const groups = [...names].filter((name) => isUuid(name))
  return groups.length > 0 && (await graph.groupsAmong(tenantId, objectId, groups)).length > 0
}
