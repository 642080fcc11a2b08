import { type TSchema, Type } from 'typebox'
import type { Described, Properties, Property } from './property.ts'

/** `getUser`, `listUsers`. */
export function nameOperation(verb: string, noun: string): string {
  return verb + noun.charAt(0).toUpperCase() + noun.slice(1)
}

/** Describes a body for readers of the API; requests are checked by the table of properties, for its messages. */
export function bodySchema({ kind, noun, properties }: Described, what: 'creation' | 'update') {
  const writable = Object.entries(properties).filter(([, { write }]) =>
    what === 'creation'
      ? write === undefined || write === 'creation'
      : write === undefined || write === 'elsewhere',
  )
  const words = writable.map(([name, property]) =>
    what === 'creation' && property.required ? `${name} (required)` : name,
  )
  return Type.Unsafe<Record<string, never>>(
    Type.Object(
      {},
      {
        title: nameOperation(what === 'creation' ? 'new' : 'changed', kind),
        description: `Properties of a ${noun}: ${words.join(', ')}.`,
      },
    ),
  )
}

export function entitySchema({
  kind,
  properties,
  schema,
}: Described & { readonly schema?: TSchema }): TSchema {
  if (schema) return schema
  return Type.Object(
    Object.fromEntries(
      Object.entries(properties)
        .filter(([, { secret }]) => !secret)
        .map(([name, property]) => [name, Type.Optional(propertySchema(property))]),
    ),
    { title: kind },
  )
}

export function listSchema(resource: Described): TSchema {
  return Type.Object(
    {
      '@odata.context': Type.String(),
      '@odata.count': Type.Optional(Type.Integer()),
      '@odata.nextLink': Type.Optional(Type.String()),
      value: Type.Array(entitySchema(resource)),
    },
    { title: `${resource.kind}Collection` },
  )
}

function propertySchema({ type }: Property): TSchema {
  if (type === 'json') return Type.Unknown()
  if (type === 'strings' || type === 'guids') return Type.Array(Type.String())
  if (type === 'boolean') return Type.Boolean()
  if (type === 'integer') return Type.Integer()
  if (typeof type === 'string') return Type.String()
  return 'objects' in type ? Type.Array(fieldsSchema(type.objects)) : fieldsSchema(type.object)
}

function fieldsSchema(fields: Properties): TSchema {
  return Type.Object(
    Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, Type.Optional(propertySchema(field))]),
    ),
  )
}
