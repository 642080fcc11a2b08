import { fail } from '../../kernel/problem.ts'
import type { JsonObject } from '../entities/property.ts'
import { type CustomProperties, isAnnotation, readChangedProperties } from '../entities/read-properties.ts'
import { checkTogether, recalculate } from '../objects/group-rules.ts'
import { group as resource, standAloneProperties } from '../objects/kinds/group.ts'
import type { DirectoryObject } from '../objects/object-store.ts'

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
