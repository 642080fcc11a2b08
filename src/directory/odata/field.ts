import { fail } from '../../kernel/problem.ts'
import type { Described, Properties, Property } from '../entities/property.ts'

export type FieldType =
  | 'text'
  | 'guid'
  | 'guidText'
  | 'boolean'
  | 'integer'
  | 'dateTime'
  | 'texts'
  | 'objects'

/** A property to filter and sort a list by, and its SQL. */
export interface Field {
  readonly name: string
  readonly type: FieldType
  /** SQL of the value in a row of this alias; made of constants of ours, never of input. */
  readonly sqlOf: (row: string) => string
  readonly filter: boolean
  readonly sort: boolean
  readonly index?: Property['index']
  /** Never null: an index on the value itself serves the sort. */
  readonly always?: boolean
  /** The properties of the items, for `objects`. */
  readonly items?: Properties
}

/** Fields by their names in lower case: OData clients are not careful about case. */
export type Fields = ReadonlyMap<string, Field>

function makeFields(fields: readonly Field[]): Fields {
  return new Map(fields.map((field) => [field.name.toLowerCase(), field]))
}

/** The field of a query option; refuses properties that are unknown or that the option does not support. */
export function requireField(
  { fields, type }: { readonly fields: Fields; readonly type: string },
  option: '$filter' | '$orderby' | '$search',
  name: string,
  isSupported: (field: Field) => boolean,
): Field {
  const field = fields.get(name.toLowerCase())
  if (!field) return fail('UnknownPropertyInQuery', { property: name.slice(0, 200), type })
  if (isSupported(field)) return field
  return fail('UnsupportedQuery', { option, reason: `is not supported on the property '${field.name}'` })
}

/** Where the values of properties are: in columns of the row, by property, else in its JSON. */
export interface Storage {
  readonly columns: Readonly<Record<string, string>>
  /** Every property can be filtered by, not only those that say so. */
  readonly filterAll: boolean
}

const objectStorage: Storage = {
  columns: {
    displayName: 'display_name',
    userPrincipalName: 'user_principal_name',
    mailNickname: 'mail_nickname',
    appId: 'app_id',
  },
  filterAll: true,
}

/** The fields of resources of some kinds, directory objects unless another storage is given. */
export function fieldsOf(
  resources: readonly Pick<Described, 'properties'>[],
  storage: Storage = objectStorage,
): Fields {
  const known = new Map<string, Field>()
  for (const { properties } of resources)
    for (const field of listFields(properties, storage)) {
      const key = field.name.toLowerCase()
      const before = known.get(key)
      // Of several kinds, all must have the index.
      known.set(key, before && before.index !== field.index ? { ...field, index: undefined } : field)
    }
  return known
}

function listFields(properties: Properties, storage: Storage): Field[] {
  return Object.entries(properties).flatMap(([name, property]) => {
    if (typeof property.type !== 'object' || !('object' in property.type))
      return [fieldOf(name, property, storage)]
    if (!storage.filterAll || property.secret) return [unusable(name)]
    const inner = itemFields(property.type.object, (row) => `${row}.properties -> '${name}'`)
    return [
      unusable(name),
      ...[...inner.values()].map((field) => ({ ...field, name: `${name}/${field.name}` })),
    ]
  })
}

/** The fields of a complex value that `sqlOf` gives. */
export function itemFields(properties: Properties, sqlOf: (row: string) => string): Fields {
  return makeFields(
    Object.entries(properties)
      .map(([name, property]) =>
        storedField(
          name,
          property,
          (row) => `(${sqlOf(row)} ->> '${name}')`,
          (row) => `${sqlOf(row)} -> '${name}'`,
        ),
      )
      .map((field) => ({ ...field, filter: field.type !== 'objects' })),
  )
}

/** The same fields for a caller who may not read all of them: the others can be neither filtered nor sorted by. */
export function restrictFields(fields: Fields, readable: ReadonlySet<string> | undefined): Fields {
  if (!readable) return fields
  return makeFields(
    [...fields.values()].map((field) =>
      readable.has(field.name) ? field : { ...field, filter: false, sort: false },
    ),
  )
}

/** The same fields for rows that the indexes leave out. */
export function withoutIndexes(fields: Fields): Fields {
  return makeFields([...fields.values()].map(({ index: _, ...field }) => field))
}

function unusable(name: string): Field {
  return { name, type: 'text', sqlOf: () => 'null', filter: false, sort: false }
}

function fieldOf(name: string, property: Property, { columns, filterAll }: Storage): Field {
  const own = columns[name] ?? property.column
  const isKey = name === 'id' && property.type === 'guid'
  const isComputed = property.derive !== undefined && own === undefined && !isKey
  if (property.secret || isComputed || property.type === 'json') return unusable(name)
  const filter = filterAll || property.filter === true
  const sort = property.sort ?? (property.index !== undefined && isSortable(property))
  if (name === 'id' && property.type === 'guid')
    return { name, type: 'guid', sqlOf: (row) => `${row}.id`, filter, sort, index: 'key', always: true }
  const field = storedField(
    name,
    property,
    own ? (row) => `${row}.${own}` : (row) => `(${row}.properties ->> '${name}')`,
    (row) => `${row}.properties -> '${name}'`,
  )
  return { ...field, filter, sort, index: property.index, always: own === 'created_at' }
}

function isSortable({ type, index }: Property): boolean {
  return index !== 'elements' && (type === 'string' || type === 'dateTime' || type === 'integer')
}

function storedField(
  name: string,
  property: Property,
  textOf: (row: string) => string,
  jsonOf: (row: string) => string,
): Field {
  const make = (type: FieldType, sqlOf: (row: string) => string): Field => {
    const withPreset = presetOf(property)
    return { name, type, sqlOf: (row) => withPreset(sqlOf(row)), filter: true, sort: false }
  }
  const isColumn = !textOf('o').includes('->>')
  const cast = (type: string) => (isColumn ? textOf : (row: string) => `${textOf(row)}::${type}`)
  const { type } = property
  if (type === 'boolean') return make('boolean', cast('boolean'))
  if (type === 'integer') return make('integer', cast('integer'))
  if (type === 'dateTime') return make('dateTime', cast('timestamptz'))
  if (type === 'guid') return make('guidText', textOf)
  if (type === 'strings' || type === 'guids') return make('texts', (row) => `coalesce(${jsonOf(row)}, '[]')`)
  if (typeof type === 'object' && 'objects' in type)
    return { ...make('objects', (row) => `coalesce(${jsonOf(row)}, '[]')`), items: type.objects }
  return type === 'string' ? make('text', textOf) : unusable(name)
}

function presetOf({ default: preset }: Property): (sql: string) => string {
  if (typeof preset === 'boolean' || typeof preset === 'number') return (sql) => `coalesce(${sql}, ${preset})`
  if (typeof preset === 'string' && /^\w+$/.test(preset)) return (sql) => `coalesce(${sql}, '${preset}')`
  return (sql) => sql
}
