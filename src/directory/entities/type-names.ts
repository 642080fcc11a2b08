import { type TProperties, Type } from 'typebox'
import { fail } from '../../kernel/problem.ts'
import { namespacePattern } from '../../kernel/surface.ts'
import type { Described, Json, JsonObject, Properties } from './property.ts'
import { isJsonObject } from './storable.ts'
import { annotationNames } from './value-schema.ts'

const qualifier = `^#?${namespacePattern}\\.`
const qualified = new RegExp(qualifier)

/** Refuses a body in which an `@odata.type` names another type than that of its value. */
export function checkTypes({ kind, named, noun, properties }: Described, body: JsonObject): void {
  if (!hasRightTypes(body, [kind, named], properties))
    fail('InvalidPropertyValue', { property: '@odata.type', resource: noun }, { target: '@odata.type' })
}

type Names = readonly [own: string, original: string | undefined]

/** Complex types go by their name in `$metadata`, `application_web`, and by that in the original, `webApplication`. */
function hasRightTypes(value: Json | undefined, names: Names, fields: Properties): boolean {
  if (Array.isArray(value)) return value.every((item) => hasRightTypes(item, names, fields))
  if (!isJsonObject(value)) return true
  return (
    isAnyOf(names, value['@odata.type'] ?? null) &&
    Object.entries(fields).every(([field, { type }]) => {
      if (typeof type === 'string') return true
      const inner = 'object' in type ? type.object : type.objects
      return hasRightTypes(value[field], [`${names[0]}_${field}`, type.named], inner)
    })
  )
}

function isAnyOf(names: Names, type: Json): boolean {
  if (type === null) return true
  return typeof type === 'string' && qualified.test(type) && names.includes(type.replace(qualified, ''))
}

/** The schema of an object without a table of properties: it may name its type, and other annotations are ignored. */
export function typedObject<Own extends TProperties>(names: readonly string[], properties: Own) {
  const pattern = `${qualifier}(?:${names.join('|')})$`
  return Type.Object(
    { '@odata.type': Type.Optional(Type.String({ pattern })), ...properties },
    { additionalProperties: false, patternProperties: { [annotationNames]: {} } },
  )
}
