import { fail } from '../../kernel/problem.ts'
import type { Described, Json, JsonObject, Property, Stored } from './property.ts'
import { readValue } from './read-value.ts'
import { presentValue } from './show-entity.ts'
import { isJsonObject, isStorableJson } from './storable.ts'
import { checkTypes } from './type-names.ts'

/** The properties that extension definitions add to a kind. */
export type CustomProperties = ReadonlyMap<string, { update(stored: unknown, sent: unknown): unknown }>

const none: CustomProperties = new Map()

/** The properties of a body that creates an entity, without nulls; refuses a body without a required one. */
export function readNewProperties(
  resource: Described,
  body: JsonObject,
  custom: CustomProperties = none,
): JsonObject {
  checkTypes(resource, body)
  const properties: Record<string, Json> = {}
  for (const [name, value] of propertiesOf(body)) {
    const property = propertyOf(resource, name)
    if (property && value === null) continue
    const preset = property?.write === 'never' ? (property.default ?? null) : undefined
    const read = property
      ? readOne(resource, name, property, value, preset, 'elsewhere')
      : readCustom(name, value, custom, undefined)
    if (read !== undefined && read !== null) properties[name] = read
  }
  for (const [name, property] of Object.entries(resource.properties))
    if (property.required && property.write !== 'never' && properties[name] === undefined)
      fail('PropertyRequired', { property: name, resource: resource.noun }, { target: name })
  return properties
}

/** The properties of a body that updates an entity, with the members of complex values that stay; null clears one. */
export function readChangedProperties(
  resource: Described,
  body: JsonObject,
  custom: CustomProperties,
  entity: Stored,
): JsonObject {
  checkTypes(resource, body)
  const properties: Record<string, Json> = {}
  for (const [name, value] of propertiesOf(body)) {
    const property = propertyOf(resource, name)
    const read = property
      ? readOne(resource, name, property, value, presentValue(property, name, entity), 'creation')
      : readCustom(name, value, custom, entity.properties[name])
    if (read !== undefined) properties[name] = read
  }
  return properties
}

/** Refuses a member of a body that is no longer what a GET shows. */
export function requireUnchanged(shown: JsonObject, sent: JsonObject): void {
  for (const [name, value] of propertiesOf(sent))
    if (!isSame(value, shown[name])) fail('ReadOnlyProperty', { property: name }, { target: name })
}

/** The names in a body that are not in the table; extension definitions may define them. */
export function unknownNames(resource: Described, body: JsonObject): string[] {
  return propertiesOf(body)
    .map(([name]) => name)
    .filter((name) => !Object.hasOwn(resource.properties, name))
}

/** Annotations are ignored: clients send back those that they read. */
export function isAnnotation(name: string): boolean {
  return name.startsWith('@odata.')
}

function propertiesOf(body: JsonObject): [string, Json][] {
  return Object.entries(body).filter(([name]) => !isAnnotation(name))
}

function propertyOf({ properties }: Described, name: string): Property | undefined {
  return Object.hasOwn(properties, name) ? properties[name] : undefined
}

/**
 * The value to store. Undefined where the caller cannot set it and sends what is there: clients read an entity, change
 * a property and send it back whole.
 */
function readOne(
  resource: Described,
  name: string,
  property: Property,
  value: Json,
  present: Json | undefined,
  refused: Property['write'],
): Json | undefined {
  const { write, guarded, nullable } = property
  const isReadOnly = write === 'never' || write === refused
  const read = value === null ? null : readValue(property, value, present)
  const isGood = read !== undefined && (read !== null || nullable !== false)
  if (isGood && !isReadOnly && !guarded) return read
  if (present !== undefined && isPresent(property, present, value, read)) return undefined
  if (isReadOnly) fail('ReadOnlyProperty', { property: name }, { target: name })
  return isGood ? read : failValue(resource, name)
}

/** Compares as sent and as it would be stored: a client may spell a time or an id in another way than we do. */
function isPresent(property: Property, present: Json, sent: Json, read: Json | undefined): boolean {
  if (isSame(sent, present)) return true
  return read !== undefined && isSame(read, readValue(property, present) ?? present)
}

/** A member that is null and one that is missing are the same. */
function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (isJsonObject(one) && isJsonObject(other))
    return Object.keys({ ...one, ...other }).every((name) => isSame(one[name], other[name]))
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, at) => isSame(item, other[at]))
  return (one ?? null) === (other ?? null)
}

function readCustom(name: string, value: Json, custom: CustomProperties, stored: Json | undefined): Json {
  const definition = custom.get(name)
  const shown = name.slice(0, 200)
  if (!definition) return fail('InvalidProperty', { property: shown }, { target: shown })
  const read = definition.update(stored, value)
  if (read !== undefined && !isStorableJson(read)) return fail('InvalidProperty', { property: shown })
  return read ?? null
}

export function failValue(resource: Described, name: string): never {
  return fail('InvalidPropertyValue', { property: name, resource: resource.noun }, { target: name })
}
