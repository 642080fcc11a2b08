import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { lookupAmong } from '../../db/host-guard.ts'
import { codeOf } from '../../kernel/sqlstate.ts'
import { ByteReader } from '../../wire/byte-reader.ts'
import { Refusal, refuse, violation } from '../../wire/refusal.ts'
import { sslRequest } from '../../wire/startup.ts'
import type { BackendAddress, BackendPlace } from '../ports.ts'

const connectTimeoutMs = 10_000
/** Of each of several hosts: a login tries them one after the other. */
const oneOfSeveralMs = 4_000

/** For both legs. The system then probes every second, ten times: a peer that vanished is noticed after 70 seconds. */
export const liveness = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 } as const

/** A connection to the first of the hosts that takes one, with its address: that host first, the others behind it. */
export async function openAnyBackend(
  address: BackendAddress,
  signal: AbortSignal,
): Promise<{ readonly socket: Socket; readonly address: BackendAddress }> {
  const { others = [], ...first } = address
  if (others.length === 0) return { socket: await openBackend(address, signal), address }
  const places: BackendPlace[] = [first, ...others]
  for (const [at, { host, port, addresses }] of places.entries()) {
    const chosen = { ...address, host, port, addresses, others: places.toSpliced(at, 1) }
    try {
      return { socket: await openBackend(chosen, signal, oneOfSeveralMs), address: chosen }
    } catch (error) {
      if (at === others.length || signal.aborted) throw error
    }
  }
  return refuse('BackendUnreachable', { why: 'it has no host' })
}

/** A connection to the first host of the address with the binding's own TLS, before the login. */
export async function openBackend(
  address: BackendAddress,
  signal: AbortSignal,
  timeoutMs = connectTimeoutMs,
): Promise<Socket> {
  const { host, port, addresses } = address
  if (addresses.length === 0) refuse('BackendUnreachable', { why: 'its host is unknown or not allowed' })
  const plain = connectTcp({ host, port, lookup: lookupAmong(addresses), ...liveness })
  // The socket's user listens for its end; an error without a listener would end the process.
  plain.on('error', () => {})
  const cut = () => plain.destroy()
  signal.addEventListener('abort', cut, { once: true })
  const timer = setTimeout(() => plain.destroy(new Error('timeout')), timeoutMs)
  try {
    await ready(plain, 'connect')
    return address.ssl ? await encrypt(plain, address, address.ssl) : plain
  } catch (cause) {
    plain.destroy()
    if (cause instanceof Refusal) throw cause
    return refuse('BackendUnreachable', { why: explain(cause) }, { cause })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', cut)
  }
}

async function encrypt(
  plain: Socket,
  { host }: BackendAddress,
  ssl: NonNullable<BackendAddress['ssl']>,
): Promise<TLSSocket> {
  const reader = new ByteReader(plain)
  plain.write(sslRequest)
  const answer = await reader.take(1)
  // Unencrypted bytes after the answer would be taken for encrypted ones.
  if (reader.release().length > 0) violation('the database sent data before encryption')
  if (answer[0] !== 0x53) refuse('BackendUnreachable', { why: 'it offers no TLS' })
  const socket = connectTls({
    socket: plain,
    // Without it the certificate of an address would be held against the name localhost.
    host,
    ...(isIP(host) === 0 && { servername: host }),
    ...ssl,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['postgresql'],
  })
  socket.on('error', () => {})
  await ready(socket, 'secureConnect')
  return socket
}

function ready(socket: Socket, event: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('closed'))
    socket.once('error', reject)
    socket.once('close', ended)
    socket.once(event, () => {
      socket.off('error', reject)
      socket.off('close', ended)
      resolve()
    })
  })
}

/** Chosen by kind: the error's own text may hold addresses that clients must not see. */
function explain(cause: unknown): string {
  const code = codeOf(cause)
  if (code === 'ECONNREFUSED') return 'nothing listens there'
  if (/^(ENOTFOUND|EAI_AGAIN)$/.test(code)) return 'its host name is unknown'
  if (/CERT|^(ERR_TLS|ERR_SSL|EPROTO|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)/.test(code))
    return 'its certificate is not to be trusted'
  return 'it does not answer'
}
