import { Type } from 'typebox'
import { fail } from '../../kernel/problem.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import { isJsonObject, isStorableJson } from '../entities/storable.ts'
import { isExtensionType, isSameName, nameOf, readNewName } from './extension-name.ts'

/** The most bytes of one extension as JSON; `maxProperties` is the most properties of one. */
const limits = { object: 2048, item: 64 * 1024 } as const
const maxProperties = 200

const example = {
  '@odata.type': 'vendor.graph.openTypeExtension',
  extensionName: 'com.example.badge',
  colour: 'green',
}

export const newExtension = Type.Object(
  { '@odata.type': Type.String(), extensionName: Type.String() },
  { title: 'newOpenTypeExtension', additionalProperties: true, examples: [example] },
)
export const changedExtension = Type.Object(
  {
    '@odata.type': Type.Optional(Type.String()),
    extensionName: Type.Optional(Type.String()),
    id: Type.Optional(Type.String()),
  },
  { title: 'changedOpenTypeExtension', additionalProperties: true, examples: [{ colour: 'blue' }] },
)

const propertyName = /^[^\p{C}@]{1,128}$/u

/** The name and data of an extension to create. */
export function readNewExtension(body: JsonObject): { name: string; data: JsonObject } {
  checkType(body)
  const name = readNewName(String(body.extensionName))
  checkName(body, name)
  return { name, data: withoutNulls(dataOf(body)) }
}

/** The data after a change: null removes a value, other properties and members that are not named stay. */
export function changeData(name: string, data: JsonObject, body: JsonObject): JsonObject {
  if (body['@odata.type'] !== undefined) checkType(body)
  checkName(body, name)
  return mergeObjects(data, dataOf(body))
}

function mergeObjects(stored: JsonObject, sent: JsonObject): JsonObject {
  const merged = Object.entries(sent).map(([name, value]) => {
    const before = Object.hasOwn(stored, name) ? stored[name] : undefined
    return [name, isJsonObject(value) ? mergeObjects(isJsonObject(before) ? before : {}, value) : value]
  })
  return withoutNulls({ ...stored, ...Object.fromEntries(merged) })
}

export function checkSize(data: JsonObject, place: keyof typeof limits): void {
  const limit = limits[place]
  if (Buffer.byteLength(JSON.stringify(data)) > limit)
    fail('ExtensionLimitExceeded', { limit: `${limit / 1024} KB in an extension` })
  if (Object.keys(data).length > maxProperties)
    fail('ExtensionLimitExceeded', { limit: `${maxProperties} properties in an extension` })
}

function checkType(body: JsonObject): void {
  if (typeof body['@odata.type'] !== 'string' || !isExtensionType(body['@odata.type']))
    fail('InvalidPropertyValue', { property: '@odata.type', resource: 'OpenTypeExtension' })
}

/** A name does not change; a body may repeat it, in `id` in either form. */
function checkName({ extensionName, id }: JsonObject, name: string): void {
  if (typeof extensionName === 'string' && !isSameName(extensionName, name))
    fail('InvalidPropertyValue', { property: 'extensionName', resource: 'OpenTypeExtension' })
  if (id !== undefined && (typeof id !== 'string' || !isSameName(nameOf(id), name)))
    fail('InvalidPropertyValue', { property: 'id', resource: 'OpenTypeExtension' })
}

/** The extension's own properties, without its name, its id and OData's annotations. */
function dataOf(body: JsonObject): JsonObject {
  const own = Object.entries(body).filter(
    ([name]) => name !== 'extensionName' && name !== 'id' && !name.includes('@odata.'),
  )
  for (const [name, value] of own) {
    if (!propertyName.test(name)) fail('InvalidProperty', { property: name.slice(0, 200) })
    if (!isStorableJson(value))
      fail('InvalidPropertyValue', { property: name, resource: 'OpenTypeExtension' })
  }
  return Object.fromEntries(own)
}

function withoutNulls(data: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(data).filter((entry): entry is [string, Json] => entry[1] !== null),
  )
}
