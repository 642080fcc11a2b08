import type { Duplex } from 'node:stream'
import { violation } from './refusal.ts'

/** Raised where the other side went away before it said what was expected. */
export class Ended extends Error {}

const holdBytes = 64 * 1024

/** Reads a socket piece by piece while both sides take turns; then gives it back with what is left over. */
export class ByteReader {
  readonly #socket: Duplex
  /** How many more bytes may be taken. */
  #left: number
  #held: Buffer[] = []
  #length = 0
  #failure: Error | undefined
  #wake: (() => void) | undefined

  /** `mostBytes` in all: what is taken may be kept. */
  constructor(socket: Duplex, mostBytes = Number.POSITIVE_INFINITY) {
    this.#socket = socket
    this.#left = mostBytes
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onEnd)
    socket.on('error', this.#onError)
  }

  get length(): number {
    return this.#length
  }

  /** The next byte, which stays. */
  async peek(): Promise<number> {
    await this.#await(1)
    return this.#held[0]?.[0] ?? 0
  }

  async take(count: number): Promise<Buffer> {
    this.#left -= count
    if (this.#left < 0) violation('more data than belongs to a login')
    await this.#await(count)
    const all = this.#held.length === 1 ? (this.#held[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#held)
    this.#held = all.length > count ? [all.subarray(count)] : []
    this.#length -= count
    return all.subarray(0, count)
  }

  /** One typed message, whole. */
  async takeFrame(maxLength: number): Promise<Buffer> {
    const head = await this.take(5)
    const length = head.readUInt32BE(1)
    if (length < 4 || length > maxLength) violation('invalid message length')
    return Buffer.concat([head, await this.take(length - 4)])
  }

  /** Lets go of the socket, paused. Returns what was read and not taken. */
  release(): Buffer {
    this.#socket.pause()
    this.#socket.off('data', this.#onData)
    this.#socket.off('end', this.#onEnd)
    this.#socket.off('close', this.#onEnd)
    this.#socket.off('error', this.#onError)
    return Buffer.concat(this.#held)
  }

  async #await(count: number): Promise<void> {
    while (this.#length < count) {
      if (this.#failure) throw this.#failure
      this.#socket.resume()
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  /** Makes the pending read throw this error, and later reads that need more bytes than are held. */
  fail(error: Error): void {
    this.#failure ??= error
    this.#wake?.()
  }

  readonly #onData = (chunk: Buffer) => {
    this.#held.push(chunk)
    this.#length += chunk.length
    if (this.#length > holdBytes) this.#socket.pause()
    this.#wake?.()
  }
  readonly #onEnd = () => this.fail(new Ended('the other side ended the connection'))
  readonly #onError = (cause: Error) => this.fail(new Ended(cause.message, { cause }))
}
