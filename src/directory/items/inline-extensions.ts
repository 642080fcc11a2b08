import { fail } from '../../kernel/problem.ts'
import type { EntityContext } from '../entities/entity-set.ts'
import type { Json } from '../entities/property.ts'
import { isJsonObject } from '../entities/storable.ts'
import { checkSize, readNewExtension } from '../extensions/extension-data.ts'
import { insertExtension } from '../extensions/extension-store.ts'
import type { DirectoryObject } from '../objects/object-store.ts'
import { itemResource } from './item-resources.ts'
import type { Item } from './item-store.ts'

export const extensibleKinds: ReadonlySet<string> = new Set([
  'message',
  'event',
  'contact',
  'todoTaskList',
  'todoTask',
  'post',
])

/** Hangs the open extensions in the body of a new item on it. */
export async function insertInlineExtensions(
  { tx, caller }: EntityContext,
  found: { readonly object: DirectoryObject; readonly item: Item },
  extensions: Json,
): Promise<void> {
  const { kind } = found.item
  if (!Array.isArray(extensions) || (extensions.length > 0 && !extensibleKinds.has(kind)))
    return fail('InvalidProperty', { property: 'extensions' })
  for (const sent of extensions) {
    if (!isJsonObject(sent) || typeof sent.extensionName !== 'string')
      return fail('InvalidPropertyValue', { property: 'extensions', resource: itemResource(kind).noun })
    const { name, data } = readNewExtension(sent)
    checkSize(data, 'item')
    await insertExtension(tx, caller.tenantId, found, { name, data, applicationId: caller.applicationId })
  }
}
