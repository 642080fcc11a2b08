import { describe, type Problem } from '../kernel/problem.ts'
import type { Surface } from '../kernel/surface.ts'
import type { HttpReply, HttpRequest } from './http-message.ts'

/** How one surface speaks HTTP: its place in the URL space, its headers, the shape of its errors. */
export interface Dialect {
  readonly surface: Surface
  readonly contentType: string
  /** True for the paths that belong to this surface, also those that no operation serves. */
  owns(path: string): boolean
  /** `deadEnd` is the first segment that leads nowhere. */
  unknownPath(path: string, deadEnd: string): Problem
  headers(request: HttpRequest): Record<string, string>
  errorBody(problem: Problem, request: HttpRequest): unknown
  /** The text of an answer's body. */
  write(body: unknown, request: HttpRequest): string
}

/** A text as it is, any other value as JSON. */
export function writeBody(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

export function headerOf(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name]
  return typeof value === 'string' ? value : undefined
}

/** A client's own request id comes back only when it is harmless in a header and a log. */
export function clientRequestId(request: HttpRequest, header: string): string | undefined {
  const value = headerOf(request, header)
  return value && /^[\x21-\x7e]{1,128}$/.test(value) ? value : undefined
}

export function sendProblem(reply: HttpReply, request: HttpRequest, problem: Problem, dialect: Dialect) {
  const { status } = describe(problem, dialect.surface)
  if (status === 401) reply.header('www-authenticate', challenge(problem))
  if (status === 405) reply.header('allow', String(problem.parameters.allowed ?? ''))
  if (problem.retryAfterSeconds !== undefined) reply.header('retry-after', problem.retryAfterSeconds)
  if (problem.location !== undefined) reply.header('location', problem.location)
  return reply
    .code(status)
    .headers(dialect.headers(request))
    .header('content-type', dialect.contentType)
    .send(dialect.write(dialect.errorBody(problem, request), request))
}

function challenge(problem: Problem): string {
  return problem.problem === 'MissingToken' ? 'Bearer' : 'Bearer error="invalid_token"'
}
