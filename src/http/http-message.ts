import type { IncomingHttpHeaders } from 'node:http'

/** A request as dialects read it: ours for operations, the framework's for pages. */
export interface HttpRequest {
  readonly id: string
  readonly method: string
  /** In our own spelling. */
  readonly url: string
  /** As the client sent it. */
  readonly originalUrl: string
  readonly headers: IncomingHttpHeaders
}

/** An answer as dialects write it. */
export interface HttpReply {
  code(status: number): HttpReply
  header(name: string, value: string | number): HttpReply
  headers(values: Readonly<Record<string, string>>): HttpReply
  send(text?: string): unknown
}
