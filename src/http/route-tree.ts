/** The longest value that a path may have in one place. */
const longestValue = 2048

interface Step<T> {
  /** By the name as paths spell it, and in lower case. */
  readonly named: Map<string, Step<T>>
  /** A parameter whose values have a form. */
  formed: { readonly form: RegExp; readonly step: Step<T> } | undefined
  any: Step<T> | undefined
  /** By method, in the order in which they were added. Empty: no path ends here. */
  readonly ends: Map<string, { readonly names: readonly string[]; readonly target: T }>
}

export type FoundRoute<T> =
  | { readonly kind: 'found'; readonly target: T; readonly params: Readonly<Record<string, string>> }
  /** The path is known, this method is not: these are. */
  | { readonly kind: 'otherMethod'; readonly allowed: string }
  | { readonly kind: 'tooLong' }
  | { readonly kind: 'unknown' }

/**
 * Paths and methods, and their targets. The framework's own router takes a second to learn the thousands of pairs of both
 * APIs. A name goes before a parameter in the same place, and a parameter with a form before one without, whatever their
 * methods; case and one slash at the end are ignored.
 */
export class RouteTree<T> {
  readonly #root = createStep<T>()
  readonly #forms: ReadonlyMap<string, RegExp>

  /** `forms`: the form of the values of parameters that have one. */
  constructor(forms: ReadonlyMap<string, RegExp> = new Map()) {
    this.#forms = forms
  }

  /** `path`: names and `:parameters`. */
  add(method: string, path: string, target: T): void {
    const names: string[] = []
    let step = this.#root
    for (const segment of splitPath(path)) {
      if (segment.startsWith(':')) {
        const name = segment.slice(1)
        names.push(name)
        step = nextParameter(step, this.#forms.get(name))
      } else step = nextNamed(step, segment)
    }
    if (step.ends.has(method)) throw new Error(`${method} ${path} is there twice`)
    step.ends.set(method, { names, target })
  }

  /** `url`: with valid percent-encoding, as the framework refuses others. */
  find(method: string, url: string): FoundRoute<T> {
    const path = readPath(url)
    if (path === undefined) return { kind: 'unknown' }
    const values: string[] = []
    const step = walk(this.#root, splitPath(path), 0, values)
    if (!step) return { kind: 'unknown' }
    const end = step.ends.get(method) ?? (method === 'HEAD' ? step.ends.get('GET') : undefined)
    if (!end) return { kind: 'otherMethod', allowed: listMethods(step.ends) }
    const params: Record<string, string> = {}
    for (let at = 0; at < end.names.length; at++) {
      const value = values[at] ?? ''
      if (value.length > longestValue) return { kind: 'tooLong' }
      params[end.names[at] ?? ''] = value
    }
    return { kind: 'found', target: end.target, params }
  }
}

function createStep<T>(): Step<T> {
  return { named: new Map(), formed: undefined, any: undefined, ends: new Map() }
}

function nextNamed<T>({ named }: Step<T>, name: string): Step<T> {
  const next = named.get(name.toLowerCase()) ?? createStep<T>()
  named.set(name, next).set(name.toLowerCase(), next)
  return next
}

function nextParameter<T>(step: Step<T>, form: RegExp | undefined): Step<T> {
  if (!form) {
    step.any ??= createStep<T>()
    return step.any
  }
  step.formed ??= { form, step: createStep<T>() }
  if (step.formed.form !== form) throw new Error(`${form} and ${step.formed.form} stand in one place`)
  return step.formed.step
}

/** As far as the tree is deep: what a long path has beyond that is not looked at. */
function walk<T>(
  step: Step<T>,
  segments: readonly string[],
  at: number,
  values: string[],
): Step<T> | undefined {
  const segment = segments[at]
  if (segment === undefined) return step.ends.size > 0 ? step : undefined
  const named = step.named.get(segment) ?? step.named.get(foldName(segment))
  const found = named && walk(named, segments, at + 1, values)
  if (found || !(step.any || step.formed)) return found
  const value = segment.includes('%') ? decodeURIComponent(segment) : segment
  const count = values.push(value)
  const formed = step.formed?.form.test(value) ? step.formed.step : undefined
  const through =
    (formed && walk(formed, segments, at + 1, values)) ??
    (step.any && walk(step.any, segments, at + 1, values))
  if (!through) values.length = count - 1
  return through
}

/** An encoded slash or dollar sign is a part of a value, never of a name. */
function foldName(segment: string): string {
  return (segment.includes('%') ? decodeURI(segment) : segment).toLowerCase()
}

/** Some clients send the whole URL in the request line. */
function readPath(url: string): string | undefined {
  const start = url.startsWith('/') ? 0 : (/^https?:\/\/[^/?#]*/i.exec(url)?.[0].length ?? url.length)
  if (url.charAt(start) !== '/') return undefined
  const question = url.indexOf('?')
  const hash = url.indexOf('#')
  const end = Math.min(question < 0 ? url.length : question, hash < 0 ? url.length : hash)
  return url.slice(start, end)
}

function splitPath(path: string): string[] {
  const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  return trimmed.slice(1).split('/')
}

function listMethods(ends: ReadonlyMap<string, unknown>): string {
  return [...ends.keys(), ...(ends.has('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')
}
