import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Operation } from '../api/operation.ts'
import type { Room } from '../api/room.ts'
import type { Caller } from '../auth/caller.ts'
import { translateDatabaseError } from '../db/sqlstate.ts'
import { Problem } from '../kernel/problem.ts'
import { pathPrefix, withoutDirectoryPrefix } from '../kernel/surface.ts'
import { type Dialect, sendProblem } from './dialect.ts'
import { directoryDialect } from './directory-dialect.ts'
import { deadEndFinder } from './find-dead-end.ts'
import { maskingDialect } from './masking-dialect.ts'
import type { Metrics } from './metrics.ts'
import { normalizeUrl } from './normalize-url.ts'
import { type BodyDone, receiveBody } from './receive-body.ts'
import { RouteTree } from './route-tree.ts'
import { admit, perform, type Route, type Runner } from './runner.ts'

const dialects = [directoryDialect, maskingDialect]
const usualMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export interface HttpOptions {
  readonly runner: Runner
  readonly rooms: readonly Pick<Room, 'operations' | 'ports' | 'parameters'>[]
  readonly log: Logger
  readonly metrics: Metrics
  /** Headers of every answer, for example a warning that this is an emulator. */
  readonly headers: Readonly<Record<string, string>>
  /** True for addresses of proxies whose `X-Forwarded-*` headers are believed. */
  isTrustedProxy(address: string): boolean
  /** False while the node drains. */
  accepting(): boolean
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    /** Null: the request is for a page outside of the APIs. */
    apiRoute: Route | null
    /** When the caller was last checked, by the clock of `performance`. */
    admittedAt: number
    operationName: string
  }
}

/** Everything HTTP but the listening sockets. Pages outside the two APIs (health, docs, tokens) are added by `mount`. */
export async function buildHttp(
  options: HttpOptions,
  mount: (app: FastifyInstance) => Promise<void>,
): Promise<{ app: FastifyInstance; handler: Handler }> {
  const app = fastify({
    genReqId: () => randomUUID(),
    logger: false,
    trustProxy: (address) => options.isTrustedProxy(address),
    routerOptions: { caseSensitive: false, ignoreTrailingSlash: true },
    rewriteUrl: (request) => normalizeUrl(request.url ?? '/'),
    requestTimeout: 60_000,
    return503OnClosing: false,
    exposeHeadRoutes: true,
    // Requests that the router refuses before it finds a route.
    frameworkErrors: (error, request, reply) =>
      sendProblem(reply, request, asProblem(error), dialectOf(request)),
  })
  app.decorateRequest('caller', null)
  app.decorateRequest('apiRoute', null)
  app.decorateRequest('admittedAt', 0)
  app.decorateRequest('operationName', '')
  const findDeadEnd = deadEndFinder(options.rooms.flatMap((room) => room.operations.flatMap(urlsOf)))
  const explainUnknown = (request: FastifyRequest) => {
    const path = request.url.split('?', 1)[0] ?? ''
    return dialectOf(request).unknownPath(path, findDeadEnd(path))
  }
  answerProblems(app, options.log, explainUnknown)
  countRequests(app, options)
  await mount(app)
  await app.register(async (api) => addOperations(api, options, explainUnknown))
  await app.ready()
  return { app, handler: (request, response) => app.routing(request, response) }
}

type ExplainUnknown = (request: FastifyRequest) => Problem

function addOperations(
  app: FastifyInstance,
  { rooms, runner }: HttpOptions,
  explainUnknown: ExplainUnknown,
): void {
  // Bodies stay text until the caller is admitted; the operation then parses what it asked for.
  app.removeAllContentTypeParsers()
  const receive = (request: FastifyRequest, payload: IncomingMessage, done: BodyDone) =>
    receiveBody(payload, request.apiRoute?.operation.bodyLimits, done)
  // By its name the usual type is found without being parsed each time.
  app.addContentTypeParser('application/json', receive)
  app.addContentTypeParser('*', receive)

  const routes = collectRoutes(rooms)
  app.route({
    method: usualMethods,
    url: '*',
    // Hooks and handlers call back: a promise for each of them is a measurable part of a request.
    onRequest: (request, reply, done) => {
      const found = routes.find(request.method, request.url)
      if (found.kind === 'found') {
        request.params = found.params
        return admitCaller(runner, found.target, request, done)
      }
      if (found.kind === 'tooLong') return done(new Problem('MalformedUrl'))
      if (found.kind === 'unknown') return done(explainUnknown(request))
      const { allowed } = found
      if (request.method !== 'OPTIONS') return done(new Problem('MethodNotAllowed', { allowed }))
      reply.code(204).header('allow', allowed).send()
    },
    handler: (request, reply) => {
      const { apiRoute } = request
      if (!apiRoute) throw new Error('a request without a route has been answered before')
      perform(runner, apiRoute, request, reply).catch((error) => reply.send(asProblem(error)))
    },
  })
}

function collectRoutes(rooms: HttpOptions['rooms']): RouteTree<Route> {
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

function admitCaller(
  runner: Runner,
  route: Route,
  request: FastifyRequest,
  done: (error?: Error) => void,
): void {
  request.apiRoute = route
  request.operationName = route.operation.name
  const accept = (caller: Caller) => {
    request.caller = caller
    request.admittedAt = performance.now()
    done()
  }
  try {
    const caller = admit(runner, route, request)
    if (caller instanceof Promise) caller.then(accept, done)
    else accept(caller)
  } catch (error) {
    done(error as Error)
  }
}

function urlsOf({ surface, paths }: Pick<Operation, 'surface' | 'paths'>): string[] {
  return paths.map((path) => pathPrefix[surface] + path)
}

function dialectOf(request: FastifyRequest): Dialect {
  return dialects.find((dialect) => dialect.owns(request.originalUrl)) ?? maskingDialect
}

function answerProblems(app: FastifyInstance, log: Logger, explainUnknown: ExplainUnknown): void {
  app.setNotFoundHandler((request: FastifyRequest, reply: FastifyReply) =>
    sendProblem(reply, request, explainUnknown(request), dialectOf(request)),
  )
  app.setErrorHandler((error: unknown, request, reply) => {
    const problem = asProblem(error)
    if (problem.problem === 'InternalServerError')
      log.error(
        { err: problem.cause, requestId: request.id, operation: request.operationName },
        'unexpected error',
      )
    return sendProblem(reply, request, problem, dialectOf(request))
  })
}

/** Fastify's own refusals become ours; everything else is a bug and says nothing. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  const code = (error as { code?: string } | null)?.code ?? ''
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new Problem('UnsupportedMediaType', { mediaType: '' })
  if (code === 'FST_ERR_BAD_URL') return new Problem('MalformedUrl')
  const translated = translateDatabaseError(error)
  return translated instanceof Problem
    ? translated
    : new Problem('InternalServerError', {}, { cause: translated })
}

function countRequests(app: FastifyInstance, { metrics, headers, accepting, log }: HttpOptions): void {
  const always = { 'x-content-type-options': 'nosniff', ...headers }
  const isLogged = log.isLevelEnabled('debug')
  app.addHook('onRequest', ({ method }, reply, done) => {
    reply.headers(always)
    if (!accepting()) reply.header('connection', 'close')
    // Before the body is read: Fastify has rules of its own for the bodies of other methods.
    done(usualMethods.includes(method) ? undefined : new Problem('UnknownMethod', { method }))
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { operationName: operation } = request
    const { statusCode: status, elapsedTime } = reply
    metrics.observeRequest(operation || 'page', request.method, status, elapsedTime)
    if (isLogged)
      log.debug({ requestId: request.id, operation, status, ms: Math.round(elapsedTime) }, 'request')
    done()
  })
}
