import type { FastifyInstance } from 'fastify'
import { type Compressed, compress, sendCompressed } from '../compress.ts'
import { originOf } from '../send-inner.ts'
import { type DescribedRoom, describeApi } from './describe-api.ts'

/** Stands for the address that a reader uses until it is known. */
const anyOrigin = 'https://any-origin.invalid'
/** Readers come by few addresses. A stranger can name any number of them: compressing for each would slow the others. */
const keptOrigins = 8

/** The description of the API at `/openapi.json`, made when it is first asked for. */
export function addDescription(app: FastifyInstance, rooms: readonly DescribedRoom[], version: string): void {
  let description: string | undefined
  const byOrigin = new Map<string, Promise<Compressed>>()
  app.get('/openapi.json', async (request, reply) => {
    description ??= JSON.stringify(describeApi(rooms, { version, origin: anyOrigin }))
    const origin = JSON.stringify(originOf(request)).slice(1, -1)
    reply.type('application/json; charset=utf-8')
    const text = () => (description ?? '').replaceAll(anyOrigin, () => origin)
    const kept = byOrigin.get(origin) ?? (byOrigin.size < keptOrigins ? compress(text()) : undefined)
    if (!kept) return reply.send(text())
    byOrigin.set(origin, kept)
    return sendCompressed(request, reply, await kept)
  })
}
