import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { type Compressed, compress, sendCompressed } from '../compress.ts'
import { originOf } from '../send-inner.ts'
import { type DescribedRoom, describeApi } from './describe-api.ts'

/** Stands for the address that a reader uses until it is known. */
const anyOrigin = 'https://any-origin.invalid'
/**
 * Readers come by few addresses. A stranger can name any number of them: compressing for each would slow the others, and
 * addresses that are kept for good would leave none for readers. The one that was not asked for longest gives way, once in a while.
 */
const keptOrigins = 8
const pauseMs = 10_000

/** The description of the API at `/openapi.json`, made when it is first asked for. */
export function addDescription(app: FastifyInstance, rooms: readonly DescribedRoom[], version: string): void {
  let pieces: readonly Buffer[] | undefined
  const byOrigin = new Map<string, Promise<Compressed>>()
  let compressedAt = 0
  const keepAnother = (parts: readonly Buffer[]): Promise<Compressed> | undefined => {
    const [oldest] = byOrigin.keys()
    if (oldest !== undefined && byOrigin.size >= keptOrigins) {
      if (Date.now() - compressedAt < pauseMs) return undefined
      byOrigin.delete(oldest)
    }
    compressedAt = Date.now()
    return compress(Buffer.concat(parts))
  }
  app.get('/openapi.json', async (request, reply) => {
    pieces ??= JSON.stringify(describeApi(rooms, { version, origin: anyOrigin }))
      .split(anyOrigin)
      .map((piece) => Buffer.from(piece))
    const origin = JSON.stringify(originOf(request)).slice(1, -1)
    reply.type('application/json; charset=utf-8')
    const parts = join(pieces, Buffer.from(origin))
    const kept = byOrigin.get(origin) ?? keepAnother(parts)
    if (!kept) return reply.header('content-length', sizeOf(parts)).send(Readable.from(parts))
    byOrigin.delete(origin)
    byOrigin.set(origin, kept)
    return sendCompressed(request, reply, await kept)
  })
}

/** The same pieces for every answer: a client that sends requests and reads no answer makes the service hold no copies. */
function join(pieces: readonly Buffer[], between: Buffer): Buffer[] {
  return pieces.flatMap((piece, at) => (at === 0 ? [piece] : [between, piece]))
}

function sizeOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0)
}
