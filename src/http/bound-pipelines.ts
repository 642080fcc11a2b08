import type { Handler } from './http-options.ts'

/** Requests of one connection that may wait for their answers. Clients that send ahead at all send few. */
const mostWaiting = 32

/**
 * Ends connections that send requests ahead without reading the answers: Node takes all requests that come in one packet at once,
 * hundreds of them, and holds every answer in memory until the client reads.
 */
export function boundPipelines(handler: Handler): Handler {
  const waiting = new WeakMap<object, number>()
  return (request, response) => {
    const { socket } = request
    const count = (waiting.get(socket) ?? 0) + 1
    if (count > mostWaiting) {
      socket.destroy()
      return
    }
    waiting.set(socket, count)
    response.once('close', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1))
    handler(request, response)
  }
}
