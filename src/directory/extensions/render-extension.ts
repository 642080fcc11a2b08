import { Type } from 'typebox'
import type { Found } from '../addresses/find-resource.ts'
import { contextPathOf } from '../addresses/resource-path.ts'
import type { Json } from '../entities/property.ts'
import { extensionType, qualify } from './extension-name.ts'
import type { Extension } from './extension-store.ts'

export const extensionSchema = Type.Object(
  { '@odata.type': Type.String(), id: Type.String(), extensionName: Type.String() },
  { title: 'openTypeExtension' },
)

export function renderExtension(
  { name, data }: Pick<Extension, 'name' | 'data'>,
  id: string,
): Record<string, Json> {
  return { '@odata.type': `#${extensionType}`, id, extensionName: name, ...data }
}

/** A directory object's extensions have their name for an id, an item's the fully qualified name. */
export function idOf(place: 'object' | 'item', name: string): string {
  return place === 'item' ? qualify(name) : name
}

export function placeOf({ item }: Found): 'object' | 'item' {
  return item ? 'item' : 'object'
}

export function extensionsContext(baseUrl: string, found: Found): string {
  return `${baseUrl}/$metadata#${contextPathOf(found)}/extensions`
}
