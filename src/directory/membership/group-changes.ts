import { fail } from '../../kernel/problem.ts'
import type { DirectoryObject } from '../object-store.ts'
import { group as resource, standAloneProperties } from '../resources/group.ts'
import type { JsonObject } from '../resources/property.ts'
import {
  type CustomProperties,
  failValue,
  isAnnotation,
  readChangedProperties,
} from '../resources/read-properties.ts'

/** The property of a body that must come in a request of its own; in company it is refused. */
export function findStandAlone(body: JsonObject, hasCompany: boolean): string | undefined {
  const names = Object.keys(body).filter((name) => !isAnnotation(name))
  const alone = names.find((name) => Object.hasOwn(standAloneProperties, name))
  if (alone !== undefined && (hasCompany || names.length > 1))
    fail('StandAloneProperty', { property: alone }, { target: alone })
  return alone
}

/** What a body changes of a group; null stands for clearing a property. */
export function readGroupChanges(
  group: DirectoryObject,
  body: JsonObject,
  custom: CustomProperties,
): JsonObject {
  const sent = readChangedProperties(resource, body, custom, group.properties)
  const changes = { ...sent, ...recalculate(sent, group.properties) }
  checkTogether(sent, { ...group.properties, ...changes })
  return changes
}

/** Nobody new can be subscribed to what there is no subscription to. */
function recalculate(sent: JsonObject, stored: JsonObject): JsonObject {
  return sent.subscriptionEnabled === false && stored.autoSubscribeNewMembers === true
    ? { autoSubscribeNewMembers: null }
    : {}
}

/** Rules between properties, about the group as it would be. */
function checkTogether(sent: JsonObject, after: JsonObject): void {
  if (sent.autoSubscribeNewMembers === true && after.subscriptionEnabled === false)
    failValue(resource, 'autoSubscribeNewMembers')
  const isUnified = Array.isArray(after.groupTypes) && after.groupTypes.includes('Unified')
  const hasLabels = Array.isArray(sent.assignedLabels) && sent.assignedLabels.length > 0
  if (hasLabels && !isUnified) failValue(resource, 'assignedLabels')
  if (sent.securityEnabled === false && after.isAssignableToRole === true)
    failValue(resource, 'securityEnabled')
}
