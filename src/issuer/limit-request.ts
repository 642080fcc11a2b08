import type { IncomingMessage } from 'node:http'
import { readBytes } from './read-form.ts'
import { replaceBody } from './replace-body.ts'
import { routes } from './route.ts'

const requestBytes = 8 * 1024
const parameterBytes = 2 * 1024

/** Lists of names, and tokens: their length is not the client's choice. */
const longParameters = ['scope', 'id_token_hint', 'client_assertion']

/** Endpoints that store parameters of clients that have not proved anything. */
const storing = [
  routes.authorization,
  routes.device_authorization,
  routes.code_verification,
  routes.end_session,
]

/** The request with its body read, or null where the token service would have to store too much of it. */
export async function limitRequest(request: IncomingMessage, url: string): Promise<IncomingMessage | null> {
  const [path = '', query = ''] = url.split(/\?(.*)/s, 2)
  if (!storing.some((route) => path === route || path.startsWith(`${route}/`))) return request
  if (isTooLong(query)) return null
  if (request.method !== 'POST') return request
  const body = await readBytes(request, requestBytes)
  return body && !isTooLong(body.toString('latin1')) ? replaceBody(request, body) : null
}

function isTooLong(parameters: string): boolean {
  if (parameters.length > requestBytes) return true
  return [...new URLSearchParams(parameters)].some(
    ([name, value]) => !longParameters.includes(name) && Buffer.byteLength(value) > parameterBytes,
  )
}
