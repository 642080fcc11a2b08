import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { bracketHost, reachableAddress } from '../kernel/network.ts'
import { type NodeCertificate, nodeName } from '../kernel/node-name.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { describe, Problem } from '../kernel/problem.ts'
import { boundPipelines } from './bound-pipelines.ts'
import type { Certificates } from './certificates.ts'
import type { Handler } from './http-options.ts'
import { traceRequests } from './trace-requests.ts'

export interface Listeners {
  readonly host: string
  readonly httpPort: number
  readonly httpsPort: number
  /** The HTTP server as this machine itself reaches it. */
  readonly httpOrigin: string
  /** PEM of the generated CA; undefined with the operator's own certificate. */
  readonly ca: string | undefined
  /** Takes no new connections, lets requests under way finish, cuts what is left after the time. */
  close(timeoutMs: number): Promise<void>
}

interface ListenOptions {
  readonly settings: { readonly host: string; readonly httpPort: number; readonly httpsPort: number }
  readonly handler: Handler
  readonly certificates: () => Promise<Certificates>
  readonly nodeCertificate: NodeCertificate
  readonly log: Logger
}

const renewalCheckMs = 6 * 60 * 60 * 1000

export async function listen(options: ListenOptions): Promise<Listeners> {
  const { settings, handler, certificates, nodeCertificate, log } = options
  await using cleanup = new AsyncDisposableStack()
  const tls = await certificates()
  const traced = endUpgrades(boundPipelines(traceRequests(handler)))
  const http = createServer(limits, traced)
  const https = createTlsServer({ ...limits, cert: tls.cert, key: tls.key, minVersion: 'TLSv1.2' }, traced)
  https.addContext(nodeName, { ...nodeCertificate, minVersion: 'TLSv1.2' })

  for (const server of [http, https]) server.on('connect', refuseTunnel).on('clientError', refuseBroken)

  const httpPort = await bind(http, settings.host, settings.httpPort, 'MASQUERADE_HTTP_PORT')
  cleanup.defer(() => void http.close())
  const httpsPort = await bind(https, settings.host, settings.httpsPort, 'MASQUERADE_HTTPS_PORT')
  cleanup.defer(() => void https.close())

  const renewal = setInterval(() => renew(https, certificates, log), renewalCheckMs)
  renewal.unref()
  cleanup.move()
  return {
    host: settings.host,
    httpPort,
    httpsPort,
    httpOrigin: `http://${bracketHost(reachableAddress(settings.host))}:${httpPort}`,
    ca: tls.ca,
    async close(timeoutMs) {
      clearInterval(renewal)
      await Promise.all([drain(http, timeoutMs), drain(https, timeoutMs)])
    },
  }
}

const limits = {
  requestTimeout: 60_000,
  headersTimeout: 20_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 96 * 1024,
}

/**
 * Node drops what came in one packet with a request that asks for another protocol, and reads on behind it as if nothing was
 * missing. No other protocol is offered, so the connection ends with the answer.
 */
function endUpgrades(handler: Handler): Handler {
  return (request, response) => {
    if (request.headers.upgrade !== undefined) response.setHeader('connection', 'close')
    return handler(request, response)
  }
}

/** CONNECT reaches no handler: Node hands over the bare socket. */
function refuseTunnel(_request: unknown, socket: Duplex): void {
  socket.on('error', () => {})
  socket.end(unknownMethod('CONNECT'))
}

function unknownMethod(method: string): string {
  const { code, message } = describe(new Problem('UnknownMethod', { method }), 'masking')
  const body = JSON.stringify({ error: { code, message } })
  return `HTTP/1.1 501 Not Implemented\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
}

const brokenRequests: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** What Node answers to requests that it cannot read, but for methods that it does not know: these are as any other (SVC-03). */
function refuseBroken(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Duplex): void {
  // Another answer may be under way.
  const { _httpMessage: answer } = socket as { _httpMessage?: { readonly headersSent: boolean } }
  if (socket.writable && !answer?.headersSent) {
    const [, method] =
      /^([!#$%&'*+.^`|~\w-]{1,40}) /.exec(error.rawPacket?.toString('latin1', 0, 64) ?? '') ?? []
    socket.write(
      error.code === 'HPE_INVALID_METHOD' && method !== undefined
        ? unknownMethod(method)
        : `HTTP/1.1 ${brokenRequests[error.code ?? ''] ?? '400 Bad Request'}\r\nconnection: close\r\n\r\n`,
    )
  }
  socket.destroy(error)
}

function bind(server: Server | TlsServer, host: string, port: number, setting: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(explain(cause, host, port, setting)))
    server.listen({ host, port }, () => resolve((server.address() as AddressInfo).port))
  })
}

function explain(cause: NodeJS.ErrnoException, host: string, port: number, setting: string): OperatorError {
  const where = `${host}:${port}`
  if (cause.code === 'EADDRINUSE')
    return new OperatorError(
      `${where} is in use by another program. Stop it, or set ${setting} to another port (0 picks a free one).`,
      { cause },
    )
  if (cause.code === 'EACCES')
    return new OperatorError(`No permission to listen on ${where}. Set ${setting} to a port above 1023.`, {
      cause,
    })
  return new OperatorError(
    `Cannot listen on ${where} (${cause.code}). Check MASQUERADE_HOST and ${setting}.`,
    { cause },
  )
}

async function renew(
  https: TlsServer,
  certificates: () => Promise<Certificates>,
  log: Logger,
): Promise<void> {
  try {
    const { cert, key } = await certificates()
    https.setSecureContext({ cert, key, minVersion: 'TLSv1.2' })
  } catch (err) {
    log.error({ err }, 'the certificate could not be renewed')
  }
}

function drain(server: Server | TlsServer, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), timeoutMs)
    const idle = setInterval(() => server.closeIdleConnections(), 100)
    server.close(() => {
      clearTimeout(cut)
      clearInterval(idle)
      resolve()
    })
    server.closeIdleConnections()
  })
}
