import type { ItemKind } from '../addresses/addresses.ts'
import type { Described, Properties } from '../entities/property.ts'
import { calendar, calendarGroup, event } from './kinds/calendar.ts'
import { contact, contactFolder } from './kinds/contacts.ts'
import { conversation, post, thread } from './kinds/conversations.ts'
import { mailFolder, message } from './kinds/mail.ts'
import { todoTask, todoTaskList } from './kinds/todo.ts'

const tables: Readonly<Record<ItemKind, Properties>> = {
  message,
  mailFolder,
  event,
  calendar,
  calendarGroup,
  contact,
  contactFolder,
  todoTaskList,
  todoTask,
  conversation,
  thread,
  post,
}

export const itemKinds = Object.keys(tables) as readonly ItemKind[]

/** Every kind of item by its table of properties. */
export function itemResource(kind: ItemKind): Described {
  const noun = kind.charAt(0).toUpperCase() + kind.slice(1)
  return { kind, noun, properties: tables[kind], isPrivate: true }
}
