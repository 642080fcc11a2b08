import type { Socket } from 'node:net'
import { pack, unpack } from './pack.ts'

export type Message =
  | { readonly kind: 'ask'; readonly id: number; readonly name: string; readonly args: unknown[] }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly error: unknown }
  | { readonly kind: 'tell'; readonly name: string; readonly args: unknown[] }

/** The other process, as one sees it from here. */
export interface Peer {
  send(message: Message, socket?: Socket): void
  onMessage(hear: (message: Message, socket: Socket | undefined) => void): void
  onGone(hear: () => void): void
}

/** Runs a call from the other side, by name. */
export type Handler = (name: string, args: unknown[], socket: Socket | undefined) => unknown

const askEveryMs = 1_000
const silentMs = 5_000

/** Questions and their answers between a node and one of its processes, in both directions. */
export class Channel {
  readonly #peer: Peer
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>()
  #next = 1
  #isGone = false
  #watch: NodeJS.Timeout | undefined
  /** When the question was sent that `watch` waits for. */
  #askedAt: number | undefined

  constructor(peer: Peer, handle: Handler) {
    this.#peer = peer
    peer.onMessage((message, socket) => void this.#hear(message, socket, handle))
    peer.onGone(() => {
      this.#isGone = true
      clearInterval(this.#watch)
      for (const { reject } of this.#waiting.values()) reject(gone())
      this.#waiting.clear()
    })
  }

  ask(name: string, ...args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#isGone) return reject(gone())
      const id = this.#next++
      this.#waiting.set(id, { resolve, reject })
      this.#peer.send({ kind: 'ask', id, name, args: args.map(pack) })
    })
  }

  /** Sends a call without an answer. */
  tell(name: string, args: readonly unknown[], socket?: Socket): void {
    if (!this.#isGone) this.#peer.send({ kind: 'tell', name, args: args.map(pack) }, socket)
  }

  /** Asks the other process every second whether it answers, so that `isSilent` costs no round trip. */
  watch(): void {
    this.#watch = setInterval(() => {
      if (this.#askedAt !== undefined) return
      this.#askedAt = performance.now()
      this.ask('answer').then(
        () => {
          this.#askedAt = undefined
        },
        () => {},
      )
    }, askEveryMs).unref()
  }

  /** True for a watched process that has not answered for five seconds. */
  get isSilent(): boolean {
    return this.#askedAt !== undefined && performance.now() - this.#askedAt > silentMs
  }

  async #hear(message: Message, socket: Socket | undefined, handle: Handler): Promise<void> {
    switch (message.kind) {
      case 'tell':
        // The sender expects no answer, so a failure has no receiver.
        try {
          await handle(message.name, message.args.map(unpack), socket)
        } catch {}
        break
      case 'ask': {
        const { id, name, args } = message
        try {
          const value = pack(await handle(name, args.map(unpack), undefined))
          if (!this.#isGone) this.#peer.send({ kind: 'answer', id, value })
        } catch (error) {
          if (!this.#isGone) this.#peer.send({ kind: 'failure', id, error: pack(error) })
        }
        break
      }
      default: {
        const waiting = this.#waiting.get(message.id)
        this.#waiting.delete(message.id)
        if (message.kind === 'answer') waiting?.resolve(unpack(message.value))
        else waiting?.reject(unpack(message.error))
      }
    }
  }
}

function gone(): Error {
  return new Error('the other process of the node is gone')
}

/** Null, or why not all of so many processes work. */
export function describeMissing(
  count: number,
  running: readonly { readonly pid: number; readonly isSilent: boolean }[],
): string | null {
  const silent = running.filter(({ isSilent }) => isSilent).map(({ pid }) => pid)
  if (silent.length > 0) return `process ${silent.join(', ')} does not answer`
  return running.length < count ? `${running.length} of ${count} processes run` : null
}
