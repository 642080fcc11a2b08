import type { IncomingMessage } from 'node:http'
import { type BodyLimits, usualBodyLimits } from '../api/operation.ts'
import { JsonMeter } from '../kernel/json.ts'
import { Problem } from '../kernel/problem.ts'
import { isJson } from './body.ts'

function joinText(chunks: readonly Buffer[]): string {
  const [only] = chunks
  return (only && chunks.length === 1 ? only : Buffer.concat(chunks)).toString('utf8')
}

/** Receives a body as text. JSON beyond the limits is refused as it arrives: the rest is neither kept nor read. */
export async function receiveBody(
  request: IncomingMessage,
  limits: BodyLimits = usualBodyLimits,
): Promise<string> {
  const meter = isJson(request.headers['content-type'] ?? 'application/json')
    ? new JsonMeter(limits)
    : undefined
  const tooLarge = () => new Problem('PayloadTooLarge', { limit: limits.bytes })
  if (Number(request.headers['content-length'] ?? 0) > limits.bytes) throw tooLarge()
  const chunks: Buffer[] = []
  let length = 0
  return new Promise((resolve, reject) => {
    const refuse = (reason: unknown) => {
      request.off('data', take)
      request.resume()
      reject(reason)
    }
    const take = (chunk: Buffer) => {
      length += chunk.length
      if (length > limits.bytes) return refuse(tooLarge())
      chunks.push(chunk)
      try {
        meter?.add(chunk)
      } catch (error) {
        refuse(error)
      }
    }
    request.on('data', take)
    request.on('end', () => resolve(joinText(chunks)))
    request.on('error', (cause) =>
      reject(new Problem('MalformedJson', { reason: 'its length is not the announced one' }, { cause })),
    )
  })
}
