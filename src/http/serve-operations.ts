import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Operation } from '../api/operation.ts'
import type { Room } from '../api/room.ts'
import type { Caller } from '../auth/caller.ts'
import { pathPrefix, withoutDirectoryPrefix } from '../kernel/surface.ts'
import { tracer } from '../kernel/tracer.ts'
import { answerProblem } from './answer-problem.ts'
import { directoryDialect } from './directory-dialect.ts'
import { ApiReply, ApiRequest } from './exchange.ts'
import type { Handler, HttpOptions } from './http-options.ts'
import { maskingDialect } from './masking-dialect.ts'
import { normalizeUrl } from './normalize-url.ts'
import { receiveBody } from './receive-body.ts'
import type { Route } from './route.ts'
import { RouteTree } from './route-tree.ts'
import { admit, perform, type Runner } from './runner.ts'

export type OperationRoutes = RouteTree<Route>

/**
 * Serves the operations of both APIs straight on Node's HTTP: the hooks and parsers of a framework are a fifth of a
 * request. Every request that no operation answers goes on to `otherwise`.
 */
export function serveOperations(options: HttpOptions, routes: OperationRoutes, otherwise: Handler): Handler {
  const always = { 'x-content-type-options': 'nosniff', ...options.headers }
  const { accepting, isTrustedProxy: isTrusted } = options
  const runner: Runner = { ...options.runner, handleInner: (...exchange) => handle(...exchange) }
  const handle: Handler = (raw, response) => {
    const url = normalizeUrl(raw.url ?? '/')
    const found = isDecodable(url) ? routes.find(raw.method ?? '', url) : undefined
    if (found?.kind !== 'found') return otherwise(raw, response)
    const request = new ApiRequest({ id: randomUUID(), raw, url, isTrusted }, found)
    const reply = new ApiReply(response, always)
    if (!accepting()) reply.header('connection', 'close')
    observe(options, request, response)
    serve(runner, request, reply, (error) => refuse(options, error, request, reply))
  }
  return handle
}

type Refuse = (error: unknown) => void

/** Does a part of the request's work below its span, where traces are on. */
function within<T>({ raw, route }: ApiRequest, work: () => T): T {
  return tracer ? tracer.within(raw, route.operation.name, work) : work()
}

/** Checks the caller, then receives the body, then runs the operation. Callbacks: promises are a measurable part of a request. */
function serve(runner: Runner, request: ApiRequest, reply: ApiReply, refuse: Refuse): void {
  // A body comes by events of the socket, which know nothing of the span that the request began.
  const run = () => within(request, () => void perform(runner, request, reply).catch(refuse))
  const accept = (caller: Caller) => {
    request.caller = caller
    request.admittedAt = performance.now()
    if (!hasBody(request)) return run()
    receiveBody(request.raw, request.route.operation.bodyLimits, (error, text = '') => {
      if (error) return refuse(error)
      request.body = text
      run()
    })
  }
  try {
    const caller = within(request, () => admit(runner, request))
    if (caller instanceof Promise) caller.then(accept).catch(refuse)
    else accept(caller)
  } catch (error) {
    refuse(error)
  }
}

function hasBody({ method, headers }: ApiRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return false
  const { 'content-type': type, 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  return type !== undefined || encoding !== undefined || length !== '0'
}

function refuse({ log }: HttpOptions, error: unknown, request: ApiRequest, reply: ApiReply): void {
  const { dialect, operation } = request.route
  try {
    answerProblem(log, error, { request, reply: reply.reset(), dialect, operationName: operation.name })
  } catch (err) {
    // Half an answer may be sent: a client must not take it for a whole one.
    log.error({ err, requestId: request.id, operation: operation.name }, 'an answer could not be sent')
    request.raw.destroy()
  }
}

function observe({ metrics, log }: HttpOptions, request: ApiRequest, response: ServerResponse): void {
  const startedAt = performance.now()
  const { name: operation } = request.route.operation
  const isLogged = log.isLevelEnabled('debug')
  response.on('finish', () => {
    const ms = performance.now() - startedAt
    const { statusCode: status } = response
    metrics.observeRequest(operation, request.method, status, ms)
    if (isLogged) log.debug({ requestId: request.id, operation, status, ms: Math.round(ms) }, 'request')
  })
}

/** A path that cannot be decoded has no parts to look for. */
function isDecodable(url: string): boolean {
  if (!url.includes('%')) return true
  try {
    decodeURI(url.split(/[?#]/, 1)[0] ?? '')
    return true
  } catch {
    return false
  }
}

export function collectRoutes(
  rooms: readonly Pick<Room, 'operations' | 'ports' | 'parameters'>[],
): OperationRoutes {
  const forms = rooms.flatMap(({ parameters }) =>
    Object.entries(parameters).flatMap(([name, { pattern }]) =>
      pattern === undefined ? [] : [[name, new RegExp(pattern, 'i')] as const],
    ),
  )
  const routes = new RouteTree<Route>(new Map(forms))
  for (const { operations, ports } of rooms)
    for (const operation of operations as readonly Operation[])
      for (const path of [...operation.paths, ...(operation.aliasPaths ?? [])]) {
        const url = pathPrefix[operation.surface] + path
        const dialect = operation.surface === 'directory' ? directoryDialect : maskingDialect
        const isMe = /^\/me(\/|$)/i.test(withoutDirectoryPrefix(url))
        routes.add(operation.method, url, { operation, ports, dialect, isMe })
      }
  return routes
}
