import type { IncomingMessage } from 'node:http'

const limitBytes = 16 * 1024

/** A form as sent by a browser or client; null for anything else. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams | null> {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded') return null
  const bytes = await readBytes(request, limitBytes)
  // PostgreSQL takes no NUL, and no name, code or password of ours has one.
  return bytes && new URLSearchParams(bytes.toString('utf8').replaceAll(/%00|\0/g, ''))
}

/** The whole body; null where it is larger than the limit. */
export async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length
    if (size > limit) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
