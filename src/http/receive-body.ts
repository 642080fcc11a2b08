import type { IncomingMessage } from 'node:http'
import { type BodyLimits, usualBodyLimits } from '../api/operation.ts'
import { JsonMeter } from '../kernel/json.ts'
import { Problem } from '../kernel/problem.ts'
import { isJson } from './body.ts'

export type BodyDone = (error: Error | null, text?: string) => void

/** The first pieces may be of any size; then they have so many bytes on average. */
const [freePieces, leastBytes] = [4_096, 16]
const firstBytes = 16 * 1024

/**
 * The bytes of a body in one buffer. A client may send them one by one, in chunks: a list of pieces would take hundreds of times
 * as much memory as the bytes.
 */
class Collected {
  #bytes: Buffer | undefined
  #pieces = 0
  length = 0

  get isScattered(): boolean {
    return this.#pieces > freePieces + this.length / leastBytes
  }

  add(piece: Buffer): void {
    const end = this.length + piece.length
    this.#pieces++
    if (!this.#bytes) this.#bytes = piece
    else {
      if (this.#bytes.length < end) this.#bytes = enlarge(this.#bytes, this.length, end)
      piece.copy(this.#bytes, this.length)
    }
    this.length = end
  }

  toString(): string {
    return this.#bytes?.toString('utf8', 0, this.length) ?? ''
  }
}

function enlarge(bytes: Buffer, length: number, atLeast: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.max(firstBytes, 2 * atLeast))
  bytes.copy(larger, 0, 0, length)
  return larger
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
  const collected = new Collected()
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
    if (collected.length + chunk.length > limits.bytes) return refuse(tooLarge())
    collected.add(chunk)
    if (collected.isScattered) return cut()
    try {
      meter?.add(chunk)
    } catch (error) {
      refuse(error as Error)
    }
  }
  // Reading on would cost as much as what is refused: the connection ends with the answer.
  const cut = () => {
    request.off('data', take)
    settle(new Problem('MalformedJson', { reason: 'it comes in too many small pieces' }))
    request.socket.destroySoon()
  }
  request.on('data', take)
  request.on('end', () => settle(null, collected.toString()))
  request.on('error', (cause) =>
    settle(new Problem('MalformedJson', { reason: 'its length is not the announced one' }, { cause })),
  )
}
