import type { Json, Properties, Property } from '../../entities/property.ts'

/** What every item has, whatever its kind. */
export const id: Property = { type: 'guid', write: 'never', filter: true }

export const times = {
  createdDateTime: { type: 'dateTime', write: 'never', filter: true, sort: true, column: 'created_at' },
  lastModifiedDateTime: { type: 'dateTime', write: 'never', filter: true, sort: true, column: 'updated_at' },
} as const satisfies Properties

/** The item it lies in. */
export const parentId: Property = { type: 'guid', write: 'never' }

export const title: Property = { type: 'string', maxLength: 255, filter: true, sort: true }
export const requiredTitle: Property = {
  ...title,
  required: true,
  nullable: false,
  accepts: (value) => typeof value === 'string' && value.trim() !== '',
}

/** The service's words are small and large at will: `HTML`, `html`. */
export function oneOf(...words: readonly string[]) {
  const known = new Set(words.map((word) => word.toLowerCase()))
  return (value: Json) => typeof value === 'string' && known.has(value.toLowerCase())
}

export const importance: Property = {
  type: 'string',
  default: 'normal',
  accepts: oneOf('low', 'normal', 'high'),
}

export const categories: Property = { type: 'strings', default: [] }

const line: Property = { type: 'string', maxLength: 1024 }

export const body: Property = {
  type: {
    object: {
      contentType: { type: 'string', accepts: oneOf('text', 'html') },
      content: { type: 'string', maxLength: 512 * 1024 },
    },
  },
}
export const bodyPreview: Property = { type: 'string', write: 'never' }

const emailAddress: Properties = { name: line, address: { type: 'string', maxLength: 320 } }

export const emailAddresses: Property = { type: { objects: emailAddress }, default: [] }
export const recipient: Property = { type: { object: { emailAddress: { type: { object: emailAddress } } } } }
export const recipients: Property = {
  type: { objects: { emailAddress: { type: { object: emailAddress } } } },
  default: [],
  maxLength: 500,
}

/** A time of day somewhere: the zone is said beside it. */
export const dateTimeTimeZone: Property = {
  type: {
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
  type: { object: { street: line, city: line, state: line, countryOrRegion: line, postalCode: line } },
}

export const recurrence: Property = { type: 'json' }
export const never: Property = { type: 'boolean', write: 'never', default: false }
