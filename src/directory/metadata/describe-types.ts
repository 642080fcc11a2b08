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
  options: { readonly base?: string; readonly relations?: readonly Element[] } = {},
): Element[] {
  const { base, relations = [] } = options
  const described = describeProperties(kind, properties, base ? baseProperties : new Set())
  const key = element('Key', {}, [element('PropertyRef', { Name: 'id' })])
  // Definitions of extensions add properties to directory objects.
  const attributes = base ? { Name: kind, BaseType: base, OpenType: 'true' } : { Name: kind }
  const children = [...(base ? [] : [key]), ...described.properties, ...relations]
  return [...described.complexTypes, element('EntityType', attributes, children)]
}
