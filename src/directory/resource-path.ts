import type { ItemKind } from './addresses.ts'
import type { Found } from './find-resource.ts'
import { resources } from './resources/resources.ts'

/** The collection of a kind, under its owner or, where the arrow says so, under its parent. */
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

/** The one spelling of a resource's path that contexts, links and the audit use. */
export function pathSegments({ object, item }: Found): readonly (readonly [set: string, id: string])[] {
  const owner = [resources[object.kind].set, object.id] as const
  if (!item) return [owner]
  const [outer = '', inner] = collections[item.kind].split(' → ')
  return inner === undefined
    ? [owner, [outer, item.id]]
    : [owner, [outer, item.parentId ?? ''], [inner, item.id]]
}

/** `/users/{id}/messages/{id}` */
export function pathOf(found: Found): string {
  return pathSegments(found)
    .map(([set, id]) => `/${set}/${id}`)
    .join('')
}

/** `users('{id}')/messages('{id}')`, as `@odata.context` has it. */
export function contextPathOf(found: Found): string {
  return pathSegments(found)
    .map(([set, id]) => `${set}('${id}')`)
    .join('/')
}
