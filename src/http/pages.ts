import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import type { Room } from '../api/room.ts'
import { pathPrefix } from '../kernel/surface.ts'
import { addDescription } from './description/add-description.ts'
import { addReference } from './reference/add-reference.ts'
import { originOf } from './send-inner.ts'

/** A part of the service that can be ready or not, with the reason when it is not. */
export interface Readiness {
  readonly name: string
  check(): Promise<string | null>
}

export interface PageOptions {
  readonly rooms: readonly Room[]
  readonly version: string
  /** The metrics of the node. */
  readonly registry: Pick<Registry, 'contentType' | 'metrics'>
  readonly readiness: readonly Readiness[]
  /** Answers a browser at `/`; undefined: there is no portal, and the browser is led to the API reference. */
  readonly portalPage: SendPage | undefined
}

type SendPage = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** The pages outside the two APIs that need no token: they tell nothing about what the service holds. */
export function addPages(
  app: FastifyInstance,
  { rooms, version, registry, readiness, portalPage }: PageOptions,
): void {
  app.get('/', async (request, reply) => {
    reply.header('vary', 'accept')
    if (!/\btext\/html\b/i.test(request.headers.accept ?? '')) return showPlaces(version, originOf(request))
    return portalPage ? portalPage(request, reply) : reply.redirect('/docs', 303)
  })

  app.get('/healthz', async () => ({ status: 'ok' }))

  app.get('/readyz', async (_request, reply) => {
    const parts = await Promise.all(
      readiness.map(async ({ name, check }) => ({ name, reason: await check() })),
    )
    const notReady = parts.filter((part) => part.reason !== null)
    return reply
      .code(notReady.length === 0 ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({
        status: notReady.length === 0 ? 'ready' : 'not ready',
        ...(notReady.length > 0 && { notReady }),
      })
  })

  // Strangers may ask, and the metrics ask the store: readers that come together get one answer.
  let metrics: Promise<string> | undefined
  app.get('/metrics', async (_request, reply) => {
    metrics ??= registry.metrics().finally(() => {
      metrics = undefined
    })
    return reply.type(registry.contentType).send(await metrics)
  })

  addDescription(app, rooms, version)
  addReference(app)
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
