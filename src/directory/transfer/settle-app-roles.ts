import type { Change } from '../../db/change-log.ts'
import type { Tx } from '../../db/database.ts'
import { copyAppRoles } from '../app-roles/copy-app-roles.ts'

/**
 * Ignores roles in lines about service principals whose application the directory has: these have the roles of the application. An
 * export that was edited in one of both lines would else give a role back with every second import.
 */
export async function ignoreCopiedRoles(tx: Tx, tenantId: string): Promise<void> {
  await tx`
    update import_update staged
    set properties = properties - 'appRoles', cleared = array_remove(cleared, 'appRoles'),
      merged = (merged - 'appRoles') || case when stored ? 'appRoles'
        then jsonb_build_object('appRoles', stored -> 'appRoles') else '{}' end
    where kind = 'servicePrincipal' and stored -> 'appRoles' is distinct from merged -> 'appRoles'
      and exists (
        select from directory_object application
        where application.tenant_id = ${tenantId} and application.kind = 'application'
          and application.app_id = stored ->> 'appId' and application.deleted_at is null)`
}

/** DIR-417: does what a PATCH of `appRoles` does, for the lines that are stored by now. Returns the changes for the log. */
export async function settleAppRoles(tx: Tx, tenantId: string): Promise<readonly Change[]> {
  const rows = await tx<{ appId: string }[]>`
    select properties ->> 'appId' as "appId" from import_object where kind in ('application', 'servicePrincipal')
    union
    select stored ->> 'appId' from import_update
    where kind in ('application', 'servicePrincipal') and stored -> 'appRoles' is distinct from merged -> 'appRoles'`
  const appIds = rows.map(({ appId }) => appId).filter((appId) => appId !== null)
  return appIds.length === 0 ? [] : await copyAppRoles(tx, tenantId, appIds)
}
