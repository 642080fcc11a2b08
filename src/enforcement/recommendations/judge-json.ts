const mostKeys = 200
const deepest = 6

export interface JsonField {
  /** The key, for its words alone: it may be a value itself, so it is never shown. */
  readonly key: string
  readonly values: string[]
}

/** The scalars under each key of sampled documents, wherever it stands. Documents that were cut are read as far as they go. */
export function listJsonFields(documents: readonly string[]): JsonField[] {
  const fields = new Map<string, string[]>()
  const add = (key: string, value: unknown, depth: number): void => {
    if (value === null || depth > deepest) return
    if (Array.isArray(value)) for (const each of value) add(key, each, depth + 1)
    else if (typeof value === 'object')
      for (const [name, each] of Object.entries(value)) add(name, each, depth + 1)
    else if (typeof value !== 'boolean') {
      const known = fields.get(key)
      if (known) known.push(String(value))
      else if (fields.size < mostKeys) fields.set(key, [String(value)])
    }
  }
  for (const document of documents) {
    const whole = parse(document)
    if (whole === undefined) for (const [, key = '', text = ''] of document.matchAll(pair)) add(key, text, 0)
    else add('', whole, 0)
  }
  return [...fields].map(([key, values]) => ({ key, values }))
}

/** A key and a string or number after it. */
const pair = /"([^"\\]{1,80})"\s*:\s*"?([^"\\{}[\],]{1,200})/g

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
