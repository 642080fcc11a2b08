import type { Json, JsonObject } from './property.ts'

/** PostgreSQL stores neither NUL nor half a surrogate pair: a statement with them would fail as a defect of ours. */
export function isStorableText(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed()
}

/** The same for everything inside a JSON value, names included. */
export function isStorableJson(value: unknown): value is Json {
  if (typeof value === 'string') return isStorableText(value)
  if (Array.isArray(value)) return value.every(isStorableJson)
  if (isJsonObject(value))
    return Object.entries(value).every(([name, inner]) => isStorableText(name) && isStorableJson(inner))
  return value === null || typeof value === 'boolean' || Number.isFinite(value)
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
