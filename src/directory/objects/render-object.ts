import type { Json } from '../entities/property.ts'
import { contextOf, type Rendering, showEntity } from '../entities/show-entity.ts'
import { resources } from './kinds/resources.ts'
import type { DirectoryObject } from './object-store.ts'

/** An object as it stands in a collection. */
export function renderItem(object: DirectoryObject, rendering?: Rendering): Record<string, Json> {
  return showEntity(resources[object.kind], object, rendering)
}

/** An object as the whole answer. `set` is the entity set of the requested path. */
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
