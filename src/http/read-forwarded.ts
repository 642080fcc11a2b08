import type { IncomingMessage, RequestListener } from 'node:http'
import { isIP } from 'node:net'
import { setClientAddress } from '../kernel/client-address.ts'

export type IsTrusted = (address: string) => boolean

/**
 * Takes the client's address, protocol and host from `X-Forwarded-*` where a trusted proxy sent the request, and removes
 * such headers everywhere else: no later reader can take a stranger's word.
 */
export function readForwarded(handler: RequestListener, isTrusted: IsTrusted): RequestListener {
  return (request, response) => {
    if (isTrusted(request.socket.remoteAddress ?? '')) {
      const client = findClient(request, isTrusted)
      if (client !== undefined) setClientAddress(request, client)
    } else
      for (const name of Object.keys(request.headers)) if (isForwarding(name)) delete request.headers[name]
    handler(request, response)
  }
}

/** True for headers by which only a proxy may speak. */
export function isForwarding(name: string): boolean {
  return /^(x-forwarded-.*|forwarded|x-real-ip)$/i.test(name)
}

/** The last address that no trusted proxy has: proxies append the address that they see, and all before is the client's word. */
function findClient({ headers }: IncomingMessage, isTrusted: IsTrusted): string | undefined {
  const hops = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .map((hop) => hop.trim())
  let client: string | undefined
  for (const hop of hops.reverse()) {
    if (isIP(hop) === 0) return client
    client = hop
    if (!isTrusted(hop)) return client
  }
  return client
}
