import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { type ParsedUrlQuery, parse } from 'node:querystring'
import type { Caller } from '../auth/caller.ts'
import { clientAddressOf } from '../kernel/client-address.ts'
import type { HttpReply, HttpRequest } from './http-message.ts'
import type { IsTrusted } from './read-forwarded.ts'
import type { Route } from './route.ts'

/** A request for an operation. What few operations ask for is worked out when they do. */
export class ApiRequest implements HttpRequest {
  readonly id: string
  readonly raw: IncomingMessage
  readonly originalUrl: string
  readonly url: string
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  readonly headers: IncomingHttpHeaders
  readonly #isTrusted: IsTrusted
  caller: Caller | null = null
  /** When the caller was last checked, by the clock of `performance`. */
  admittedAt = 0
  body = ''

  constructor(
    { id, raw, url, isTrusted }: { id: string; raw: IncomingMessage; url: string; isTrusted: IsTrusted },
    { target, params }: { readonly target: Route; readonly params: Readonly<Record<string, string>> },
  ) {
    this.id = id
    this.raw = raw
    this.originalUrl = raw.url ?? '/'
    this.url = url
    this.route = target
    this.params = params
    this.headers = raw.headers
    this.#isTrusted = isTrusted
  }

  get method(): string {
    return this.raw.method ?? ''
  }

  get query(): ParsedUrlQuery {
    const start = this.url.indexOf('?')
    if (start < 0) return {}
    const end = this.url.indexOf('#', start)
    // All options: one beyond a limit would be ignored, and a filter that does nothing shows more than was asked for.
    return parse(this.url.slice(start + 1, end < 0 ? undefined : end), '&', '=', { maxKeys: 0 })
  }

  get protocol(): string {
    return this.#forwarded('x-forwarded-proto') ?? ('encrypted' in this.raw.socket ? 'https' : 'http')
  }

  get host(): string {
    return this.#forwarded('x-forwarded-host') ?? this.headers.host ?? ''
  }

  get clientAddress(): string {
    return clientAddressOf(this.raw)
  }

  /** The word of the nearest proxy, which is the last one. */
  #forwarded(name: string): string | undefined {
    const value = this.headers[name]
    if (!value || !this.#isTrusted(this.raw.socket.remoteAddress ?? '')) return undefined
    return String(value).split(',').at(-1)?.trim()
  }
}

export class ApiReply implements HttpReply {
  readonly response: ServerResponse
  readonly #always: Readonly<Record<string, string>>
  #headers: Record<string, string | number>
  #status = 200

  /** `always`: headers of every answer. */
  constructor(response: ServerResponse, always: Readonly<Record<string, string>>) {
    this.response = response
    this.#always = always
    this.#headers = { ...always }
  }

  code(status: number): this {
    this.#status = status
    return this
  }

  header(name: string, value: string | number): this {
    this.#headers[name.toLowerCase()] = value
    return this
  }

  headers(values: Readonly<Record<string, string>>): this {
    for (const name in values) this.#headers[name.toLowerCase()] = values[name] ?? ''
    return this
  }

  /** Forgets what was to be sent, for an error in its place. */
  reset(): this {
    this.#status = 200
    this.#headers = { ...this.#always }
    return this
  }

  send(text?: string): void {
    const hasLength = this.#status !== 204 && this.#status !== 304
    if (text !== undefined) this.#headers['content-length'] = Buffer.byteLength(text)
    else if (hasLength && this.response.req.method !== 'HEAD') this.#headers['content-length'] = 0
    this.response.writeHead(this.#status, this.#headers)
    this.response.end(text)
  }
}
