import { type TSchema, Type } from 'typebox'
import type { Properties, Property } from './property.ts'

/** The names of annotations, which are taken and ignored. */
export const annotationNames = '^@odata\\.'

/** A value in a request or in an answer. */
type Direction = 'sent' | 'shown'

/** The schema of a value of the property. */
export function valueSchema(property: Property, direction: Direction, isNullable: boolean): TSchema {
  const schema = typeSchema(property, direction)
  if (!isNullable || property.type === 'json') return schema
  const { type, enum: words } = schema as { type?: string; enum?: readonly unknown[] }
  return Type.Unsafe({ ...schema, type: [type, 'null'], ...(words && { enum: [...words, null] }) })
}

const defaultMaxLength = 1024
const defaultMaxItems = 100

function typeSchema(property: Property, direction: Direction): TSchema {
  const { type, maxLength } = property
  const isSent = direction === 'sent'
  if (type === 'json') return Type.Unknown()
  const items = isSent ? { maxItems: maxLength ?? defaultMaxItems } : {}
  const words = wordsSchema(property, direction)
  if (type === 'strings') return Type.Array(Type.String(words), items)
  if (type === 'guids') return Type.Array(Type.String({ format: 'uuid' }), items)
  if (type === 'boolean') return Type.Boolean()
  if (type === 'integer') return Type.Integer({ format: 'int32' })
  if (type === 'guid') return Type.String({ format: 'uuid' })
  if (type === 'dateTime') return Type.String({ format: 'date-time' })
  if (type === 'string')
    return Type.String({ ...words, ...(isSent && { maxLength: maxLength ?? defaultMaxLength }) })
  return 'objects' in type
    ? Type.Array(fieldsSchema(type.objects, direction), items)
    : fieldsSchema(type.object, direction)
}

function wordsSchema({ accepts }: Property, direction: Direction): { enum?: string[] } {
  if (!accepts?.words || (accepts.anyCase && direction === 'shown')) return {}
  return { enum: [...accepts.words] }
}

function fieldsSchema(fields: Properties, direction: Direction): TSchema {
  const isSent = direction === 'sent'
  return Type.Object(
    Object.fromEntries(
      Object.entries(fields)
        .filter(([, { secret }]) => isSent || !secret)
        .map(([name, field]) => [name, Type.Optional(valueSchema(field, direction, true))]),
    ),
    isSent ? { additionalProperties: false, patternProperties: { [annotationNames]: {} } } : {},
  )
}
