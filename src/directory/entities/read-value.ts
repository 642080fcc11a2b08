import { isUuid } from '../../kernel/uuid.ts'
import type { Json, JsonObject, Properties, Property } from './property.ts'
import { isJsonObject, isStorableJson, isStorableText } from './storable.ts'

const defaultMaxLength = 1024
const defaultMaxItems = 100
const dateTimeForm = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,7})?)?(Z|[+-]\d\d:\d\d)?)?$/

/**
 * The value in the form it is stored in, or undefined when the property cannot take it. With `stored`, a complex value
 * changes the members that it names: `{ a: null, b: 2 }` on `{ a: 1, c: 3 }` → `{ b: 2, c: 3 }`.
 */
export function readValue(property: Property, value: unknown, stored?: Json): Json | undefined {
  const { type } = property
  if (type === 'json') return isStorableJson(value) ? value : undefined
  if (type === 'strings' || type === 'guids')
    return readItems(property, value, (item) =>
      readScalar(
        { ...property, type: type === 'guids' ? 'guid' : 'string', maxLength: defaultMaxLength },
        item,
      ),
    )
  if (typeof type === 'string') return readScalar(property, value)
  if ('objects' in type)
    return readItems(property, value, (item) => acceptOr(property, readObject(type.objects, item)))
  return acceptOr(property, readObject(type.object, value, stored))
}

function readScalar(property: Property, value: unknown): Json | undefined {
  switch (property.type) {
    case 'boolean':
      return typeof value === 'boolean' ? acceptOr(property, value) : undefined
    case 'integer':
      return Number.isInteger(value) && Math.abs(value as number) < 2 ** 31
        ? acceptOr(property, value as number)
        : undefined
    case 'dateTime':
      return typeof value === 'string' ? readDateTime(value) : undefined
    case 'guid':
      return typeof value === 'string' && isUuid(value) ? value.toLowerCase() : undefined
    default:
      return typeof value === 'string' &&
        value.length <= (property.maxLength ?? defaultMaxLength) &&
        isStorableText(value)
        ? acceptOr(property, value)
        : undefined
  }
}

function readItems(
  property: Property,
  value: unknown,
  readItem: (item: unknown) => Json | undefined,
): Json | undefined {
  if (!Array.isArray(value) || value.length > (property.maxLength ?? defaultMaxItems)) return undefined
  const items: Json[] = []
  for (const item of value) {
    const read = readItem(item)
    if (read === undefined) return undefined
    items.push(read)
  }
  return property.isSet ? [...new Set(items)] : items
}

function readObject(fields: Properties, value: unknown, stored?: Json): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined
  const object: Record<string, Json> = isJsonObject(stored) ? { ...stored } : {}
  for (const [name, inner] of Object.entries(value)) {
    if (name.startsWith('@odata.')) continue
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    const before = stored === undefined ? undefined : (object[name] ?? null)
    const read = field && (inner === null ? null : readValue(field, inner, before))
    if (read === undefined) return undefined
    if (read === null && stored !== undefined) delete object[name]
    else object[name] = read
  }
  return object
}

function acceptOr(property: Property, value: Json | undefined): Json | undefined {
  return value !== undefined && (property.accepts?.(value) ?? true) ? value : undefined
}

/** A time without a zone is one in UTC. */
function readDateTime(value: string): string | undefined {
  if (!dateTimeForm.test(value)) return undefined
  const isZoned = /T.*(Z|[+-]\d\d:\d\d)$/.test(value) || !value.includes('T')
  return readMoment(isZoned ? value : `${value}Z`)
}

/** The moment in UTC; undefined when it is no day of the calendar: the parser takes 30 February for 1 March. */
export function readMoment(value: string): string | undefined {
  const time = new Date(value)
  const day = new Date(`${value.slice(0, 10)}T00:00:00Z`).getUTCDate()
  return Number.isNaN(time.getTime()) || day !== Number(value.slice(8, 10)) ? undefined : formatDateTime(time)
}

export function formatDateTime(time: Date): string {
  return time.toISOString().replace('.000Z', 'Z')
}

export function showTime(time: Date | null | undefined): string | null {
  return time ? formatDateTime(time) : null
}
