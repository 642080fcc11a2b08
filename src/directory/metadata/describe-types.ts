import type { TSchema } from 'typebox'
import type { Described, Properties, Property } from '../entities/property.ts'
import { namespace } from '../entities/show-entity.ts'
import { type Element, element } from './xml.ts'

/** Properties that the base type of directory objects has. */
export const baseProperties: ReadonlySet<string> = new Set(['id', 'deletedDateTime'])

const scalarTypes = {
  string: 'Edm.String',
  guid: 'Edm.String',
  boolean: 'Edm.Boolean',
  integer: 'Edm.Int32',
  dateTime: 'Edm.DateTimeOffset',
  strings: 'Collection(Edm.String)',
  guids: 'Collection(Edm.String)',
  json: 'Edm.Untyped',
} as const

/** The properties of a table as elements, and the complex types that they need. */
export function describeProperties(
  kind: string,
  properties: Properties,
  except: ReadonlySet<string> = new Set(),
): { properties: Element[]; complexTypes: Element[] } {
  const complexTypes: Element[] = []
  const described = Object.entries(properties)
    .filter(([name, { secret }]) => !secret && !except.has(name))
    .map(([name, property]) => {
      const Type = typeOf(`${kind}_${name}`, property, complexTypes)
      const isCollection = Type.startsWith('Collection(')
      const isRequired = isCollection || (property.required === true && property.nullable === false)
      return element('Property', { Name: name, Type, ...(isRequired && { Nullable: 'false' }) })
    })
  return { properties: described, complexTypes }
}

/** The name of a property's type; adds a complex type where the property needs one. */
function typeOf(name: string, { type }: Property, complexTypes: Element[]): string {
  if (typeof type === 'string') return scalarTypes[type]
  const inner = describeProperties(name, 'object' in type ? type.object : type.objects)
  complexTypes.push(...inner.complexTypes, element('ComplexType', { Name: name }, inner.properties))
  return 'object' in type ? `${namespace}.${name}` : `Collection(${namespace}.${name})`
}

/** An entity type with its key, properties and relations, behind the complex types that it needs. */
export function describeEntity(
  { kind, properties }: Pick<Described, 'kind' | 'properties'>,
  relations: readonly Element[],
  base?: string,
): Element[] {
  const described = describeProperties(kind, properties, base ? baseProperties : new Set())
  const key = element('Key', {}, [element('PropertyRef', { Name: 'id' })])
  // Definitions of extensions add properties to directory objects.
  const attributes = base ? { Name: kind, BaseType: base, OpenType: 'true' } : { Name: kind }
  const children = [...(base ? [] : [key]), ...described.properties, ...relations]
  return [...described.complexTypes, element('EntityType', attributes, children)]
}

interface JsonSchema {
  readonly type?: string
  readonly anyOf?: readonly JsonSchema[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

/** A type of this name with the properties of a schema, behind the complex types that it needs. */
export function describeSchema(kind: 'EntityType' | 'ComplexType', name: string, schema: TSchema): Element[] {
  const { properties = {}, required = [] } = schema as JsonSchema
  const complexTypes: Element[] = []
  const described = Object.entries(properties)
    .filter(([property]) => !property.startsWith('@'))
    .map(([property, inner]) => {
      const Type = typeOfSchema(`${name}_${property}`, inner as TSchema, complexTypes, property)
      const isRequired = required.includes(property) && !isNullable(inner)
      return element('Property', { Name: property, Type, ...(isRequired && { Nullable: 'false' }) })
    })
  const key = kind === 'EntityType' ? [element('Key', {}, [element('PropertyRef', { Name: 'id' })])] : []
  return [...complexTypes, element(kind, { Name: name }, [...key, ...described])]
}

function isNullable({ type, anyOf }: JsonSchema): boolean {
  return type === 'null' || (anyOf?.some(isNullable) ?? false)
}

const schemaTypes: Readonly<Record<string, string>> = {
  string: 'Edm.String',
  boolean: 'Edm.Boolean',
  integer: 'Edm.Int32',
  null: 'Edm.String',
}

/** The type of a value of the schema; adds a complex type where it needs one. */
export function typeOfSchema(name: string, schema: TSchema, complexTypes: Element[], property = ''): string {
  const { type, anyOf, items, properties } = schema as JsonSchema
  const inner = anyOf?.find((one) => one.type !== 'null')
  if (inner) return typeOfSchema(name, inner as TSchema, complexTypes, property)
  if (items) return `Collection(${typeOfSchema(name, items as TSchema, complexTypes)})`
  if (properties) {
    complexTypes.push(...describeSchema('ComplexType', name, schema))
    return `${namespace}.${name}`
  }
  if (property.endsWith('DateTime')) return 'Edm.DateTimeOffset'
  return schemaTypes[type ?? ''] ?? 'Edm.Untyped'
}
