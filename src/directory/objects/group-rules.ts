import type { JsonObject } from '../entities/property.ts'
import { failValue } from '../entities/read-properties.ts'
import { group } from './kinds/group.ts'

/** Rules between properties: of what is set now, about the group as it would be. */
export function checkTogether(sent: JsonObject, after: JsonObject): void {
  if (sent.autoSubscribeNewMembers === true && after.subscriptionEnabled === false)
    failValue(group, 'autoSubscribeNewMembers')
  if (hasLabels(sent) && !isUnified(after)) failValue(group, 'assignedLabels')
  if (sent.securityEnabled === false && after.isAssignableToRole === true) failValue(group, 'securityEnabled')
}

/** What an update changes beside what was sent. */
export function recalculate(sent: JsonObject, stored: JsonObject): JsonObject {
  const after = { ...stored, ...sent }
  // Nobody new can be subscribed to what there is no subscription to.
  const endsSubscription = sent.subscriptionEnabled === false && stored.autoSubscribeNewMembers === true
  return {
    ...(endsSubscription && { autoSubscribeNewMembers: null }),
    ...(sent.groupTypes !== undefined &&
      sent.assignedLabels === undefined &&
      hasLabels(stored) &&
      !isUnified(after) && { assignedLabels: null }),
  }
}

function isUnified({ groupTypes }: JsonObject): boolean {
  return Array.isArray(groupTypes) && groupTypes.includes('Unified')
}

function hasLabels({ assignedLabels }: JsonObject): boolean {
  return Array.isArray(assignedLabels) && assignedLabels.length > 0
}
