import { flag, oneOfWords, type Properties, text } from '../../entities/property.ts'
import { wellKnownNameOf } from '../default-items.ts'
import * as of from './shared.ts'

export const event: Properties = {
  id: of.id,
  ...of.times,
  categories: of.categories,
  subject: of.title,
  bodyPreview: of.bodyPreview,
  body: of.body,
  importance: of.importance,
  sensitivity: {
    type: 'string',
    default: 'normal',
    accepts: oneOfWords('normal', 'personal', 'private', 'confidential'),
  },
  showAs: {
    type: 'string',
    default: 'busy',
    accepts: oneOfWords('free', 'tentative', 'busy', 'oof', 'workingElsewhere', 'unknown'),
  },
  start: of.dateTimeTimeZone,
  end: of.dateTimeTimeZone,
  isAllDay: { ...flag, default: false },
  isCancelled: of.never,
  isReminderOn: { ...flag, default: true },
  reminderMinutesBeforeStart: { type: 'integer', default: 15 },
  hasAttachments: of.never,
  location: {
    type: {
      named: 'location',
      object: { displayName: text, locationUri: text, address: of.physicalAddress },
    },
  },
  attendees: {
    type: {
      named: 'attendee',
      objects: {
        type: { type: 'string', accepts: oneOfWords('required', 'optional', 'resource') },
        emailAddress: { type: { named: 'emailAddress', object: { name: text, address: text } } },
        status: { type: 'json' },
      },
    },
    default: [],
    maxLength: 500,
  },
  recurrence: of.recurrence,
}

export const calendar: Properties = {
  id: of.id,
  name: of.requiredTitle,
  color: { type: 'string', default: 'auto', maxLength: 32 },
  isDefaultCalendar: {
    type: 'boolean',
    write: 'never',
    derive: ({ ownerId = '', id }) => wellKnownNameOf(ownerId, 'calendar', id) !== undefined,
  },
  canEdit: { type: 'boolean', write: 'never', default: true },
}

export const calendarGroup: Properties = { id: of.id, name: of.requiredTitle }
