import { ownNamespace as namespace } from '../../kernel/surface.ts'
import { entityTag } from './entity-tag.ts'
import type { Described, Json, Property, Stored } from './property.ts'

export { namespace }

export interface Rendering {
  /** Properties to show instead of the default set. */
  readonly select?: readonly string[] | undefined
  /** The properties that the caller may read; undefined: all. */
  readonly readable?: ReadonlySet<string> | undefined
  /** Names the type of the entity: for collections that hold several types. */
  readonly typed?: boolean | undefined
}

/** An entity as it stands in a collection. */
export function showEntity(
  { properties }: Pick<Described, 'properties'>,
  entity: Stored,
  { select, readable, typed }: Rendering = {},
): Record<string, Json> {
  const shown: Record<string, Json> = {}
  if (typed) shown['@odata.type'] = `#${namespace}.${entity.kind}`
  if (entity.version !== undefined) shown['@odata.etag'] = entityTag(entity)
  for (const name of select ?? defaultNames(properties)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    const stored = entity.properties[name]
    if (readable && !readable.has(name)) shown[name] = property?.type === 'strings' ? [] : null
    else if (property) shown[name] = presentValue(property, name, entity)
    else if (stored !== undefined) shown[name] = stored
  }
  return shown
}

/** The value that a caller sees who may read it. */
export function presentValue(property: Property, name: string, entity: Stored): Json {
  if (property.secret) return null
  if (property.derive) return property.derive(entity)
  return entity.properties[name] ?? property.default ?? null
}

function defaultNames(properties: Described['properties']): string[] {
  return Object.entries(properties)
    .filter(([, { onlyBySelect, secret }]) => !onlyBySelect && !secret)
    .map(([name]) => name)
}

/** The `@odata.context` of a collection; `/$entity` behind it makes it that of one entity. */
export function contextOf(baseUrl: string, set: string, select?: readonly string[]): string {
  return `${baseUrl}/$metadata#${set}${select ? `(${select.join(',')})` : ''}`
}
