import type { TSchema } from 'typebox'

type Schema = Readonly<Record<string, unknown>>

const known = new WeakMap<TSchema, ReadonlySet<string> | null>()

/** Every key that a body of this schema may have, at any depth; null where some object takes any key. */
export function keyNamesOf(schema: TSchema): ReadonlySet<string> | null {
  const found = known.get(schema)
  if (found !== undefined) return found
  const names = new Set<string>()
  const result = collect(schema as Schema, names) ? names : null
  known.set(schema, result)
  return result
}

/** False: an object takes any key. */
function collect(schema: Schema, names: Set<string>): boolean {
  const { properties, items, anyOf, additionalProperties } = schema
  if (properties === undefined && schema.type === 'object') return false
  if (properties !== undefined && additionalProperties !== false) return false
  for (const name of Object.keys(properties ?? {})) names.add(name)
  const inner = [...Object.values(properties ?? {}), items ?? [], anyOf ?? []].flat() as Schema[]
  return inner.every((one) => collect(one, names))
}
