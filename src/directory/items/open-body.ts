import { Type } from 'typebox'

/** A body whose parts are checked by their own tables. */
export function openBody(properties: string) {
  return Type.Unsafe<Record<string, never>>(Type.Object({}, { description: `Properties: ${properties}.` }))
}
