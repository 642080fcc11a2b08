import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import type { Room } from '../api/room.ts'
import { describeApi } from './description/describe-api.ts'
import { renderDocs } from './docs-page.ts'
import { originOf } from './send-inner.ts'

/** Stands for the address that a reader uses until it is known. */
const anyOrigin = 'https://any-origin.invalid'

/** A part of the service that can be ready or not, with the reason when it is not. */
export interface Readiness {
  readonly name: string
  check(): Promise<string | null>
}

export interface PageOptions {
  readonly rooms: readonly Room[]
  readonly version: string
  readonly registry: Registry
  readonly readiness: readonly Readiness[]
}

/** The pages outside the two APIs that need no token: they tell nothing about what the service holds. */
export function addPages(app: FastifyInstance, { rooms, version, registry, readiness }: PageOptions): void {
  const docs = renderDocs(
    rooms.flatMap(({ operations }) => operations),
    version,
  )

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

  app.get('/metrics', async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  )

  let description: string | undefined
  app.get('/openapi.json', async (request, reply) => {
    description ??= JSON.stringify(describeApi(rooms, { version, origin: anyOrigin }))
    const origin = JSON.stringify(originOf(request)).slice(1, -1)
    return reply.type('application/json; charset=utf-8').send(description.replaceAll(anyOrigin, () => origin))
  })

  app.get('/docs', async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header(
        'content-security-policy',
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      )
      .send(docs),
  )
}
