import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import { clientAddressOf, setClientAddress } from '../../kernel/client-address.ts'
import { ByteReader, Ended } from '../../wire/byte-reader.ts'
import { proxyHeadBytes, readProxyAddress, readProxyLength } from '../../wire/proxy-header.ts'
import { violation } from '../../wire/refusal.ts'
import { readStartup, readStartupLength, type StartupPacket } from '../../wire/startup.ts'

export interface Greeted {
  readonly socket: Socket
  readonly reader: ByteReader
  readonly encrypted: boolean
  readonly packet: Extract<StartupPacket, { kind: 'startup' | 'cancel' }>
}

export interface GreetOptions {
  /** By the name that the client asks for. */
  readonly context: (name?: string) => SecureContext
  /** A trusted proxy has connected: it tells the client's address first, and is refused without. */
  readonly isProxied: boolean
  /** Raised when time is up, or the client is gone. */
  readonly signal: AbortSignal
  /** Passes the reader to fail when time is up. */
  onReader(reader: ByteReader): void
  /** The client's address is known. */
  onClient(): void
  /** Passes the TLS socket to write to and close from now on: TLS owns the accepted connection. */
  onTls(socket: Socket): void
}

/** First byte of a TLS handshake; a startup packet would have to be 369 MB long to begin so. */
const handshake = 0x16
const protocol = 'postgresql'

/** From the first byte to the startup packet: encryption as the client wants it, by request or at once. */
export async function greetClient(plain: Socket, options: GreetOptions): Promise<Greeted> {
  let socket = plain
  let encrypted = false
  let reader = new ByteReader(socket)
  options.onReader(reader)
  if (options.isProxied) {
    await readProxied(plain, reader)
    options.onClient()
  }
  const encrypt = async (isDirect: boolean) => {
    const early = reader.release()
    // An attacker on the network may have injected it, for the gateway to take as encrypted.
    if (early.length > 0 && !isDirect) violation('received unencrypted data after SSL request')
    if (isDirect) plain.unshift(early)
    else plain.write('S')
    socket = await acceptTls(plain, options, isDirect)
    setClientAddress(socket, clientAddressOf(plain))
    encrypted = true
    reader = new ByteReader(socket)
    options.onReader(reader)
  }
  const refused = { ssl: false, gss: false }
  for (;;) {
    const first = await reader.peek()
    if (first === handshake && !encrypted && !refused.ssl && !refused.gss) {
      await encrypt(true)
      continue
    }
    const head = await reader.take(4)
    const packet = readStartup(Buffer.concat([head, await reader.take(readStartupLength(head) - 4)]))
    if (packet.kind === 'ssl') {
      if (encrypted) violation('SSL was asked for twice')
      await encrypt(false)
    } else if (packet.kind === 'gss') {
      if (encrypted || refused.gss) violation('GSS encryption was asked for twice')
      refused.gss = true
      if (reader.length > 0) violation('received unencrypted data after GSSAPI encryption request')
      socket.write('N')
    } else {
      return { socket, reader, encrypted, packet }
    }
  }
}

async function readProxied(plain: Socket, reader: ByteReader): Promise<void> {
  const head = await reader.take(proxyHeadBytes)
  const address = readProxyAddress(head, await reader.take(readProxyLength(head)))
  if (address !== undefined) setClientAddress(plain, address)
}

function acceptTls(
  plain: Socket,
  { context, signal, onTls }: GreetOptions,
  isDirect: boolean,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const secureContext = context()
    const socket = new TLSSocket(plain, {
      isServer: true,
      secureContext,
      SNICallback: (name, done) => done(null, context(name)),
      ALPNProtocols: [protocol],
    })
    socket.on('error', () => {})
    onTls(socket)
    const ended = () => {
      // Not at once: TLS may be in the middle of reading from it, and Node would crash.
      setImmediate(() => plain.destroy())
      reject(new Ended('the client left during the handshake'))
    }
    const late = () => socket.destroy()
    signal.addEventListener('abort', late)
    socket.once('error', ended)
    socket.once('close', ended)
    socket.once('secure', () => {
      signal.removeEventListener('abort', late)
      socket.off('error', ended)
      socket.off('close', ended)
      // Without it another protocol's client could be led here.
      if (isDirect && socket.alpnProtocol !== protocol) {
        socket.destroy()
        reject(new Ended('direct TLS without the protocol name'))
      } else resolve(socket)
    })
  })
}
