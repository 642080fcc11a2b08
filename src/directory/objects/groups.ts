import type { Caller } from '../../auth/caller.ts'
import { recalculateMail } from '../group-mail.ts'
import { requireDataLocationRole } from '../permissions.ts'
import { group } from '../resources/group.ts'
import type { JsonObject } from '../resources/property.ts'
import { failValue } from '../resources/read-properties.ts'
import { createObject } from './create-object.ts'
import { deleteObject } from './delete-object.ts'
import { checkRoleAssignable } from './deletion.ts'
import { getObject } from './get-object.ts'
import { countObjects, listObjects } from './list-objects.ts'

function checkCreation(caller: Caller, properties: JsonObject): void {
  checkRoleAssignable(caller, { kind: 'group', properties })
  if (properties.isAssignableToRole === true && properties.securityEnabled !== true)
    failValue(group, 'securityEnabled')
  if (properties.preferredDataLocation !== undefined) requireDataLocationRole(caller)
  const isUnified = Array.isArray(properties.groupTypes) && properties.groupTypes.includes('Unified')
  if (properties.assignedLabels !== undefined && !isUnified) failValue(group, 'assignedLabels')
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
