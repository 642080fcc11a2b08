import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

const gzipped = promisify(gzip)

/** A text that is sent often, in both of its forms. */
export interface Compressed {
  readonly plain: Buffer
  readonly gzip: Buffer
}

export async function compress(text: string | Buffer): Promise<Compressed> {
  const plain = typeof text === 'string' ? Buffer.from(text) : text
  return { plain, gzip: await gzipped(plain) }
}

export function sendCompressed(request: FastifyRequest, reply: FastifyReply, { plain, gzip }: Compressed) {
  reply.header('vary', 'accept-encoding')
  const takesGzip = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
  return takesGzip ? reply.header('content-encoding', 'gzip').send(gzip) : reply.send(plain)
}
