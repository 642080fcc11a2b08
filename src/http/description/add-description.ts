import type { FastifyInstance } from 'fastify'
import { type Compressed, compress, sendCompressed } from '../compress.ts'
import { originOf } from '../send-inner.ts'
import { type DescribedRoom, describeApi } from './describe-api.ts'

/** Stands for the address that a reader uses until it is known. */
const anyOrigin = 'https://any-origin.invalid'
/** Readers come by few addresses, and a stranger can name any number of them. */
const keptOrigins = 8

/** The description of the API at `/openapi.json`, made when it is first asked for. */
export function addDescription(app: FastifyInstance, rooms: readonly DescribedRoom[], version: string): void {
  let description: string | undefined
  const byOrigin = new Map<string, Promise<Compressed>>()
  app.get('/openapi.json', async (request, reply) => {
    description ??= JSON.stringify(describeApi(rooms, { version, origin: anyOrigin }))
    const origin = JSON.stringify(originOf(request)).slice(1, -1)
    const kept = byOrigin.get(origin) ?? compress(description.replaceAll(anyOrigin, () => origin))
    if (byOrigin.size >= keptOrigins) byOrigin.clear()
    byOrigin.set(origin, kept)
    return sendCompressed(request, reply.type('application/json; charset=utf-8'), await kept)
  })
}
