import type { IncomingMessage } from 'node:http'
import { type BodyLimits, usualBodyLimits } from '../api/operation.ts'
import { JsonMeter } from '../kernel/json.ts'
import { Problem } from '../kernel/problem.ts'
import { isJson } from './body.ts'

export type BodyDone = (error: Error | null, text?: string) => void

function joinText(chunks: readonly Buffer[]): string {
  const [only] = chunks
  return (only && chunks.length === 1 ? only : Buffer.concat(chunks)).toString('utf8')
}

/** Receives a body as text. JSON beyond the limits is refused as it arrives: the rest is neither kept nor read. */
export function receiveBody(
  request: IncomingMessage,
  limits: BodyLimits = usualBodyLimits,
  done: BodyDone,
): void {
  const { 'content-type': type, 'content-length': announced } = request.headers
  const meter = type === undefined || isJson(type) ? new JsonMeter(limits) : undefined
  const tooLarge = () => new Problem('PayloadTooLarge', { limit: limits.bytes })
  if (announced !== undefined && Number(announced) > limits.bytes) {
    done(tooLarge())
    return
  }
  const chunks: Buffer[] = []
  let length = 0
  let isDone = false
  const settle = (error: Error | null, text?: string) => {
    if (isDone) return
    isDone = true
    done(error, text)
  }
  const refuse = (reason: Error) => {
    request.off('data', take)
    request.resume()
    settle(reason)
  }
  const take = (chunk: Buffer) => {
    length += chunk.length
    if (length > limits.bytes) return refuse(tooLarge())
    chunks.push(chunk)
    try {
      meter?.add(chunk)
    } catch (error) {
      refuse(error as Error)
    }
  }
  request.on('data', take)
  request.on('end', () => settle(null, joinText(chunks)))
  request.on('error', (cause) =>
    settle(new Problem('MalformedJson', { reason: 'its length is not the announced one' }, { cause })),
  )
}
