import { connect, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { sslRequest, writeCancel } from '../../src/wire/startup.ts'

export interface Place {
  readonly host: string
  readonly port: number
  readonly ssl: ConnectionOptions
}

const timeoutMs = 5_000

/** Asks to end what a session does now, over a connection of its own, as encrypted as the session. */
export async function sendCancel(
  { host, port, ssl }: Place,
  processId: number,
  secret: number,
): Promise<void> {
  const plain = connect({ host, port })
  const cut = setTimeout(() => plain.destroy(new Error('timeout')), timeoutMs)
  try {
    plain.write(sslRequest)
    const [answer] = await next(plain)
    if (answer !== 0x53) throw new Error('no TLS')
    const key = Buffer.alloc(4)
    key.writeInt32BE(secret)
    const socket = connectTls({ socket: plain, host, ...(isIP(host) === 0 && { servername: host }), ...ssl })
    socket.end(writeCancel(processId, key))
    await ended(socket)
  } finally {
    clearTimeout(cut)
    plain.destroy()
  }
}

function next(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    socket.once('data', resolve)
    socket.once('error', reject)
    socket.once('end', () => reject(new Error('closed')))
  })
}

function ended(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.once('close', () => resolve())
    socket.resume()
  })
}
