import type { AuditEntry } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import { requirePermissions } from '../../auth/permit.ts'
import { appendChanges } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import { resources } from './kinds/resources.ts'
import { roleAssignablePermissions } from './object-permissions.ts'
import {
  type DirectoryObject,
  describeChange,
  objectColumns,
  purgeObject,
  restoreObject,
  softDeleteObject,
} from './object-store.ts'
import { requirePowerOver } from './role-holders.ts'

interface Context {
  readonly tx: Query
  readonly caller: Caller
  readonly audit: (entry: AuditEntry) => void
}

/** Deletes a locked object: what can be restored goes to deletedItems, the rest is gone. */
export async function performDeletion(
  { tx, caller, audit }: Context,
  object: DirectoryObject,
): Promise<void> {
  const { tenantId } = caller
  checkRoleAssignable(caller, object)
  await requirePowerOver(tx, caller, object)
  const { restorable, set } = resources[object.kind]
  const companions = restorable ? await findPrincipals(tx, tenantId, object, null) : []
  const changes = []
  for (const one of [object, ...companions])
    if (restorable) changes.push(describeChange('deleted', await softDeleteObject(tx, tenantId, one.id)))
    else {
      await purgeObject(tx, tenantId, one.id)
      changes.push(describeChange('purged', one))
    }
  audit({ action: `delete ${object.kind}`, target: `/${set}/${object.id}`, before: object.properties })
  await appendChanges(tx, tenantId, changes)
}

/** Brings a locked deleted object back, and the service principal that went with its application. */
export async function performRestoration(
  { tx, caller, audit }: Context,
  object: DirectoryObject,
): Promise<DirectoryObject> {
  const { tenantId } = caller
  checkRoleAssignable(caller, object)
  await requirePowerOver(tx, caller, object)
  const companions = await findPrincipals(tx, tenantId, object, object.deletedAt)
  const restored = await restoreObject(tx, tenantId, object.id)
  const changes = [describeChange('restored', restored)]
  for (const { id } of companions)
    changes.push(describeChange('restored', await restoreObject(tx, tenantId, id)))
  const target = `/${resources[object.kind].set}/${object.id}`
  audit({ action: `restore ${object.kind}`, target, after: restored.properties })
  await appendChanges(tx, tenantId, changes)
  return restored
}

/** Deletes a locked deleted object for good. */
export async function performPurge({ tx, caller, audit }: Context, object: DirectoryObject): Promise<void> {
  checkRoleAssignable(caller, object)
  await requirePowerOver(tx, caller, object)
  await purgeObject(tx, caller.tenantId, object.id)
  const target = `/${resources[object.kind].set}/${object.id}`
  audit({ action: `purge ${object.kind}`, target, before: object.properties })
  await appendChanges(tx, caller.tenantId, [describeChange('purged', object)])
}

/** Whoever holds a role through a group is as strong as the role: such groups are not for everybody. */
export function checkRoleAssignable(
  caller: Caller,
  { kind, properties }: Pick<DirectoryObject, 'kind' | 'properties'>,
) {
  if (kind === 'group' && properties.isAssignableToRole === true)
    requirePermissions(caller, roleAssignablePermissions)
}

/** An application that is gone signs nobody in: its service principal goes with it, and comes back with it. */
async function findPrincipals(
  tx: Query,
  tenantId: string,
  { kind, properties: { appId } }: DirectoryObject,
  deletedAt: Date | null,
): Promise<DirectoryObject[]> {
  if (kind !== 'application' || typeof appId !== 'string') return []
  return await tx<DirectoryObject[]>`
    select ${objectColumns(tx)} from directory_object o
    where o.tenant_id = ${tenantId} and o.kind = 'servicePrincipal' and o.app_id = ${appId}
      and date_trunc('milliseconds', o.deleted_at) is not distinct from ${deletedAt}::timestamptz
    for update`
}
