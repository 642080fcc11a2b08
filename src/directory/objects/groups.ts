import type { Caller } from '../../auth/caller.ts'
import { readNew } from '../entities/create-entity.ts'
import { operationsOn } from '../entities/entity-operations.ts'
import type { JsonObject } from '../entities/property.ts'
import { bindMembers, bindOwners, bindReferences, references } from '../membership/bind-references.ts'
import { requireDataLocationRole } from '../permissions.ts'
import { checkTogether, recalculateMail, refuseDynamic } from './group-rules.ts'
import { group } from './kinds/group.ts'
import { objectSet } from './object-set.ts'

function checkCreation(caller: Caller, properties: JsonObject): void {
  checkTogether(properties, properties)
  refuseDynamic(properties)
  if (properties.preferredDataLocation !== undefined) requireDataLocationRole(caller)
}

const groups = objectSet(group, {
  creation: {
    takes: { [bindMembers]: references, [bindOwners]: references },
    read: (context, { [bindMembers]: _members, [bindOwners]: _owners, ...body }) =>
      readNew(context, group, body),
    relate: bindReferences,
    check: checkCreation,
    complete: async ({ tx, caller }, properties) => ({
      ...properties,
      ...(await recalculateMail(tx, caller.tenantId, {}, properties)),
    }),
  },
})

/** Updating a group is among the operations on its membership: it can add members too. */
export const groupOperations = operationsOn(groups, ['list', 'count', 'get', 'create', 'delete'])
