import { tracer } from '../kernel/tracer.ts'
import type { Handler } from './http-options.ts'

/** Gives each request a span, where traces are on. Its path is no part of it: paths name people. */
export function traceRequests(handler: Handler): Handler {
  return (request, response) => {
    if (!tracer) return handler(request, response)
    const parent = request.headers.traceparent
    const end = tracer.begin(request, request.method ?? '', Array.isArray(parent) ? undefined : parent)
    response.once('close', () => end(response.statusCode))
    handler(request, response)
  }
}
