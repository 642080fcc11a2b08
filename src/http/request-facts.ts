import type { RequestFacts } from '../api/operation.ts'
import {
  aliasNamespace,
  aliasPrefix,
  isAliased,
  ownNamespace,
  pathPrefix,
  type Surface,
} from '../kernel/surface.ts'
import { headerOf } from './dialect.ts'
import type { ApiRequest } from './exchange.ts'
import { findOuterOrigin, originOf } from './send-inner.ts'

/** The facts of a request, each read when an operation asks for it: most operations ask for one or none. */
export class HttpFacts implements RequestFacts {
  readonly #request: ApiRequest
  readonly #surface: Surface
  readonly #outerOrigin = findOuterOrigin()

  constructor(request: ApiRequest, surface: Surface) {
    this.#request = request
    this.#surface = surface
  }

  get id(): string {
    return this.#request.id
  }

  get baseUrl(): string {
    const alias = isAliased(this.#request.originalUrl) ? aliasPrefix : ''
    return (this.#outerOrigin ?? originOf(this.#request)) + alias + pathPrefix[this.#surface]
  }

  get namespace(): string {
    return isAliased(this.#request.originalUrl) ? aliasNamespace : ownNamespace
  }

  get isInner(): boolean {
    return this.#outerOrigin !== undefined
  }

  get apiVersion(): string | undefined {
    const { query } = this.#request
    const name = Object.keys(query).find((option) => option.toLowerCase() === 'api-version')
    return name === undefined ? undefined : String(query[name])
  }

  get token(): string {
    return (headerOf(this.#request, 'authorization') ?? '').replace(/^Bearer +/i, '')
  }

  get signal(): AbortSignal {
    const gone = new AbortController()
    this.#request.raw.socket.once('close', () => gone.abort())
    return gone.signal
  }

  get path(): string {
    return this.#request.url.split('?', 1)[0] ?? ''
  }

  get ifMatch(): string | undefined {
    return headerOf(this.#request, 'if-match')
  }

  get ifNoneMatch(): string | undefined {
    return headerOf(this.#request, 'if-none-match')
  }

  get preferences(): ReadonlyMap<string, string> {
    return readPreferences(headerOf(this.#request, 'prefer'))
  }
}

function readPreferences(header: string | undefined): ReadonlyMap<string, string> {
  const preferences = new Map<string, string>()
  for (const piece of header?.split(/[,;]/) ?? []) {
    const [name = '', value = ''] = piece.split('=', 2)
    if (name.trim()) preferences.set(name.trim().toLowerCase(), value.trim().replace(/^"|"$/g, ''))
  }
  return preferences
}
