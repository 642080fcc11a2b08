import type { Change } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import { type DirectoryObject, describeChange, objectColumns } from '../objects/object-store.ts'
import { noRoleId } from './app-roles.ts'

/**
 * Gives the service principals of applications the roles that these have now, and ends assignments of roles that are gone. Deleted service
 * principals count: an assignment that they kept would count again once they are restored. Lock the applications first. Returns
 * the changes for the log.
 */
export async function copyAppRoles(
  tx: Query,
  tenantId: string,
  appIds: readonly string[],
): Promise<readonly Change[]> {
  const isPrincipal = tx`
    o.tenant_id = ${tenantId} and o.kind = 'servicePrincipal' and o.app_id = any(${[...appIds]}::text[])`
  await tx`
    with locked as materialized (select from directory_object o where ${isPrincipal} order by o.id for update)
    select count(*) from locked`
  const updated = await tx<DirectoryObject[]>`
    update directory_object o set version = o.version + 1,
      properties = (o.properties - 'appRoles') || case when application.properties ? 'appRoles'
        then jsonb_build_object('appRoles', application.properties -> 'appRoles') else '{}' end
    from directory_object application
    where ${isPrincipal} and application.tenant_id = o.tenant_id and application.kind = 'application'
      and application.app_id = o.app_id and application.deleted_at is null
      and application.properties -> 'appRoles' is distinct from o.properties -> 'appRoles'
    returning ${objectColumns(tx)}`
  await tx`
    delete from app_role_assignment granted using (
      select o.id, coalesce(o.properties -> 'appRoles', '[]') as roles from directory_object o where ${isPrincipal}
    ) resource
    where granted.tenant_id = ${tenantId} and granted.resource_id = resource.id
      and not case when roles = '[]' then granted.app_role_id = ${noRoleId}
        else exists (select from jsonb_array_elements(roles) role where lower(role ->> 'id') = granted.app_role_id::text) end`
  return updated
    .filter(({ deletedAt }) => deletedAt === null)
    .map((principal) => describeChange('updated', principal))
}
