import type { Socket } from 'node:net'
import { fatal } from '../../wire/messages.ts'
import { readSocket } from '../../wire/read-socket.ts'
import { Refusal } from '../../wire/refusal.ts'
import { Conversation, type ConversationOptions } from './conversation.ts'

export interface RelayOptions extends ConversationOptions {
  readonly client: Socket
  readonly backend: Socket
  /** 0: for ever. */
  readonly idleMs: number
  onFailure(error: unknown): void
  /** The client left without a word while the database is at work for it. */
  onAbandoned(): void
}

const closeMs = 2_000

/** Both directions of a session after its login, until either side ends it. */
export class Relay {
  readonly #options: RelayOptions
  readonly #conversation: Conversation
  readonly #done = Promise.withResolvers<void>()
  #idle: NodeJS.Timeout | undefined
  #isOver = false

  constructor(options: RelayOptions) {
    this.#options = options
    this.#conversation = new Conversation(options)
  }

  /** Resolves when both sides are gone. Both sockets are paused. */
  run(): Promise<void> {
    const { client, backend } = this.#options
    client.once('end', () => this.#leave())
    client.once('close', () => this.#leave())
    backend.once('end', () => this.#lose())
    backend.once('close', () => this.#lose())
    readSocket(client, (bytes) => this.#pass(this.#hearClient(bytes), client, backend))
    readSocket(backend, (bytes) => this.#pass(this.#hearBackend(bytes), backend, client))
    client.resume()
    backend.resume()
    this.#watchIdle()
    // Either may have gone while the session was written down.
    if (client.destroyed) this.#leave()
    else if (backend.destroyed) this.#lose()
    return this.#done.promise
  }

  get isIdle(): boolean {
    return this.#conversation.isIdle
  }

  /** Ends the session for a reason of our own, and cancels its statement; the client is told where that is possible. */
  cancel(refusal: Refusal): void {
    if (!this.#isOver && this.#conversation.isAwaited) this.#options.onAbandoned()
    this.end(refusal)
  }

  /** Ends the session for a reason of our own; the client is told where that is possible. */
  end(refusal: Refusal): void {
    if (this.#isOver) return
    this.#over()
    const { client, backend } = this.#options
    backend.destroy()
    if (this.#conversation.isOver) client.end()
    else if (this.#conversation.canInterrupt) client.end(fatal(refusal))
    else client.destroy()
    setTimeout(() => client.destroy(), closeMs).unref()
  }

  #hearClient(chunk: Buffer): Buffer | undefined {
    try {
      return this.#conversation.hearClient(chunk)
    } catch (error) {
      return this.#fail(error)
    }
  }

  #hearBackend(chunk: Buffer): Buffer | undefined {
    try {
      return this.#conversation.hearBackend(chunk)
    } catch (error) {
      return this.#fail(error)
    }
  }

  /**
   * Returns whether bytes are still on their way. A reader that stops stops the writer: no more than a chunk and the
   * sockets' own buffers is held.
   */
  #pass(bytes: Buffer | undefined, from: Socket, to: Socket): boolean {
    this.#idle?.refresh()
    if (!bytes || bytes.length === 0 || to.destroyed || to.writableEnded) return false
    const isFull = !to.write(bytes)
    const isPending = to.writableLength > 0
    if (isFull && isPending) {
      from.pause()
      to.once('drain', () => from.resume())
    }
    return isPending
  }

  #fail(error: unknown): undefined {
    if (!(error instanceof Refusal)) this.#options.onFailure(error)
    this.end(error instanceof Refusal ? error : new Refusal('Failure'))
    return undefined
  }

  /** One timer for the whole session; it starts again with whatever either side says. */
  #watchIdle(): void {
    if (this.#options.idleMs === 0) return
    this.#idle = setTimeout(() => {
      if (this.#conversation.isAwaited) this.#idle?.refresh()
      else this.end(new Refusal('IdleTimeout'))
    }, this.#options.idleMs)
    this.#idle.unref()
  }

  #leave(): void {
    const { backend } = this.#options
    if (this.#conversation.isOver && !backend.destroyed) {
      // Drain statements sent before Terminate: the database closes the connection then. Its answers are discarded.
      backend.resume()
      return
    }
    if (!this.#isOver && this.#conversation.isAwaited) this.#options.onAbandoned()
    this.#over()
    backend.end()
    setTimeout(() => backend.destroy(), closeMs).unref()
  }

  #lose(): void {
    this.end(new Refusal('BackendLost'))
  }

  #over(): void {
    this.#isOver = true
    clearTimeout(this.#idle)
    this.#idle = undefined
    this.#conversation.end()
    this.#done.resolve()
  }
}
