import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

interface Pair {
  readonly client: Socket
  readonly server: Socket
}

/** A network in one process: it can be cut, so that nothing arrives and nothing is refused, and it can be slow. */
export class NetworkLink {
  readonly #server: Server
  readonly #target: () => number
  readonly #pairs = new Set<Pair>()
  #isCut = false
  #delayMs = 0
  #roundTrips = 0

  private constructor(target: () => number) {
    this.#target = target
    this.#server = createServer({ pauseOnConnect: true }, (client) => this.#accept(client))
  }

  static async open(target: number | (() => number)): Promise<NetworkLink> {
    const link = new NetworkLink(typeof target === 'number' ? () => target : target)
    await new Promise<void>((resolve) => link.#server.listen(0, '127.0.0.1', resolve))
    return link
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** How often a client has sent something after an answer. */
  get roundTrips(): number {
    return this.#roundTrips
  }

  cut(): void {
    this.#isCut = true
    for (const { client, server } of this.#pairs) for (const one of [client, server]) one.pause()
  }

  /** What was sent before the cut arrives now, as retransmitted packets would. */
  heal(): void {
    this.#isCut = false
    this.#delayMs = 0
    for (const { client, server } of this.#pairs) for (const one of [client, server]) one.resume()
  }

  slow(delayMs: number): void {
    this.#delayMs = delayMs
  }

  async close(): Promise<void> {
    for (const { client, server } of this.#pairs) for (const one of [client, server]) one.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #accept(client: Socket): void {
    const server = connect(this.#target(), '127.0.0.1')
    const pair = { client, server }
    this.#pairs.add(pair)
    let isAnswered = true
    client.on('data', () => {
      if (isAnswered) this.#roundTrips++
      isAnswered = false
    })
    server.on('data', () => {
      isAnswered = true
    })
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      const inOrder = this.#keepOrder()
      from.on('data', (chunk: Buffer) => inOrder(() => to.write(chunk)))
      from.on('error', () => {})
      from.once('end', () => inOrder(() => to.end()))
      from.once('close', () => {
        this.#pairs.delete(pair)
        inOrder(() => to.destroySoon())
      })
      if (this.#isCut) from.pause()
      else from.resume()
    }
  }

  /** Bytes that come after the delay has ended wait for those that are still under way. */
  #keepOrder(): (act: () => void) => void {
    let underWay = 0
    let last = Promise.resolve()
    return (act) => {
      if (this.#delayMs === 0 && underWay === 0) return act()
      underWay++
      const delay = wait(this.#delayMs)
      last = last
        .then(() => delay)
        .then(() => {
          underWay--
          act()
        })
    }
  }
}
