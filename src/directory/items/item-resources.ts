import type { ItemKind } from '../addresses/addresses.ts'
import type { Described, JsonObject, Properties } from '../entities/property.ts'
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

const examples: Readonly<Record<ItemKind, JsonObject>> = {
  message: { subject: 'Winter timetable', body: { contentType: 'text', content: 'It starts on Monday.' } },
  mailFolder: { displayName: 'Timetables' },
  event: {
    subject: 'Handover of the night shift',
    start: { dateTime: '2026-11-20T06:00:00', timeZone: 'UTC' },
    end: { dateTime: '2026-11-20T06:30:00', timeZone: 'UTC' },
  },
  calendar: { name: 'Shifts' },
  calendarGroup: { name: 'Crew' },
  contact: { displayName: 'Harbour master', emailAddresses: [{ address: 'harbour@port.example' }] },
  contactFolder: { displayName: 'Harbours' },
  todoTaskList: { displayName: 'Before the season' },
  todoTask: { title: 'Check the life jackets', importance: 'high' },
  conversation: { topic: 'Winter timetable' },
  thread: { topic: 'Winter timetable' },
  post: { body: { contentType: 'text', content: 'It starts on Monday.' } },
}

export const itemKinds = Object.keys(tables) as readonly ItemKind[]

/** Every kind of item by its table of properties. */
export function itemResource(kind: ItemKind): Described {
  const noun = kind.charAt(0).toUpperCase() + kind.slice(1)
  const named = kind === 'thread' ? { named: 'conversationThread' } : {}
  return { kind, noun, ...named, properties: tables[kind], example: examples[kind], isPrivate: true }
}
