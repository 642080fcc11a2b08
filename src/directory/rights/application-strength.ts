import type { Query } from '../../db/query.ts'
import { type CarriedRight, type ReadGivenRights, readCarriedRights } from './carried-rights.ts'

/** All that a caller gains who controls an application. */
export interface ApplicationStrength {
  /** Application permissions. */
  readonly permissions: readonly string[]
  /** Delegated permissions, consented for everybody or for single people. */
  readonly consents: readonly { readonly permission: string; readonly forEveryone: boolean }[]
  readonly rights: readonly CarriedRight[]
}

/** Deleted service principals count: the caller could restore them. Call it behind `lockRightsToRead` where the write leads into the application. */
export async function readApplicationStrength(
  tx: Query,
  readGiven: ReadGivenRights,
  tenantId: string,
  appId: string,
): Promise<ApplicationStrength> {
  const principals = await tx<{ id: string }[]>`
    select id from directory_object
    where tenant_id = ${tenantId} and kind = 'servicePrincipal' and app_id = ${appId.toLowerCase()}`
  const ids = principals.map(({ id }) => id)
  const permissions = await tx<{ permission: string }[]>`
    select distinct permission from application_permission
    where tenant_id = ${tenantId} and service_principal_id = any(${ids}::uuid[]) order by 1`
  const consents = await tx<{ permission: string; forEveryone: boolean }[]>`
    select permission, bool_or(user_id is null) as "forEveryone" from delegated_permission
    where tenant_id = ${tenantId} and client_id = any(${ids}::uuid[]) group by permission order by 1`
  const rights: CarriedRight[] = []
  for (const id of ids.length === 0 ? [undefined] : ids)
    rights.push(
      ...(await readCarriedRights(tx, readGiven, tenantId, { id, names: [appId] }, { dormant: true })),
    )
  return {
    permissions: permissions.map(({ permission }) => permission),
    consents,
    rights,
  }
}
