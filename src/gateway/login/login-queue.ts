import type { Socket } from 'node:net'
import { clientAddressOf } from '../../kernel/client-address.ts'
import { nameNetwork } from '../../kernel/network.ts'
import { Ended } from '../../wire/byte-reader.ts'
import { Refusal } from '../../wire/refusal.ts'

interface Waiting {
  readonly socket: Socket
  readonly start: () => void
  readonly fail: (error: Error) => void
}

const lookEveryMs = 500

/**
 * Caps logins that hold a database connection before the client has proven anything: unauthenticated clients must not
 * use up a database's connections. Other logins wait, and networks with few logins wait less. A login that keeps others
 * waiting for too long is dropped.
 */
export class LoginQueue {
  readonly #limit: number
  readonly #graceMs: number
  readonly #active = new Map<Socket, { readonly network: string; readonly since: number }>()
  #waiting: Waiting[] = []
  #look: NodeJS.Timeout | undefined

  constructor(limit: number, graceMs: number) {
    this.#limit = limit
    this.#graceMs = graceMs
  }

  async take(socket: Socket, signal: AbortSignal): Promise<void> {
    if (this.#active.size >= this.#limit) this.#preempt(nameNetwork(clientAddressOf(socket)))
    if (this.#active.size < this.#limit) return this.#start(socket)
    this.#look ??= setInterval(() => this.#dropLate(), lookEveryMs).unref()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ socket, start: resolve, fail: reject })
    const late = () => reject(new Refusal('StartupTimeout'))
    signal.addEventListener('abort', late)
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', late)
      this.#waiting = this.#waiting.filter((one) => one.socket !== socket)
    }
  }

  leave(socket: Socket): void {
    this.#waiting.find((one) => one.socket === socket)?.fail(new Ended('the client left'))
    if (this.#active.delete(socket)) this.#next()
  }

  #start(socket: Socket): void {
    this.#active.set(socket, {
      network: nameNetwork(clientAddressOf(socket)),
      since: performance.now(),
    })
  }

  /** Drops the oldest login of the network that has the most, if it has at least two more than this network. */
  #preempt(network: string): void {
    const counts = this.#count()
    const [largest = '', most = 0] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? []
    if (most <= (counts.get(network) ?? 0) + 1) return
    const oldest = [...this.#active].find(([, one]) => one.network === largest)?.[0]
    if (oldest) this.#drop(oldest)
  }

  #drop(socket: Socket): void {
    this.#active.delete(socket)
    socket.destroy()
  }

  #dropLate(): void {
    const now = performance.now()
    if (this.#waiting.length > 0)
      for (const [socket, { since }] of this.#active) if (now - since > this.#graceMs) this.#drop(socket)
    this.#next()
  }

  /** Starts logins of the network with the fewest first; among equals, the one that waited longest. */
  #next(): void {
    const counts = this.#count()
    while (this.#active.size < this.#limit && this.#waiting.length > 0) {
      const countOf = ({ socket }: Waiting) => counts.get(nameNetwork(clientAddressOf(socket))) ?? 0
      const chosen = this.#waiting.reduce((best, one) => (countOf(one) < countOf(best) ? one : best))
      this.#waiting = this.#waiting.filter((one) => one !== chosen)
      this.#start(chosen.socket)
      const network = nameNetwork(clientAddressOf(chosen.socket))
      counts.set(network, (counts.get(network) ?? 0) + 1)
      chosen.start()
    }
    if (this.#waiting.length > 0) return
    clearInterval(this.#look)
    this.#look = undefined
  }

  #count(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { network } of this.#active.values()) counts.set(network, (counts.get(network) ?? 0) + 1)
    return counts
  }
}
