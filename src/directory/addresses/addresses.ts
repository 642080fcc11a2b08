import type { Params } from '../../auth/permission.ts'
import type { ExtensionResource } from '../permissions.ts'

export type ItemKind =
  | 'message'
  | 'mailFolder'
  | 'event'
  | 'calendar'
  | 'calendarGroup'
  | 'contact'
  | 'contactFolder'
  | 'todoTaskList'
  | 'todoTask'
  | 'conversation'
  | 'thread'
  | 'post'

export type ExtensibleObjectKind = 'user' | 'group' | 'device' | 'organization'

/** A resource and every way to write the path to one of its instances. */
export interface Address {
  readonly kind: ExtensibleObjectKind | ItemKind
  /** Its row in the permission tables. */
  readonly row: ExtensionResource
  /** The resource can have open extensions. */
  readonly extensible: boolean
  readonly paths: readonly string[]
  /** Keys that the path implies: `/calendar` is the default calendar. */
  readonly given: Params
}

type Kind = Address['kind']

const extensible = (kind: Kind, row: ExtensionResource, paths: string[], given: Params = {}): Address => ({
  kind,
  row,
  extensible: true,
  paths,
  given,
})
const plain = (kind: Kind, row: ExtensionResource, paths: string[], given: Params = {}): Address => ({
  ...extensible(kind, row, paths, given),
  extensible: false,
})

const inMailbox = (...paths: string[]) => paths.flatMap((path) => [`/me${path}`, `/users/:user${path}`])
const inGroup = (...paths: string[]) => paths.map((path) => `/groups/:group${path}`)
const cast = (key: string, kind: Kind) =>
  ['vendor.graph', 'microsoft.graph', 'graph'].map((name) => `/directoryObjects/${key}/${name}.${kind}`)

/**
 * Every address of the resources that can have open extensions, and of the folders, lists and threads around them, by
 * the noun that ends the names of operations (deleteOpenExtensionOfMessage). `find-resource.ts` looks the keys up from
 * left to right; `:childFolders` stands for any number of levels.
 */
export const addresses = {
  User: extensible('user', 'user', ['/me', '/users/:user', ...cast(':user', 'user')]),
  Group: extensible('group', 'group', ['/groups/:group', ...cast(':group', 'group')]),
  Device: extensible('device', 'device', ['/devices/:device', ...cast(':device', 'device')]),
  Organization: extensible('organization', 'organization', [
    '/organization/:organization',
    ...cast(':organization', 'organization'),
  ]),

  Message: extensible(
    'message',
    'message',
    inMailbox(
      '/messages/:message',
      '/mailFolders/:mailFolder/messages/:message',
      '/mailFolders/:mailFolder/childFolders/:childFolders/messages/:message',
    ),
  ),
  MailFolder: plain(
    'mailFolder',
    'message',
    inMailbox('/mailFolders/:mailFolder', '/mailFolders/:mailFolder/childFolders/:childFolders'),
  ),

  Event: extensible(
    'event',
    'event',
    inMailbox(
      '/events/:event',
      '/calendars/:calendar/events/:event',
      '/calendarGroups/:calendarGroup/calendars/:calendar/events/:event',
    ),
  ),
  DefaultCalendarEvent: extensible('event', 'event', inMailbox('/calendar/events/:event'), {
    calendar: 'calendar',
  }),
  DefaultCalendarGroupEvent: extensible(
    'event',
    'event',
    inMailbox('/calendarGroup/calendars/:calendar/events/:event'),
    { calendarGroup: 'calendarGroup' },
  ),
  Calendar: plain(
    'calendar',
    'event',
    inMailbox('/calendars/:calendar', '/calendarGroups/:calendarGroup/calendars/:calendar'),
  ),
  DefaultCalendar: plain('calendar', 'event', inMailbox('/calendar'), { calendar: 'calendar' }),
  CalendarGroup: plain('calendarGroup', 'event', inMailbox('/calendarGroups/:calendarGroup')),

  PersonalContact: extensible(
    'contact',
    'personal contact',
    inMailbox(
      '/contacts/:contact',
      '/contactFolders/:contactFolder/contacts/:contact',
      '/contactFolders/:contactFolder/childFolders/:childFolders/contacts/:contact',
    ),
  ),
  ContactFolder: plain(
    'contactFolder',
    'personal contact',
    inMailbox('/contactFolders/:contactFolder', '/contactFolders/:contactFolder/childFolders/:childFolders'),
  ),

  TaskList: extensible('todoTaskList', 'todoTasklist', inMailbox('/todo/lists/:list')),
  Task: extensible('todoTask', 'todoTask', inMailbox('/todo/lists/:list/tasks/:task')),

  GroupEvent: extensible('event', 'group event', inGroup('/events/:event', '/calendar/events/:event')),
  GroupCalendar: plain('calendar', 'group event', inGroup('/calendar'), { calendar: 'calendar' }),
  Conversation: plain('conversation', 'group post', inGroup('/conversations/:conversation')),
  Thread: plain(
    'thread',
    'group post',
    inGroup('/threads/:thread', '/conversations/:conversation/threads/:thread'),
  ),
  Post: extensible(
    'post',
    'group post',
    inGroup('/threads/:thread/posts/:post', '/conversations/:conversation/threads/:thread/posts/:post'),
  ),
} as const satisfies Record<string, Address>

export function isObjectKind(kind: Kind): kind is ExtensibleObjectKind {
  return kind === 'user' || kind === 'group' || kind === 'device' || kind === 'organization'
}
