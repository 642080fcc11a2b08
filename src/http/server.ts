import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { BodyLimits, Operation } from '../api/operation.ts'
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
import { admit, perform, type Route, type Runner } from './runner.ts'

const dialects = [directoryDialect, maskingDialect]
const usualMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export interface HttpOptions {
  readonly runner: Runner
  readonly rooms: readonly Pick<Room, 'operations' | 'ports'>[]
  readonly log: Logger
  readonly metrics: Metrics
  /** Headers of every answer, for example a warning that this is an emulator. */
  readonly headers: Readonly<Record<string, string>>
  /** False while the node drains. */
  accepting(): boolean
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
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
    routerOptions: { caseSensitive: false, maxParamLength: 2048, ignoreTrailingSlash: true },
    rewriteUrl: (request) => normalizeUrl(request.url ?? '/'),
    requestTimeout: 60_000,
    return503OnClosing: false,
    exposeHeadRoutes: true,
    // Requests that the router refuses before it finds a route.
    frameworkErrors: (error, request, reply) =>
      sendProblem(reply, request, asProblem(error), dialectOf(request)),
  })
  app.decorateRequest('caller', null)
  app.decorateRequest('admittedAt', 0)
  app.decorateRequest('operationName', '')
  answerProblems(app, options)
  countRequests(app, options)
  refuseUnknownMethods(app)
  await mount(app)
  await app.register(async (api) => addOperations(api, options))
  await app.ready()
  return { app, handler: (request, response) => app.routing(request, response) }
}

function addOperations(app: FastifyInstance, options: HttpOptions): void {
  // Bodies stay text until the caller is admitted; the operation then parses what it asked for.
  app.removeAllContentTypeParsers()
  const receive = (request: FastifyRequest, payload: IncomingMessage, done: BodyDone) =>
    receiveBody(payload, (request.routeOptions.config as { bodyLimits?: BodyLimits }).bodyLimits, done)
  // By its name the usual type is found without being parsed each time.
  app.addContentTypeParser('application/json', receive)
  app.addContentTypeParser('*', receive)

  const allowed = new Map<string, Set<string>>()
  for (const room of options.rooms)
    for (const operation of room.operations as readonly Operation[])
      for (const path of [...operation.paths, ...(operation.aliasPaths ?? [])]) {
        const url = pathPrefix[operation.surface] + path
        addRoute(app, options, operation, room.ports, url)
        const shape = url.replaceAll(/:\w+/g, ':').toLowerCase()
        allowed.set(shape, (allowed.get(shape) ?? new Set()).add(operation.method))
      }
  for (const [shape, methods] of allowed) answerOtherMethods(app, shape, [...methods])
}

function urlsOf({ surface, paths }: Pick<Operation, 'surface' | 'paths'>): string[] {
  return paths.map((path) => pathPrefix[surface] + path)
}

function addRoute(
  app: FastifyInstance,
  options: HttpOptions,
  operation: Operation,
  ports: unknown,
  url: string,
) {
  const dialect = operation.surface === 'directory' ? directoryDialect : maskingDialect
  const { runner } = options
  const isMe = /^\/me(\/|$)/i.test(withoutDirectoryPrefix(url))
  const route: Route = { operation, ports, dialect, isMe }
  app.route({
    method: operation.method,
    url,
    config: { bodyLimits: operation.bodyLimits },
    // Hooks and handlers call back: a promise for each of them is a measurable part of a request.
    onRequest: (request, _reply, done) => {
      request.operationName = operation.name
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
    },
    handler: (request, reply) => {
      perform(runner, route, request, reply).catch((error) => reply.send(asProblem(error)))
    },
  })
}

/** Answers methods for which a path has no operation: OPTIONS lists the known ones, others get 405. */
function answerOtherMethods(app: FastifyInstance, shape: string, methods: readonly string[]): void {
  const known = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS']
  const allowed = known.join(', ')
  let position = 0
  const url = shape.replaceAll(/:(?=\/|$)/g, () => `:p${position++}`)
  app.options(url, async (_request, reply) => reply.code(204).header('allow', allowed).send())
  app.route({
    method: usualMethods.filter((method) => !known.includes(method)),
    url,
    handler: async () => {
      throw new Problem('MethodNotAllowed', { allowed })
    },
  })
}

/** Before the body is read: Fastify has rules of its own for the bodies of other methods. */
function refuseUnknownMethods(app: FastifyInstance): void {
  app.addHook('onRequest', ({ method }, _reply, done) => {
    done(usualMethods.includes(method) ? undefined : new Problem('UnknownMethod', { method }))
  })
}

function dialectOf(request: FastifyRequest): Dialect {
  return dialects.find((dialect) => dialect.owns(request.originalUrl)) ?? maskingDialect
}

function answerProblems(app: FastifyInstance, { log, rooms }: HttpOptions): void {
  const findDeadEnd = deadEndFinder(rooms.flatMap((room) => room.operations.flatMap(urlsOf)))
  app.setNotFoundHandler((request: FastifyRequest, reply: FastifyReply) => {
    const dialect = dialectOf(request)
    const path = request.url.split('?', 1)[0] ?? ''
    return sendProblem(reply, request, dialect.unknownPath(path, findDeadEnd(path)), dialect)
  })
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
  if (code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH') return new Problem('MalformedUrl')
  const translated = translateDatabaseError(error)
  return translated instanceof Problem
    ? translated
    : new Problem('InternalServerError', {}, { cause: translated })
}

function countRequests(app: FastifyInstance, { metrics, headers, accepting, log }: HttpOptions): void {
  const always = { 'x-content-type-options': 'nosniff', ...headers }
  const isLogged = log.isLevelEnabled('debug')
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(always)
    if (!accepting()) reply.header('connection', 'close')
    done()
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
