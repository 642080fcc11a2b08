import { permissionsBeyondOwnData } from '../../auth/grantable-permissions.ts'
import type { Fragment, Query } from '../../db/query.ts'

/** A client that admits assigned people alone, and that gives them more than their own data. */
export interface Access {
  readonly id: string
  readonly name: string | null
}

/**
 * A column with the clients that the principal of an alias is assigned to, as JSON: those that require assignments and have
 * permissions beyond own data consented for everyone. Null: there are none.
 */
export function selectAccess(
  sql: Query,
  tenantId: string,
  principalId: Fragment,
  dormant: boolean,
): Fragment {
  return sql`(
    select jsonb_agg(distinct jsonb_build_object('id', client.id, 'name', client.display_name))
    from app_role_assignment granted
    join directory_object client on client.tenant_id = ${tenantId} and client.id = granted.resource_id
    where granted.tenant_id = ${tenantId} and granted.principal_id = ${principalId}
      and (${dormant} or client.deleted_at is null) and ${givesAccess(sql, tenantId)})`
}

/** Every such access of a group, also to deleted clients. */
export async function listAccessOfGroups(sql: Query, tenantId: string) {
  const rows = await sql<(Access & { given: string })[]>`
    select distinct granted.principal_id as given, client.id, client.display_name as name
    from app_role_assignment granted
    join directory_object client on client.tenant_id = ${tenantId} and client.id = granted.resource_id
    join directory_object bearer on bearer.tenant_id = ${tenantId} and bearer.id = granted.principal_id
    where granted.tenant_id = ${tenantId} and bearer.kind = 'group' and ${givesAccess(sql, tenantId)}
    order by given, client.id`
  return rows.map(({ given, ...access }) => ({ ...describeAccess(access), given }))
}

const clientSet = '/servicePrincipals/'

export function describeAccess({ id, name }: Access) {
  return { type: 'applicationAccess', name, scope: `${clientSet}${id}` } as const
}

/** The client of a right that `describeAccess` made. */
export function clientOf({ scope }: { readonly scope: string | null }): string {
  return String(scope).slice(clientSet.length)
}

/** The permissions that the clients give to the people whom they admit. */
export async function readAccessPermissions(
  sql: Query,
  tenantId: string,
  clientIds: readonly string[],
): Promise<string[]> {
  const rows = await sql<{ permission: string }[]>`
    select distinct consent.permission from delegated_permission consent
    where consent.tenant_id = ${tenantId} and consent.client_id = any(${[...clientIds]}::uuid[])
      and ${isBeyondOwnData(sql)}
    order by 1`
  return rows.map(({ permission }) => permission)
}

function givesAccess(sql: Query, tenantId: string): Fragment {
  return sql`client.properties -> 'appRoleAssignmentRequired' = 'true' and exists (
    select from delegated_permission consent
    where consent.tenant_id = ${tenantId} and consent.client_id = client.id
      and ${isBeyondOwnData(sql)})`
}

function isBeyondOwnData(sql: Query): Fragment {
  return sql`consent.user_id is null and consent.permission = any(${[...permissionsBeyondOwnData]})`
}
