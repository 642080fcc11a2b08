import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import { createNodeCertificate } from '../../src/http/local-ca.ts'
import { ByteReader } from '../../src/wire/byte-reader.ts'
import { int32, message } from '../../src/wire/messages.ts'
import { retryUntil } from './wait-until.ts'

/** A program of another user at a port that the service had: it asks for passwords and tokens, and keeps those that it is sent. */
export interface Thief extends AsyncDisposable {
  readonly port: number
  readonly heard: readonly string[]
}

/** In the place of PostgreSQL or the gateway, with a certificate of its own for the name that the client asks for, or with this one. */
export async function stealPasswords(
  port = 0,
  certificate?: { readonly cert: string; readonly key: string },
): Promise<Thief> {
  const heard: string[] = []
  const context = createSecureContext(certificate ?? (await createNodeCertificate()))
  const hear = async (socket: Socket) => {
    let client = socket
    let reader = new ByteReader(client)
    let head = await reader.take(8)
    if (head.readUInt32BE(0) === 8) {
      reader.release()
      socket.write('S')
      client = new TLSSocket(socket, { isServer: true, secureContext: context }).on('error', () => {})
      reader = new ByteReader(client)
      head = await reader.take(8)
    }
    await reader.take(head.readUInt32BE(0) - 8)
    client.write(message('R', int32(3)))
    const frame = await reader.takeFrame(1 << 16)
    heard.push(frame.toString('utf8', 5, frame.length - 1))
    client.destroy()
  }
  return await listen(
    createServer((socket) => void hear(socket.on('error', () => {})).catch(() => {})),
    port,
    heard,
  )
}

/** In the place of HTTP or HTTPS. */
export async function stealTokens(
  port: number,
  isEncrypted: boolean,
  certificate?: { readonly cert: string; readonly key: string },
): Promise<Thief> {
  const heard: string[] = []
  const shown = certificate ?? (await createNodeCertificate())
  const server = isEncrypted ? createHttpsServer(shown) : createHttpServer()
  server.on('request', ({ headers }, response) => {
    if (headers.authorization !== undefined) heard.push(headers.authorization)
    response.setHeader('content-type', 'application/json').end('{"value":[]}')
  })
  return await listen(server, port, heard)
}

async function listen(server: Server, port: number, heard: readonly string[]): Promise<Thief> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  await retryUntil(async () => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  })
  return {
    port: (server.address() as AddressInfo).port,
    heard,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
