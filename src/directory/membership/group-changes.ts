import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { extensionPropertiesFor } from '../extensions/custom-properties.ts'
import type { DirectoryObject } from '../object-store.ts'
import { group as resource, standAloneProperties } from '../resources/group.ts'
import type { Json, JsonObject } from '../resources/property.ts'
import { failValue, readChangedProperties, unknownNames } from '../resources/read-properties.ts'

/** Properties as a body asks for them, turned into what is to be stored once the group is at hand. */
export type GroupChanges = (group: DirectoryObject) => JsonObject

/** The property among these that must come in a request of its own; it is refused in company. */
export function findStandAlone(body: JsonObject, company: boolean): string | undefined {
  const names = Object.keys(body).filter((name) => !name.startsWith('@odata.'))
  const alone = names.find((name) => Object.hasOwn(standAloneProperties, name))
  if (alone !== undefined && (company || names.length > 1))
    fail('StandAloneProperty', { property: alone }, { target: alone })
  return alone
}

/** Checks all that can be checked without the group; the function that comes back checks the rest. */
export async function readGroupChanges(tx: Query, tenantId: string, body: JsonObject): Promise<GroupChanges> {
  const customNames = unknownNames(resource, body)
  const custom = await extensionPropertiesFor(tx, tenantId, 'group', customNames)
  const [customBody, ownBody] = split(body, (name) => custom.has(name))
  const own = readChangedProperties(resource, ownBody)
  return (group) => {
    const changes: Record<string, Json> = { ...own, ...recalculate(group, own) }
    for (const [name, property] of custom)
      changes[name] = (property.update(group.properties[name], customBody[name]) as Json | undefined) ?? null
    checkTogether({ ...group.properties, ...changes }, own)
    return changes
  }
}

function split(body: JsonObject, isFirst: (name: string) => boolean): [JsonObject, JsonObject] {
  const entries = Object.entries(body)
  return [
    Object.fromEntries(entries.filter(([name]) => isFirst(name))),
    Object.fromEntries(entries.filter(([name]) => !isFirst(name))),
  ]
}

/** Nobody new can be subscribed to what there is no subscription to. */
function recalculate(group: DirectoryObject, own: JsonObject): JsonObject {
  return own.subscriptionEnabled === false && group.properties.autoSubscribeNewMembers === true
    ? { autoSubscribeNewMembers: null }
    : {}
}

/** Rules between properties, of the group as it would be. */
function checkTogether(after: JsonObject, own: JsonObject): void {
  if (own.autoSubscribeNewMembers === true && after.subscriptionEnabled === false)
    failValue(resource, 'autoSubscribeNewMembers')
  const labels = own.assignedLabels
  const isUnified = Array.isArray(after.groupTypes) && after.groupTypes.includes('Unified')
  if (Array.isArray(labels) && labels.length > 0 && !isUnified) failValue(resource, 'assignedLabels')
}
