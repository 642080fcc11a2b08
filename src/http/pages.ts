import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import type { Room } from '../api/room.ts'
import { pathPrefix } from '../kernel/surface.ts'
import { addDescription } from './description/add-description.ts'
import { addReference } from './reference/add-reference.ts'
import { originOf } from './send-inner.ts'

/** A part of the node that is not ready. */
export interface NotReady {
  readonly name: string
  readonly reason: string
}

export interface PageOptions {
  readonly rooms: readonly Room[]
  readonly version: string
  /** The metrics of the node. */
  readonly registry: Pick<Registry, 'contentType' | 'metrics'>
  listNotReady(): Promise<readonly NotReady[]>
  /** Answers a browser at `/`; undefined: there is no portal, and the browser is led to the API reference. */
  readonly portalPage: SendPage | undefined
}

type SendPage = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** The pages outside the two APIs that need no token: they tell nothing about what the service holds. */
export function addPages(
  app: FastifyInstance,
  { rooms, version, registry, portalPage, ...options }: PageOptions,
): void {
  app.get('/', async (request, reply) => {
    reply.header('vary', 'accept')
    if (!/\btext\/html\b/i.test(request.headers.accept ?? '')) return showPlaces(version, originOf(request))
    return portalPage ? portalPage(request, reply) : reply.redirect('/docs', 303)
  })

  app.get('/healthz', async () => ({ status: 'ok' }))

  const listNotReady = shareUnderWay(() => options.listNotReady())
  app.get('/readyz', async (_request, reply) => {
    const notReady = await listNotReady()
    return reply
      .code(notReady.length === 0 ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({
        status: notReady.length === 0 ? 'ready' : 'not ready',
        ...(notReady.length > 0 && { notReady }),
      })
  })

  const readMetrics = shareUnderWay(() => registry.metrics())
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await readMetrics()))

  addDescription(app, rooms, version)
  addReference(app)
}

/** Strangers may ask for what asks the store and other processes: readers that come together get one answer. */
function shareUnderWay<T>(read: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined
  return () => {
    underWay ??= read().finally(() => {
      underWay = undefined
    })
    return underWay
  }
}

/** Where a program finds what. */
function showPlaces(version: string, origin: string): object {
  return {
    name: 'Masquerade',
    version,
    description: `${origin}/openapi.json`,
    documentation: `${origin}/docs`,
    masking: origin,
    directory: origin + pathPrefix.directory,
    tokens: `${origin}/organizations/v2.0/.well-known/openid-configuration`,
    health: `${origin}/healthz`,
    readiness: `${origin}/readyz`,
    metrics: `${origin}/metrics`,
  }
}
