type Schemas = Record<string, unknown>

/**
 * Puts each schema with a title once among the shared ones, and a reference wherever it stood: resources come up in
 * hundreds of operations. A second schema of the same title that says something else stays where it is.
 */
export function shareSchemas(value: unknown, shared: Schemas): unknown {
  if (Array.isArray(value)) return value.map((item) => shareSchemas(item, shared))
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, shareSchemas(part, shared)]),
  )
  const { title } = inner
  if (typeof title !== 'string' || inner.type !== 'object') return inner
  shared[title] ??= inner
  const isSame = JSON.stringify(shared[title]) === JSON.stringify(inner)
  return isSame ? { $ref: `#/components/schemas/${title}` } : inner
}
