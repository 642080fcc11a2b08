import type { Json, Property } from '../entities/property.ts'
import { formatDateTime } from '../entities/read-value.ts'
import type { Resource } from './kinds/resource.ts'
import { resources } from './kinds/resources.ts'
import { type DirectoryObject, entityTag } from './object-store.ts'

export const namespace = 'vendor.graph'

export interface Rendering {
  /** Properties to show instead of the default set. */
  readonly select?: readonly string[] | undefined
  /** The properties that the caller may read; undefined: all. */
  readonly readable?: ReadonlySet<string> | undefined
  /** Says of what type the object is: where a collection holds several. */
  readonly typed?: boolean
}

/** An object as it stands in a collection. */
export function renderItem(
  object: DirectoryObject,
  { select, readable, typed }: Rendering = {},
): Record<string, Json> {
  const resource = resources[object.kind]
  const shown: Record<string, Json> = {}
  if (typed) shown['@odata.type'] = `#${namespace}.${object.kind}`
  shown['@odata.etag'] = entityTag(object)
  for (const name of select ?? defaultNames(resource)) {
    const property = Object.hasOwn(resource.properties, name) ? resource.properties[name] : undefined
    if (readable && !readable.has(name)) shown[name] = property?.type === 'strings' ? [] : null
    else if (property) shown[name] = property.secret ? null : shownValue(object, name, property)
    else if (object.properties[name] !== undefined) shown[name] = object.properties[name]
  }
  return shown
}

/** An object as the whole answer. `set` is the entity set of the path it was asked for by. */
export function renderObject(
  object: DirectoryObject,
  baseUrl: string,
  rendering: Rendering & { readonly set?: string } = {},
): Record<string, Json> {
  const set = rendering.set ?? resources[object.kind].set
  return {
    '@odata.context': `${contextOf(baseUrl, set, rendering.select)}/$entity`,
    ...renderItem(object, rendering),
  }
}

export function contextOf(baseUrl: string, set: string, select?: readonly string[]): string {
  return `${baseUrl}/$metadata#${set}${select ? `(${select.join(',')})` : ''}`
}

function defaultNames(resource: Resource): string[] {
  return Object.entries(resource.properties)
    .filter(([, property]) => !property.onlyBySelect && !property.secret)
    .map(([name]) => name)
}

function shownValue(object: DirectoryObject, name: string, property: Property): Json {
  switch (name) {
    case 'id':
      return object.id
    case 'createdDateTime':
      return formatDateTime(object.createdAt)
    case 'deletedDateTime':
      return object.deletedAt && formatDateTime(object.deletedAt)
    case 'securityIdentifier':
      return securityIdentifierOf(object.id)
    case 'renewedDateTime':
      return object.properties[name] ?? formatDateTime(object.createdAt)
    default:
      return object.properties[name] ?? property.default ?? null
  }
}

/** The id in the form of a security identifier: its four 32-bit parts, as a GUID lies in memory. */
function securityIdentifierOf(id: string): string {
  const hex = id.replaceAll('-', '')
  const bytes = Buffer.from(hex, 'hex')
  bytes.subarray(0, 4).reverse()
  bytes.subarray(4, 6).reverse()
  bytes.subarray(6, 8).reverse()
  return `S-1-12-1-${[0, 4, 8, 12].map((at) => bytes.readUInt32LE(at)).join('-')}`
}
