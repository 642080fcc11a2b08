import { appendChanges } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { resources } from './kinds/resources.ts'
import {
  type DirectoryObject,
  describeChange,
  objectColumns,
  purgeObject,
  restoreObject,
  softDeleteObject,
} from './object-store.ts'

function describeWrite(verb: EntityWrite['verb'], { kind, id, properties }: DirectoryObject): EntityWrite {
  return { verb, kind, id, before: properties, changes: {} }
}

/** Deletes a locked object: what can be restored goes to deletedItems, the rest is gone. */
export async function performDeletion(context: WriteContext, object: DirectoryObject): Promise<void> {
  const { tx, caller, audit } = context
  const { tenantId } = caller
  await beforeWrite(context, describeWrite('delete', object))
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
  context: WriteContext,
  object: DirectoryObject,
): Promise<DirectoryObject> {
  const { tx, caller, audit } = context
  const { tenantId } = caller
  await beforeWrite(context, describeWrite('restore', object))
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
export async function performPurge(context: WriteContext, object: DirectoryObject): Promise<void> {
  const { tx, caller, audit } = context
  await beforeWrite(context, describeWrite('purge', object))
  await purgeObject(tx, caller.tenantId, object.id)
  const target = `/${resources[object.kind].set}/${object.id}`
  audit({ action: `purge ${object.kind}`, target, before: object.properties })
  await appendChanges(tx, caller.tenantId, [describeChange('purged', object)])
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
