import type { IncomingMessage, ServerResponse } from 'node:http'
import { tracer } from '../kernel/tracer.ts'
import type { Handler } from './http-options.ts'
import type { Metrics } from './metrics.ts'

/** A part of the service with HTTP manners of its own. */
export interface Mounted {
  owns(url: string): boolean
  handle(request: IncomingMessage, response: ServerResponse): void
}

interface MountOptions {
  /** The operation name under which its requests are counted. */
  readonly name: string
  readonly metrics: Metrics
  readonly headers: Readonly<Record<string, string>>
  /** False while the node drains. */
  accepting(): boolean
}

/** Sends requests to the part that owns their path, before the APIs see them. */
export function mountBefore(
  handler: Handler,
  part: Mounted,
  { name, metrics, headers, accepting }: MountOptions,
): Handler {
  return (request, response) => {
    if (!part.owns(request.url ?? '')) return handler(request, response)
    const startedAt = performance.now()
    for (const [header, value] of Object.entries(headers)) response.setHeader(header, value)
    if (!accepting()) response.setHeader('connection', 'close')
    response.once('finish', () => {
      metrics.observeRequest(name, request.method ?? '', response.statusCode, performance.now() - startedAt)
      // SVC-133: what was not read of a refused body stands before the next request of the connection.
      if (!request.complete) request.resume()
    })
    const work = () => part.handle(request, response)
    if (tracer) tracer.within(request, name, work)
    else work()
  }
}
