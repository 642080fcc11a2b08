import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** The network before a database, to be cut, reset or stopped, and opened again at the same port. */
export async function openNetwork(url: string, at = 0) {
  const { hostname, port } = new URL(url)
  const lines = new Set<Socket>()
  let isSilent = false
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const socket of [near, far]) {
      lines.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        lines.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    if (!isSilent) near.pipe(far).pipe(near)
  })
  server.listen(at, '127.0.0.1')
  await once(server, 'listening')
  return {
    /** Where it begins. */
    address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    /** Both ends of every connection. */
    lines: lines as ReadonlySet<Socket>,
    /** From now on it takes what is sent, by old and new connections, and delivers nothing. */
    silence(): void {
      isSilent = true
      for (const line of lines) line.pause().unpipe()
    },
    close(): void {
      server.close()
      for (const line of lines) line.destroy()
    },
  }
}

export type Network = Awaited<ReturnType<typeof openNetwork>>

/** A port of loopback that no program listens on now. */
export async function findFreePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
