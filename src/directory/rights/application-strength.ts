import type { Query } from '../../db/query.ts'
import { type CarriedRight, type ReadGivenRights, readCarriedRights } from './carried-rights.ts'

/** All that a caller gains who controls an application. */
export interface ApplicationStrength {
  /** Application permissions. */
  readonly permissions: readonly string[]
  /** Delegated permissions that were consented for any person. */
  readonly consents: readonly string[]
  readonly rights: readonly CarriedRight[]
}

/** Deleted service principals count: the caller could restore them. */
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
  const permissions = await tx<{ permission: string; delegated: boolean }[]>`
    select distinct permission, false as delegated from application_permission
    where tenant_id = ${tenantId} and service_principal_id = any(${ids}::uuid[])
    union
    select distinct permission, true from delegated_permission
    where tenant_id = ${tenantId} and client_id = any(${ids}::uuid[])
    order by 1`
  const rights: CarriedRight[] = []
  for (const id of ids.length === 0 ? [undefined] : ids)
    rights.push(...(await readCarriedRights(tx, readGiven, tenantId, { id, names: [appId] })))
  return {
    permissions: permissions.filter(({ delegated }) => !delegated).map(({ permission }) => permission),
    consents: permissions.filter(({ delegated }) => delegated).map(({ permission }) => permission),
    rights,
  }
}
