import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Item = any

/** A client that takes notifications, and can be killed and started again on the same port. */
export class NotifiedClient {
  readonly received: Item[] = []
  readonly lifecycle: Item[] = []
  /** The answer to validation requests, where it is not the right one. */
  validation: ((token: string) => { status: number; type: string; body: string }) | undefined
  status = 202
  #server: Server | undefined
  #port = 0

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async start(): Promise<void> {
    this.#server = createServer(async (request, response) => {
      const url = new URL(request.url ?? '', 'http://client')
      const text = (await request.toArray()).join('')
      const token = url.searchParams.get('validationToken')
      if (token !== null) {
        const { status, type, body } = this.validation?.(token) ?? {
          status: 200,
          type: 'text/plain',
          body: token,
        }
        const location = { location: `${this.url}/elsewhere` }
        return void response
          .writeHead(status, { 'content-type': type, ...(status === 302 && location) })
          .end(body)
      }
      if (this.status < 300)
        (url.pathname === '/lifecycle' ? this.lifecycle : this.received).push(...JSON.parse(text).value)
      response.writeHead(this.status).end()
    })
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  async kill(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    server?.closeAllConnections()
    if (server) await new Promise((resolve) => server.close(resolve))
  }
}
