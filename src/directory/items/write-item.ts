import type { Change } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { ItemKind } from '../addresses/addresses.ts'
import { pathOf } from '../addresses/resource-path.ts'
import type { WriteContext } from '../entities/entity-write.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import { readNewProperties, unknownNames } from '../entities/read-properties.ts'
import { isJsonObject } from '../entities/storable.ts'
import { extensionPropertiesFor } from '../extensions/custom-properties.ts'
import { checkSize, readNewExtension } from '../extensions/extension-data.ts'
import { insertExtension } from '../extensions/extension-store.ts'
import type { DirectoryObject } from '../objects/object-store.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { defaultPlaces, idOfDefault, storeDefaults } from './default-items.ts'
import { itemResource } from './item-resources.ts'
import { type Item, insertItem } from './item-store.ts'

interface Place {
  readonly owner: DirectoryObject
  readonly parent: Item | undefined
}

/** Makes an item of the body, with the open extensions it brings along. The caller logs the change. */
export async function writeNewItem(
  context: WriteContext,
  kind: ItemKind,
  { owner, parent }: Place,
  body: JsonObject,
): Promise<Item> {
  const { tx, caller, audit } = context
  const { tenantId, applicationId } = caller
  const { extensions = [], ...sent } = body
  const resource = itemResource(kind)
  const custom = await extensionPropertiesFor(tx, tenantId, kind, unknownNames(resource, sent))
  const properties = readNewProperties(resource, sent, custom)
  const newExtensions = readInlineExtensions(kind, extensions)
  const parentId = parent?.id ?? (await placeOfNew(tx, tenantId, owner.id, kind))
  await beforeWrite(context, {
    verb: 'create',
    kind,
    id: undefined,
    owner,
    before: {},
    changes: properties,
  })
  const item = await insertItem(tx, tenantId, { kind, ownerId: owner.id, parentId, properties })
  const found = { object: owner, item }
  for (const extension of newExtensions)
    await insertExtension(tx, tenantId, found, { ...extension, applicationId })
  audit({ action: `create ${kind}`, target: pathOf(found), after: body })
  return item
}

const extensibleKinds: readonly ItemKind[] = [
  'message',
  'event',
  'contact',
  'todoTaskList',
  'todoTask',
  'post',
]

function readInlineExtensions(kind: ItemKind, extensions: Json) {
  const isAllowed = extensibleKinds.includes(kind) && Array.isArray(extensions)
  if (!isAllowed && !(Array.isArray(extensions) && extensions.length === 0))
    fail('InvalidProperty', { property: 'extensions' })
  return (extensions as readonly Json[]).map((extension) => {
    if (!isJsonObject(extension) || typeof extension.extensionName !== 'string')
      return fail('InvalidPropertyValue', { property: 'extensions', resource: itemResource(kind).noun })
    const read = readNewExtension(extension)
    checkSize(read.data, 'item')
    return read
  })
}

async function placeOfNew(
  tx: Query,
  tenantId: string,
  ownerId: string,
  kind: ItemKind,
): Promise<string | null> {
  const [placeKind, name] = defaultPlaces[kind] ?? []
  if (!placeKind || !name) return null
  await storeDefaults(tx, tenantId, ownerId, placeKind)
  return idOfDefault(ownerId, placeKind, name) ?? null
}

export function describeItemChange(kind: 'created' | 'updated' | 'deleted', item: Item): Change {
  const { id, ownerId, version } = item
  return { entity: item.kind, entityId: id, kind, data: { owner: ownerId, version } }
}
