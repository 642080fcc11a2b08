import type { Query } from '../../db/query.ts'
import { firstPartyPermissions } from './first-party.ts'
import { defaultScope, signInScopes } from './read-scopes.ts'

export async function listApplicationPermissions(
  sql: Query,
  tenantId: string,
  servicePrincipalId: string,
): Promise<string[]> {
  const rows = await sql<{ permission: string }[]>`
    select permission from application_permission
    where tenant_id = ${tenantId} and service_principal_id = ${servicePrincipalId} order by permission`
  return rows.map(({ permission }) => permission)
}

export interface Delegation {
  readonly tenantId: string
  /** Object id of the client's service principal. */
  readonly servicePrincipalId: string
  readonly userId: string
  readonly firstParty: boolean
}

/** What a client may do for a user: consented for everybody, or for this user. */
export async function listDelegatedPermissions(sql: Query, delegation: Delegation): Promise<string[]> {
  const { tenantId, servicePrincipalId, userId, firstParty } = delegation
  const rows = await sql<{ permission: string }[]>`
    select distinct permission from delegated_permission
    where tenant_id = ${tenantId} and client_id = ${servicePrincipalId}
      and (user_id is null or user_id = ${userId})
    order by permission`
  const granted = rows.map(({ permission }) => permission)
  if (!firstParty) return granted
  return [
    ...new Set([...granted, ...firstPartyPermissions(await listDirectoryRoles(sql, tenantId, userId))]),
  ].sort()
}

/** The scopes of a request that name permissions. */
export function permissionsIn(scopes: Iterable<string>): string[] {
  return [...scopes].filter(
    (name) => name !== defaultScope && !(signInScopes as readonly string[]).includes(name),
  )
}

/** What a token carries: what was asked for and granted, or all that was granted. */
export function chooseGranted(requested: ReadonlySet<string>, granted: readonly string[]): string[] {
  return requested.has(defaultScope) ? [...granted] : granted.filter((name) => requested.has(name))
}

/** Template ids of the directory roles that a user holds: directly, or by way of groups that may hold roles. */
export async function listDirectoryRoles(sql: Query, tenantId: string, userId: string): Promise<string[]> {
  const rows = await sql<{ template: string }[]>`
    with recursive holder (id) as (
      select ${userId}::uuid
      union
      select edge.container_id
      from holder
      join member_edge edge on edge.tenant_id = ${tenantId} and edge.member_id = holder.id
      join directory_object container on container.tenant_id = edge.tenant_id and container.id = edge.container_id
      where container.kind = 'group' and container.deleted_at is null
        and container.properties -> 'isAssignableToRole' = 'true'
    )
    select distinct role.properties ->> 'roleTemplateId' as template
    from holder
    join member_edge edge on edge.tenant_id = ${tenantId} and edge.member_id = holder.id
    join directory_object role on role.tenant_id = edge.tenant_id and role.id = edge.container_id
    where role.kind = 'directoryRole' and role.deleted_at is null and role.properties ? 'roleTemplateId'
    order by template`
  return rows.map(({ template }) => template)
}
