import { randomUUID } from 'node:crypto'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Operation } from '../api/operation.ts'
import { fail, Problem } from '../kernel/problem.ts'
import { pathPrefix } from '../kernel/surface.ts'
import { answerProblem, asProblem } from './answer-problem.ts'
import { type Dialect, sendProblem } from './dialect.ts'
import { directoryDialect } from './directory-dialect.ts'
import { deadEndFinder } from './find-dead-end.ts'
import type { Handler, HttpOptions } from './http-options.ts'
import { maskingDialect } from './masking-dialect.ts'
import { normalizeUrl } from './normalize-url.ts'
import { collectRoutes, type OperationRoutes, serveOperations } from './serve-operations.ts'

const dialects = [directoryDialect, maskingDialect]
const usualMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

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
      sendProblem(reply as FastifyReply, request, asProblem(error), dialectOf(request)),
  })
  const findDeadEnd = deadEndFinder(options.rooms.flatMap((room) => room.operations.flatMap(urlsOf)))
  const explainUnknown = (request: FastifyRequest) => {
    const path = request.url.split('?', 1)[0] ?? ''
    return dialectOf(request).unknownPath(path, findDeadEnd(path))
  }
  answerProblems(app, options.log, explainUnknown)
  countRequests(app, options)
  await mount(app)
  const routes = collectRoutes(options.rooms)
  explainOthers(app, routes, explainUnknown)
  await app.ready()
  const handler = serveOperations(options, routes, (request, response) => app.routing(request, response))
  return { app, handler }
}

type ExplainUnknown = (request: FastifyRequest) => Problem

/** Explains what no page and no operation answers, before any body is read. */
function explainOthers(app: FastifyInstance, routes: OperationRoutes, explainUnknown: ExplainUnknown): void {
  app.route({
    method: usualMethods,
    url: '*',
    onRequest: (request, reply, done) => {
      const found = routes.find(request.method, request.url)
      if (found.kind === 'tooLong') return done(new Problem('MalformedUrl'))
      const allowed = found.kind === 'otherMethod' ? found.allowed : methodsOfPage(app, request)
      if (!allowed) return done(explainUnknown(request))
      if (request.method !== 'OPTIONS') return done(new Problem('MethodNotAllowed', { allowed }))
      reply.code(204).header('allow', allowed).send()
    },
    handler: () => fail('InternalServerError'),
  })
}

/** Pages that every client gets, unlike those of the portal. */
const pages: ReadonlySet<string> = new Set(['/', '/healthz', '/readyz', '/metrics', '/openapi.json', '/docs'])

/** Pages are read alone. A GET that leads here has no page. */
function methodsOfPage(app: FastifyInstance, { method, url }: FastifyRequest): string | undefined {
  const [page = ''] = url.split('?', 1)
  const isRead = method === 'GET' || method === 'HEAD'
  const isPage = pages.has(page) && !isRead && app.hasRoute({ method: 'GET', url: page })
  return isPage ? 'GET, HEAD, OPTIONS' : undefined
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
  app.setErrorHandler((error: unknown, request, reply) =>
    answerProblem(log, error, { request, reply, dialect: dialectOf(request), operationName: 'page' }),
  )
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
    const { statusCode: status, elapsedTime } = reply
    metrics.observeRequest('page', request.method, status, elapsedTime)
    if (isLogged) log.debug({ requestId: request.id, status, ms: Math.round(elapsedTime) }, 'request')
    done()
  })
}
