import type { Socket } from 'node:net'
import { clientAddressOf } from '../../kernel/client-address.ts'
import { nameNetwork } from '../../kernel/network.ts'

interface Network {
  readonly silent: Set<Socket>
  /** Those that have said who they are. */
  readonly known: Set<Socket>
}

/**
 * Connections that are not logged in yet. Beyond the limit, evicts one of the network with the most: silent connections
 * before identified ones, the oldest first. So a client cannot lock out others by connecting alone.
 */
export class HalfOpen {
  readonly #limit: number
  readonly #networks = new Map<string, Network>()
  readonly #networkOf = new Map<Socket, string>()

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#networkOf.size
  }

  add(socket: Socket): void {
    const name = nameNetwork(clientAddressOf(socket))
    const network: Network = this.#networks.get(name) ?? { silent: new Set(), known: new Set() }
    this.#networks.set(name, network)
    this.#networkOf.set(socket, name)
    network.silent.add(socket)
    if (this.size > this.#limit) this.#makeRoom()
  }

  /** Counts it by its client from now on: a proxy has told the address. */
  relocate(socket: Socket): void {
    if (!this.#networkOf.has(socket)) return
    this.delete(socket)
    this.add(socket)
  }

  /** It has sent a startup packet. */
  introduce(socket: Socket): void {
    const network = this.#networks.get(this.#networkOf.get(socket) ?? '')
    if (network?.silent.delete(socket)) network.known.add(socket)
  }

  delete(socket: Socket): void {
    const name = this.#networkOf.get(socket)
    if (name === undefined) return
    this.#networkOf.delete(socket)
    const network = this.#networks.get(name)
    network?.silent.delete(socket)
    network?.known.delete(socket)
    if (network && sizeOf(network) === 0) this.#networks.delete(name)
  }

  destroyAll(): void {
    for (const socket of [...this.#networkOf.keys()]) socket.destroy()
  }

  #makeRoom(): void {
    const [first, ...others] = this.#networks.values()
    if (!first) return
    // Of equally large networks, prefer one with silent connections: a flood from many networks has one or two in each.
    const weigh = (one: Network) => 2 * sizeOf(one) + Math.sign(one.silent.size)
    const largest = others.reduce((most, one) => (weigh(one) > weigh(most) ? one : most), first)
    const [oldest] = largest.silent.size > 0 ? largest.silent : largest.known
    if (!oldest) return
    this.delete(oldest)
    oldest.destroy()
  }
}

function sizeOf({ silent, known }: Network): number {
  return silent.size + known.size
}
