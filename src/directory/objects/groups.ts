import type { Caller } from '../../auth/caller.ts'
import type { JsonObject } from '../entities/property.ts'
import { requireDataLocationRole } from '../permissions.ts'
import { createObject } from './create-object.ts'
import { deleteObject } from './delete-object.ts'
import { getObject } from './get-object.ts'
import { recalculateMail } from './group-mail.ts'
import { checkTogether } from './group-rules.ts'
import { group } from './kinds/group.ts'
import { countObjects, listObjects } from './list-objects.ts'

function checkCreation(caller: Caller, properties: JsonObject): void {
  checkTogether(properties, properties)
  if (properties.preferredDataLocation !== undefined) requireDataLocationRole(caller)
}

/** Updating a group is among the operations on its membership: it can add members too. */
export const groupOperations = [
  listObjects(group),
  countObjects(group),
  getObject(group),
  createObject(group, {
    check: checkCreation,
    complete: async (tx, { tenantId }, properties) => ({
      ...properties,
      ...(await recalculateMail(tx, tenantId, {}, properties)),
    }),
  }),
  deleteObject(group),
]
