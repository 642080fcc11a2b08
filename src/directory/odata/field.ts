import { fail } from '../../kernel/problem.ts'
import type { Described, Property } from '../entities/property.ts'

/** A property to filter and sort a list by, and its SQL. */
export interface Field {
  readonly name: string
  /** SQL of the value; a constant of ours, never made of input. */
  readonly sql: string
  readonly type: 'text' | 'guid' | 'boolean' | 'integer' | 'dateTime' | 'texts'
  readonly filter: boolean
  readonly sort: boolean
  /** Never null: an index on the value itself serves the sort. */
  readonly always?: boolean
}

/** Fields by their names in lower case: OData clients are not careful about case. */
export type Fields = ReadonlyMap<string, Field>

export function makeFields(fields: readonly Field[]): Fields {
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

/** The fields of resources of some kinds; their table's alias is `o`, and `columns` are those it has for properties. */
export function fieldsOf(
  resources: readonly Pick<Described, 'properties'>[],
  columns: Readonly<Record<string, string>> = objectColumns,
): Fields {
  const fields = resources.flatMap(({ properties }) =>
    Object.entries(properties).flatMap(([name, property]) => fieldOf(name, property, columns)),
  )
  return makeFields(fields)
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

const objectColumns: Readonly<Record<string, string>> = {
  displayName: 'o.display_name',
  userPrincipalName: 'o.user_principal_name',
  mailNickname: 'o.mail_nickname',
  appId: 'o.app_id',
}

function fieldOf(name: string, property: Property, columns: Readonly<Record<string, string>>): Field[] {
  const filter = property.filter === true
  const sort = property.sort === true
  const stored = `o.properties ->> '${name}'`
  const column = property.column ? `o.${property.column}` : undefined
  const always = property.column === 'created_at'
  const field = (type: Field['type'], sql: string): Field[] => [{ name, sql, type, filter, sort, always }]
  switch (property.type) {
    case 'string':
      return field('text', columns[name] ?? withDefault(`(${stored})`, property))
    case 'guid':
      return name === 'id' ? field('guid', 'o.id') : field('text', columns[name] ?? `(${stored})`)
    case 'boolean':
      return field('boolean', column ?? withDefault(`(${stored})::boolean`, property))
    case 'integer':
      return field('integer', withDefault(`(${stored})::integer`, property))
    case 'dateTime':
      return field('dateTime', column ?? `(${stored})::timestamptz`)
    case 'strings':
      return field('texts', `coalesce(o.properties -> '${name}', '[]')`)
    default:
      return filter || sort ? [] : [{ name, sql: 'null', type: 'text', filter, sort }]
  }
}

function withDefault(sql: string, { default: preset }: Property): string {
  if (typeof preset === 'boolean' || typeof preset === 'number') return `coalesce(${sql}, ${preset})`
  if (typeof preset === 'string' && /^\w+$/.test(preset)) return `coalesce(${sql}, '${preset}')`
  return sql
}
