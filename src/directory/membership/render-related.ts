import type { Caller } from '../../auth/caller.ts'
import { holds } from '../../auth/permit.ts'
import type { Json } from '../entities/property.ts'
import type { Rendering } from '../entities/show-entity.ts'
import { objectPermissions, readableProperties } from '../objects/object-permissions.ts'
import type { DirectoryObject } from '../objects/object-store.ts'
import { renderItem } from '../objects/render-object.ts'

/** An object on the far end of a relation. A caller who may not read objects of its kind sees the id alone. */
export function renderRelated(
  caller: Caller,
  object: DirectoryObject,
  { typed, select }: Pick<Rendering, 'typed' | 'select'>,
): Record<string, Json> {
  const mayRead = holds(caller, objectPermissions[object.kind].read)
  return renderItem(object, {
    typed,
    select: mayRead ? select : ['id'],
    readable: readableProperties(caller, object.kind),
  })
}
