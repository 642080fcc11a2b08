import type { Change } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import type { Located } from '../entities/entity-set.ts'
import type { WriteContext } from '../entities/entity-write.ts'
import { resources } from './kinds/resources.ts'
import {
  type DirectoryObject,
  describeChange,
  objectColumns,
  purgeObjects,
  setDeleted,
} from './object-store.ts'

/** Deletes a locked object: kinds that can be restored go to deletedItems, the others are gone. */
export async function removeObject(
  { tx, caller: { tenantId } }: WriteContext,
  { row: object }: Located<DirectoryObject>,
): Promise<Change[]> {
  if (!resources[object.kind].restorable) return await purgeObjects(tx, tenantId, [object])
  const changes = []
  for (const { id } of [object, ...(await findCompanions(tx, tenantId, object, null))])
    changes.push(describeChange('deleted', await setDeleted(tx, tenantId, id, true)))
  return changes
}

/** Service principals that are deleted and restored with their application: a deleted application gets no tokens. */
export async function findCompanions(
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
