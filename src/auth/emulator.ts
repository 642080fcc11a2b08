import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseJson } from '../kernel/json.ts'
import { isLoopbackHost } from '../kernel/network.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { fail } from '../kernel/problem.ts'
import { makeCaller } from './caller.ts'
import { directoryRoleTemplates } from './directory-roles.ts'
import { firstPartyApplications } from './first-party.ts'
import type { Gatekeeper } from './gatekeeper.ts'
import { consumerTenantId } from './identity.ts'
import { knownPermissions } from './known-permissions.ts'
import { type Claims, ourClaimNames, readClaims } from './token-claims.ts'

// Everything about emulator mode is in this file, and only `main.ts` loads it, when the setting says so.

export const emulatorHeaders = { 'x-masquerade-emulator': 'tokens are not verified' } as const

export function requireLoopback(host: string): void {
  if (!isLoopbackHost(host))
    throw new OperatorError(
      `MASQUERADE_EMULATOR=1 needs a loopback address, because it admits every caller: MASQUERADE_HOST is '${host}'.`,
      { exitCode: 2 },
    )
}

/** Takes unsigned tokens at their word, and a request without one as the administrator's. Signed ones are verified. */
export function emulate(
  gatekeeper: Gatekeeper,
  tenantId: string,
  administrator: { readonly id: string } | undefined,
): Gatekeeper {
  const assumed = { tid: tenantId, ...(administrator && { oid: administrator.id }) }
  const accept = (claims: Claims) =>
    makeCaller(readClaims(claims, ourClaimNames, { ours: tenantId, named: tenantId }))
  return {
    ...gatekeeper,
    authenticate(authorization, connection) {
      const token = /^bearer +(\S+)$/i.exec(authorization?.trim() ?? '')?.[1]
      if (token === undefined) return accept({ ...assumed, ...everything })
      const claims = readUnsigned(token)
      return claims ? accept(complete(claims, assumed)) : gatekeeper.authenticate(authorization, connection)
    },
  }
}

const everything = {
  azp: firstPartyApplications.cli.appId,
  scp: Object.keys(knownPermissions).join(' '),
  wids: [directoryRoleTemplates['Global Administrator']],
}

function complete(claims: Claims, assumed: Claims): Claims {
  const hasClient = 'azp' in claims || 'appid' in claims
  const hasKind = 'scp' in claims || 'roles' in claims || claims.idtyp === 'app'
  return {
    ...assumed,
    ...(!hasClient && { azp: everything.azp }),
    ...(!hasKind && { scp: '' }),
    ...claims,
    ...(claims.tid !== consumerTenantId && { tid: assumed.tid }),
  }
}

function readUnsigned(token: string): Claims | undefined {
  const [header = '', payload = '', signature = ''] = token.split('.')
  const read = (part: string) => parseJson(Buffer.from(part, 'base64url').toString()) as Claims
  try {
    return signature === '' && read(header).alg === 'none' ? read(payload) : undefined
  } catch (cause) {
    return fail('InvalidToken', {}, { cause })
  }
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Refuses requests from pages of other origins: a foreign web page in a browser on this machine must not act as the
 * administrator.
 */
export function keepStrangersOut(handler: Handler): Handler {
  return (request, response) => {
    const { host, origin, 'sec-fetch-site': site } = request.headers
    // Browsers send the origin `null` with forms of pages without a referrer, as those of the sign-in are.
    const isOwnPage = origin === undefined || isLoopbackUrl(origin) || site === 'same-origin'
    if (isLoopbackUrl(`http://${host}`) && isOwnPage) return handler(request, response)
    response.writeHead(403, { ...emulatorHeaders, 'content-type': 'text/plain' })
    response.end('The emulator answers requests to and from loopback addresses only.\n')
  }
}

function isLoopbackUrl(text: string): boolean {
  return isLoopbackHost(URL.parse(text)?.hostname ?? '')
}
