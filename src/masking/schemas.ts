import { Type } from 'typebox'

export const strict = { additionalProperties: false }
export const nullableString = Type.Unsafe<string | null>({ type: ['string', 'null'] })
export const optionalString = Type.Optional(nullableString)
export const uuid = Type.String({ format: 'uuid' })
export const dateTime = Type.String({ format: 'date-time' })
export const nullableDateTime = Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' })

/** Read-only fields of the envelope: a body that was read before can be sent again. */
export const envelopeInput = {
  id: optionalString,
  name: optionalString,
  type: optionalString,
  location: optionalString,
  kind: optionalString,
}

/**
 * Properties that client libraries send and that mean nothing here. Others are refused by name: a caller must not believe
 * to have closed a network or copied a database.
 */
export function ignored(names: readonly string[]) {
  return each(names, Type.Optional(Type.Unknown({ description: 'Taken and ignored' })))
}

export function oneOf<const T extends readonly (string | null)[]>(
  values: T,
  options: { readonly description?: string } = {},
) {
  return Type.Unsafe<T[number]>({ enum: [...values], ...options })
}

/** The same schema under several names. */
export function each<F extends string, S>(fields: readonly F[], schema: S): Record<F, S> {
  return Object.fromEntries(fields.map((field) => [field, schema])) as Record<F, S>
}
