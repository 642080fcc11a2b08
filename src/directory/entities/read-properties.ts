import { fail } from '../../kernel/problem.ts'
import type { Described, Json, JsonObject, Property } from './property.ts'
import { readValue } from './read-value.ts'
import { isStorableJson } from './storable.ts'

/** The properties that extension definitions add to a kind. */
export type CustomProperties = ReadonlyMap<string, { update(stored: unknown, sent: unknown): unknown }>

const none: CustomProperties = new Map()

/** The properties of a body that creates an entity, without nulls; refuses a body without a required one. */
export function readNewProperties(
  resource: Described,
  body: JsonObject,
  custom: CustomProperties = none,
): JsonObject {
  const properties: Record<string, Json> = {}
  for (const [name, value] of propertiesOf(body)) {
    if (value === null && Object.hasOwn(resource.properties, name)) continue
    const read = readOne(resource, name, value, custom, undefined, 'elsewhere')
    if (read !== null) properties[name] = read
  }
  for (const [name, property] of Object.entries(resource.properties))
    if (property.required && property.write !== 'never' && properties[name] === undefined)
      fail('PropertyRequired', { property: name, resource: resource.noun }, { target: name })
  return properties
}

/** The properties of a body that updates an entity; null clears one. */
export function readChangedProperties(
  resource: Described,
  body: JsonObject,
  custom: CustomProperties = none,
  stored: JsonObject = {},
): JsonObject {
  const properties: Record<string, Json> = {}
  for (const [name, value] of propertiesOf(body))
    properties[name] = readOne(resource, name, value, custom, stored[name], 'creation')
  return properties
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

function readOne(
  resource: Described,
  name: string,
  value: Json,
  custom: CustomProperties,
  stored: Json | undefined,
  refused: Property['write'],
): Json {
  const property = Object.hasOwn(resource.properties, name) ? resource.properties[name] : undefined
  if (!property) return readCustom(name, value, custom, stored)
  if (property.write === 'never' || property.write === refused)
    fail('ReadOnlyProperty', { property: name }, { target: name })
  if (value === null) return property.nullable === false ? failValue(resource, name) : null
  const read = readValue(property, value)
  return read === undefined ? failValue(resource, name) : read
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
