import type { Item } from '../items/item-store.ts'
import { resources } from '../objects/kinds/resources.ts'
import type { DirectoryObject } from '../objects/object-store.ts'
import type { ItemKind } from './addresses.ts'

/** The collection of a kind under its owner; behind an arrow, under its parent. */
const collections: Readonly<Record<ItemKind, string>> = {
  message: 'messages',
  mailFolder: 'mailFolders',
  event: 'events',
  calendar: 'calendars',
  calendarGroup: 'calendarGroups',
  contact: 'contacts',
  contactFolder: 'contactFolders',
  todoTaskList: 'todo/lists',
  todoTask: 'todo/lists → tasks',
  conversation: 'conversations',
  thread: 'threads',
  post: 'threads → posts',
}

interface Located {
  readonly object: DirectoryObject
  readonly item: Pick<Item, 'kind' | 'id' | 'parentId'> | undefined
}

/** The one spelling of a resource's path that contexts, links and the audit use. */
export function pathSegments({ object, item }: Located): readonly (readonly [set: string, id: string])[] {
  const owner = [resources[object.kind].set, object.id] as const
  if (!item) return [owner]
  const [outer = '', inner] = collections[item.kind].split(' → ')
  return inner === undefined
    ? [owner, [outer, item.id]]
    : [owner, [outer, item.parentId ?? ''], [inner, item.id]]
}

/** `users('{id}')/messages`: the collection of a kind, as `@odata.context` has it. */
export function collectionOf(object: DirectoryObject, kind: ItemKind, parentId: string | null): string {
  const path = contextPathOf({ object, item: { kind, id: '', parentId } })
  return path.slice(0, -"('')".length)
}

/** `/users/{id}/messages/{id}` */
export function pathOf(found: Located): string {
  return pathSegments(found)
    .map(([set, id]) => `/${set}/${id}`)
    .join('')
}

/** `users('{id}')/messages('{id}')`, as `@odata.context` has it. */
export function contextPathOf(found: Located): string {
  return pathSegments(found)
    .map(([set, id]) => `${set}('${id}')`)
    .join('/')
}
