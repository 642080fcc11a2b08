import type { Caller } from '../../auth/caller.ts'
import { findRight, holdsAnyRole, type RightName } from '../../auth/effective-rights.ts'
import type { Change } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import type { Stored } from '../entities/property.ts'
import { describeMembership } from '../membership/describe-membership.ts'

const rightsToManage: Readonly<Record<string, RightName>> = {
  group: 'updateGroup',
  application: 'manageApplication',
  servicePrincipal: 'manageServicePrincipal',
}

/**
 * Makes the person who created an object its owner, unless a directory role includes managing it: without such a role,
 * only the owner can change the object. Returns the changes for the log.
 */
export async function ownCreated(tx: Query, caller: Caller, object: Stored): Promise<Change[]> {
  const right = rightsToManage[object.kind]
  if (right === undefined || caller.kind !== 'delegated' || holdsAnyRole(caller, findRight(right).roles))
    return []
  const owners = await tx<{ id: string }[]>`
    insert into owner_edge (tenant_id, object_id, owner_id)
    select tenant_id, ${object.id}, id from directory_object
    where tenant_id = ${caller.tenantId} and id = ${caller.objectId} and kind = 'user' and deleted_at is null
    returning owner_id as id`
  return owners.map(({ id }) => describeMembership('ownerAdded', object, id))
}
