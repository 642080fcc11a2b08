import type { Json, JsonObject } from '../entities/property.ts'
import { extensionType, qualify } from './extension-name.ts'

export function renderExtension(name: string, data: JsonObject, id: string): Record<string, Json> {
  return { '@odata.type': `#${extensionType}`, id, extensionName: name, ...data }
}

/** A directory object's extensions have their name for an id, an item's the fully qualified name. */
export function idOf(place: 'object' | 'item', name: string): string {
  return place === 'item' ? qualify(name) : name
}
