import { firstPartyPermissions } from '../../auth/first-party.ts'
import { isConsentable, isKnownPermission, signInScopes } from '../../auth/known-permissions.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { listDirectoryRoles } from '../accounts/list-directory-roles.ts'

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
  /** The origin that the client was answered at; undefined: it is not known, or does not matter. */
  readonly origin?: string | undefined
}

/**
 * The permissions of a client for a user: consented for all users, or for this one. Those that people consent to by
 * themselves count at the origins that they were consented for: many callers may add addresses to such a client.
 */
export async function listDelegatedPermissions(sql: Query, delegation: Delegation): Promise<string[]> {
  const { tenantId, servicePrincipalId, userId, firstParty, origin } = delegation
  const rows = await sql<{ permission: string; isShared: boolean; origins: readonly string[] }[]>`
    select permission, user_id is null as "isShared", origins from delegated_permission
    where tenant_id = ${tenantId} and client_id = ${servicePrincipalId}
      and (user_id is null or user_id = ${userId})
    order by permission`
  const counts = (row: (typeof rows)[number]) =>
    row.isShared || origin === undefined || row.origins.includes(origin) || !isOfPeople(row.permission)
  const granted = [...new Set(rows.filter(counts).map(({ permission }) => permission))]
  if (!firstParty) return granted
  return [
    ...new Set([...granted, ...firstPartyPermissions(await listDirectoryRoles(sql, tenantId, userId))]),
  ].sort()
}

export async function grantApplicationPermissions(
  tx: Query,
  tenantId: string,
  servicePrincipalId: string,
  permissions: readonly string[],
): Promise<void> {
  checkKnown(permissions)
  await tx`
    insert into application_permission (tenant_id, service_principal_id, permission)
    select ${tenantId}, ${servicePrincipalId}, name from unnest(${[...permissions]}::text[]) name
    on conflict do nothing`
}

/** Returns how many of the permissions the application had. */
export async function revokeApplicationPermissions(
  tx: Query,
  tenantId: string,
  servicePrincipalId: string,
  permissions: readonly string[],
): Promise<number> {
  const { count } = await tx`
    delete from application_permission
    where tenant_id = ${tenantId} and service_principal_id = ${servicePrincipalId}
      and permission = any(${[...permissions]})`
  return count
}

export interface Consent {
  readonly tenantId: string
  readonly servicePrincipalId: string
  /** Null: for all users. */
  readonly userId: string | null
  readonly permissions: readonly string[]
  /** The origins that the consent of one user is for. */
  readonly origins?: readonly string[]
}

export async function consentPermissions(tx: Query, consent: Consent): Promise<void> {
  const { tenantId, servicePrincipalId, userId, permissions, origins = [] } = consent
  checkConsent(permissions)
  await tx`
    insert into delegated_permission (tenant_id, client_id, user_id, permission)
    select ${tenantId}, ${servicePrincipalId}, ${userId}::uuid, name from unnest(${[...permissions]}::text[]) name
    on conflict do nothing`
  if (origins.length === 0) return
  await tx`
    update delegated_permission set origins = array(select distinct unnest(origins || ${[...origins]}::text[]))
    where tenant_id = ${tenantId} and client_id = ${servicePrincipalId} and user_id = ${userId}
      and permission = any(${[...permissions]})`
}

export async function withdrawConsent(tx: Query, consent: Consent): Promise<void> {
  const { tenantId, servicePrincipalId, userId, permissions } = consent
  await tx`
    delete from delegated_permission
    where tenant_id = ${tenantId} and client_id = ${servicePrincipalId}
      and user_id is not distinct from ${userId}::uuid and permission = any(${[...permissions]})`
}

/** Consent may name the scopes of the sign-in beside permissions. */
function checkConsent(permissions: readonly string[]): void {
  checkKnown(permissions.filter((name) => !isSignInScope(name)))
}

function isSignInScope(name: string): boolean {
  return (signInScopes as readonly string[]).includes(name)
}

/** True for what people consent to by themselves. */
function isOfPeople(name: string): boolean {
  return isSignInScope(name) || isConsentable(name)
}

function checkKnown(permissions: readonly string[]): void {
  for (const permission of permissions)
    if (!isKnownPermission(permission)) fail('UnknownPermission', { permission: permission.slice(0, 120) })
}
