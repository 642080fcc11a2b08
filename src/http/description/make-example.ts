interface Schema {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly examples?: readonly unknown[]
  readonly default?: unknown
  readonly format?: string
  readonly minimum?: number
  readonly items?: Schema
  readonly minItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

const texts: Readonly<Record<string, string>> = {
  uuid: '7c2d1f0a-3b54-4f0e-9d16-52a8f3c1b7e4',
  'date-time': '2026-11-15T10:17:06Z',
  uri: 'https://masquerade.example/v1.0/$metadata',
}

/** A value that the schema takes: its own example where it has one, completed by what it requires. */
export function makeExample(schema: object): unknown {
  const { type, examples, default: usual, anyOf, enum: words, properties } = schema as Schema
  const [given = usual] = examples ?? []
  if (properties) return completeObject(schema as Schema, given)
  if (given !== undefined) return given
  if ('const' in schema) return schema.const
  if (words) return words[0]
  if (anyOf?.[0]) return makeExample(anyOf[0])
  return makeValue([type ?? 'object'].flat()[0], schema as Schema)
}

/** Properties beyond the required ones stand in the schema's own example. */
function completeObject({ properties = {}, required = [] }: Schema, given: unknown): unknown {
  const own = (given ?? {}) as Record<string, unknown>
  const missing = required.filter((name) => !Object.hasOwn(own, name))
  const made = missing.map((name) => [name, makeExample(properties[name] ?? {})] as const)
  return { ...Object.fromEntries(made), ...own }
}

function makeValue(type: string | undefined, { format = '', minimum = 1, items = {} }: Schema): unknown {
  switch (type) {
    case 'string':
      return texts[format] ?? 'text'
    case 'integer':
    case 'number':
      return minimum
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return [makeExample(items)]
    default:
      return {}
  }
}
