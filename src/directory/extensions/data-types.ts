import { readMoment } from '../entities/read-value.ts'
import { isStorableText } from '../entities/storable.ts'

/** The types that a property of an extension definition can have, and how a value of each is read. */
export type DataType = 'Binary' | 'Boolean' | 'DateTime' | 'Integer' | 'LargeInteger' | 'String'

export const maxTextLength = 256
export const maxBinaryBytes = 256
export const maxValues = 256

/** The value to store, or undefined when it does not have the type. */
export const readValueOf: Readonly<Record<DataType, (value: unknown) => unknown>> = {
  Binary: (value) => (typeof value === 'string' && isBase64(value) ? value : undefined),
  Boolean: (value) => (typeof value === 'boolean' ? value : undefined),
  DateTime: (value) => (typeof value === 'string' ? readDateTime(value) : undefined),
  Integer: (value) => (isIntegerWithin(value, 2 ** 31) ? value : undefined),
  // JSON numbers beyond 2^53 have lost their last digits before they get here: refused rather than rounded.
  LargeInteger: (value) => (isIntegerWithin(value, 2 ** 53) ? value : undefined),
  String: (value) =>
    typeof value === 'string' && [...value].length <= maxTextLength && isStorableText(value)
      ? value
      : undefined,
}

export function isDataType(value: unknown): value is DataType {
  return typeof value === 'string' && Object.hasOwn(readValueOf, value)
}

function isIntegerWithin(value: unknown, limit: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= -limit && (value as number) < limit
}

function isBase64(value: string): boolean {
  if (value.length > maxBinaryBytes * 2 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value)) return false
  const bytes = Buffer.from(value, 'base64')
  return bytes.length <= maxBinaryBytes && bytes.toString('base64') === value
}

const dateTimeForm = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,7})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/** The time in UTC, for a date its midnight; undefined when the calendar has no such day. */
function readDateTime(value: string): string | undefined {
  return dateTimeForm.test(value) ? readMoment(value) : undefined
}
