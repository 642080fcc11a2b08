import { collectionOf } from '../addresses/resource-path.ts'
import type { Json, JsonObject, Property } from '../entities/property.ts'
import { formatDateTime } from '../entities/read-value.ts'
import { isJsonObject } from '../entities/storable.ts'
import { type DirectoryObject, entityTag } from '../objects/object-store.ts'
import { contextOf } from '../objects/render-object.ts'
import { wellKnownNameOf } from './default-items.ts'
import { itemResource } from './item-resources.ts'
import type { Item } from './item-store.ts'

/** An item as the whole answer. */
export function showEntity(
  baseUrl: string,
  { object, item }: { readonly object: DirectoryObject; readonly item: Item },
  select?: readonly string[],
): Record<string, Json> {
  const collection = collectionOf(object, item.kind, item.parentId)
  return { '@odata.context': `${contextOf(baseUrl, collection, select)}/$entity`, ...showItem(item, select) }
}

/** An item as it stands in a collection; `select` names the properties, else all of its table. */
export function showItem(item: Item, select?: readonly string[]): Record<string, Json> {
  const { properties } = itemResource(item.kind)
  const shown: Record<string, Json> = { '@odata.etag': entityTag(item) }
  for (const name of select ?? Object.keys(properties)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (property) shown[name] = shownValue(item, name, property)
    else if (item.properties[name] !== undefined) shown[name] = item.properties[name]
  }
  return shown
}

function shownValue(item: Item, name: string, property: Property): Json {
  if (property.column === 'created_at') return formatDateTime(item.createdAt)
  if (property.column === 'updated_at') return formatDateTime(item.updatedAt)
  switch (name) {
    case 'id':
      return item.id
    case 'parentFolderId':
    case 'conversationThreadId':
      return item.parentId
    case 'bodyPreview':
      return preview(item.properties)
    case 'receivedDateTime':
    case 'sentDateTime':
      return item.properties[name] ?? formatDateTime(item.createdAt)
    case 'isDefaultCalendar':
      return wellKnownNameOf(item.ownerId, 'calendar', item.id) !== undefined
    case 'wellknownListName':
      return wellKnownNameOf(item.ownerId, 'todoTaskList', item.id) ? 'defaultList' : 'none'
    default:
      return item.properties[name] ?? property.default ?? null
  }
}

const previewLength = 255

/** The beginning of the text; what stands in angle brackets is taken for markup. */
function preview({ body }: JsonObject): string {
  const content = isJsonObject(body) && typeof body.content === 'string' ? body.content : ''
  const start = content.slice(0, previewLength * 8)
  const isHtml = isJsonObject(body) && String(body.contentType).toLowerCase() === 'html'
  return [...(isHtml ? start.replace(/<[^>]*>/g, '') : start)].slice(0, previewLength).join('')
}
