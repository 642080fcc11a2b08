import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { clientAddressOf, setClientAddress } from '../kernel/client-address.ts'

/** The same request with another body; the first was read to its end. */
export function replaceBody(request: IncomingMessage, body: Buffer): IncomingMessage {
  const { method, socket, httpVersion, httpVersionMajor, httpVersionMinor, complete } = request
  const headers = { ...request.headers, 'content-length': String(body.length) }
  delete headers['transfer-encoding']
  const replaced = Object.assign(Readable.from([body]), {
    method,
    headers,
    socket,
    connection: socket,
    httpVersion,
    httpVersionMajor,
    httpVersionMinor,
    complete,
  }) as unknown as IncomingMessage
  setClientAddress(replaced, clientAddressOf(request))
  return replaced
}
