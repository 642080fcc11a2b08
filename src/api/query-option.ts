import { Type } from 'typebox'

/**
 * An option of a query. Its value comes as text, and the operation reads it; `described` is its schema in the description of
 * the API, where it is no plain text.
 */
export function queryOption(description: string, described?: object) {
  return Type.Optional(Type.String({ description, ...(described && { described }) }))
}

export function pageSizeOption(description: string, maximum: number) {
  return queryOption(description, { type: 'integer', minimum: 1, maximum })
}
