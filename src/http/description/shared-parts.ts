type Parts = Record<string, unknown>

/** Equal parts under one name, referred to wherever they are used. */
class SharedPart {
  readonly all: Parts = {}
  readonly #kind: string
  readonly #names = new Map<string, string>()
  readonly #taken = new Map<string, number>()

  constructor(kind: string) {
    this.#kind = kind
  }

  refer(wanted: string, part: object): object {
    const text = JSON.stringify(part)
    let name = this.#names.get(text)
    if (name === undefined) {
      const plain = wanted.replaceAll(/[^\w.-]/g, '')
      const count = (this.#taken.get(plain) ?? 0) + 1
      this.#taken.set(plain, count)
      name = count === 1 ? plain : `${plain}_${count}`
      this.#names.set(text, name)
      this.all[name] = part
    }
    return { $ref: `#/components/${this.#kind}/${name}` }
  }
}

/** Most operations take the same parameters and show the same examples: each is written once. */
export class SharedParts {
  readonly parameters = new SharedPart('parameters')
  readonly examples = new SharedPart('examples')
}

/**
 * Puts each schema with a title once among the shared ones, and a reference wherever it stood: resources come up in
 * hundreds of operations. A second schema of the same title that says something else stays where it is.
 */
export function shareSchemas(value: unknown, shared: Parts): unknown {
  if (Array.isArray(value)) return value.map((item) => shareSchemas(item, shared))
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      name === 'examples' ? part : shareSchemas(part, shared),
    ]),
  )
  const { title } = inner
  if (typeof title !== 'string' || inner.type !== 'object') return inner
  shared[title] ??= inner
  const isSame = JSON.stringify(shared[title]) === JSON.stringify(inner)
  return isSame ? { $ref: `#/components/schemas/${title}` } : inner
}
