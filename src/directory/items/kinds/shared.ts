import { isNotBlank, oneOfWords, type Properties, type Property } from '../../entities/property.ts'
import { showTime } from '../../entities/read-value.ts'
import { isJsonObject } from '../../entities/storable.ts'

export const id: Property = { type: 'guid', write: 'never', filter: true, derive: (item) => item.id }

const created: Property = {
  type: 'dateTime',
  write: 'never',
  column: 'created_at',
  derive: ({ createdAt }) => showTime(createdAt),
}
const updated: Property = {
  type: 'dateTime',
  write: 'never',
  column: 'updated_at',
  derive: ({ updatedAt }) => showTime(updatedAt),
}

export const times: Properties = {
  createdDateTime: { ...created, filter: true, sort: true },
  lastModifiedDateTime: { ...updated, filter: true, sort: true },
}

/** When a post or thread reached its group. */
export const delivered = { post: created, thread: updated } as const

/** A time that the sender may give; else that of the creation. */
export function sentTime(name: 'receivedDateTime' | 'sentDateTime'): Property {
  return { type: 'dateTime', derive: ({ properties, createdAt }) => properties[name] ?? showTime(createdAt) }
}

/** The id of the item that it lies in. */
export const parentId: Property = {
  type: 'guid',
  write: 'never',
  derive: (item) => item.parentId ?? null,
}

export const title: Property = { type: 'string', maxLength: 255, filter: true, sort: true }
export const requiredTitle: Property = {
  ...title,
  required: true,
  nullable: false,
  accepts: isNotBlank,
}

export const importance: Property = {
  type: 'string',
  default: 'normal',
  accepts: oneOfWords('low', 'normal', 'high'),
}

export const categories: Property = { type: 'strings', default: [] }

const line: Property = { type: 'string', maxLength: 1024 }

export const body: Property = {
  type: {
    named: 'itemBody',
    object: {
      contentType: { type: 'string', accepts: oneOfWords('text', 'html') },
      content: { type: 'string', maxLength: 512 * 1024 },
    },
  },
}

const previewLength = 255

/** The beginning of the text; in HTML, text in angle brackets is taken for markup. */
export const bodyPreview: Property = {
  type: 'string',
  write: 'never',
  derive({ properties: { body: stored } }) {
    const { content = '', contentType = '' } = isJsonObject(stored) ? stored : {}
    const start = typeof content === 'string' ? content.slice(0, previewLength * 8) : ''
    const isHtml = String(contentType).toLowerCase() === 'html'
    return [...(isHtml ? start.replace(/<[^>]*>/g, '') : start)].slice(0, previewLength).join('')
  },
}

const emailAddress: Properties = { name: line, address: { type: 'string', maxLength: 320 } }

const addressee: Properties = { emailAddress: { type: { named: 'emailAddress', object: emailAddress } } }

export const emailAddresses: Property = {
  type: { named: 'emailAddress', objects: emailAddress },
  default: [],
}
export const recipient: Property = { type: { named: 'recipient', object: addressee } }
export const recipients: Property = {
  type: { named: 'recipient', objects: addressee },
  default: [],
  maxLength: 500,
}

/** A local time with its time zone beside it. */
export const dateTimeTimeZone: Property = {
  type: {
    named: 'dateTimeTimeZone',
    object: {
      dateTime: {
        type: 'string',
        accepts: (value) =>
          typeof value === 'string' &&
          /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,7})?)?Z?$/.test(value) &&
          !Number.isNaN(Date.parse(value)),
      },
      timeZone: { type: 'string', maxLength: 64 },
    },
  },
}

export const physicalAddress: Property = {
  type: {
    named: 'physicalAddress',
    object: { street: line, city: line, state: line, countryOrRegion: line, postalCode: line },
  },
}

const count: Property = { type: 'integer' }

export const recurrence: Property = {
  type: {
    named: 'patternedRecurrence',
    object: {
      pattern: {
        type: {
          named: 'recurrencePattern',
          object: {
            type: line,
            interval: count,
            month: count,
            dayOfMonth: count,
            daysOfWeek: { type: 'strings' },
            firstDayOfWeek: line,
            index: line,
          },
        },
      },
      range: {
        type: {
          named: 'recurrenceRange',
          object: {
            type: line,
            startDate: line,
            endDate: line,
            recurrenceTimeZone: line,
            numberOfOccurrences: count,
          },
        },
      },
    },
  },
}
export const never: Property = { type: 'boolean', write: 'never', default: false }
