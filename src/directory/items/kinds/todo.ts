import { flag, oneOfWords, type Properties } from '../../entities/property.ts'
import { wellKnownNameOf } from '../default-items.ts'
import * as of from './shared.ts'

export const todoTaskList: Properties = {
  id: of.id,
  displayName: of.requiredTitle,
  isOwner: { ...flag, write: 'never', default: true },
  isShared: of.never,
  wellknownListName: {
    type: 'string',
    write: 'never',
    derive: ({ ownerId = '', id }) => (wellKnownNameOf(ownerId, 'todoTaskList', id) ? 'defaultList' : 'none'),
  },
}

export const todoTask: Properties = {
  id: of.id,
  ...of.times,
  title: of.requiredTitle,
  status: {
    type: 'string',
    default: 'notStarted',
    filter: true,
    accepts: oneOfWords('notStarted', 'inProgress', 'completed', 'waitingOnOthers', 'deferred'),
  },
  importance: of.importance,
  body: of.body,
  categories: of.categories,
  startDateTime: of.dateTimeTimeZone,
  dueDateTime: of.dateTimeTimeZone,
  reminderDateTime: of.dateTimeTimeZone,
  completedDateTime: of.dateTimeTimeZone,
  isReminderOn: { ...flag, default: false },
  hasAttachments: of.never,
  recurrence: of.recurrence,
}
