import * as oauth from 'oauth4webapi'
import type { Person } from './kept.ts'
import {
  client,
  describeRequest,
  insecureLocally,
  type Pending,
  redirectUri,
  tokenService,
} from './token-service.ts'

/** The answer of the token service with a code, by its cookie alone. */
export async function askSilently(pending: Pending): Promise<URL | undefined> {
  const request = await describeRequest(pending, { prompt: 'none' })
  const response = await fetch(request, { headers: { accept: 'text/html' } })
  // The code is in the address. The page behind it is read all the same: the connection is free only then.
  void response.text()
  const answer = new URL(response.url)
  return answer.searchParams.has('code') ? answer : undefined
}

export async function exchangeCode(
  answered: URL,
  { state, verifier }: Pending,
): Promise<oauth.TokenEndpointResponse> {
  const parameters = oauth.validateAuthResponse(tokenService, client, answered, state)
  const response = await oauth.authorizationCodeGrantRequest(
    tokenService,
    client,
    oauth.None(),
    parameters,
    redirectUri,
    verifier,
    insecureLocally,
  )
  return oauth.processAuthorizationCodeResponse(tokenService, client, response, { requireIdToken: true })
}

/** Undefined: the token service takes the refresh token no more. */
export async function refreshTokens(
  token: string | undefined,
): Promise<oauth.TokenEndpointResponse | undefined> {
  if (token === undefined) return undefined
  const response = await oauth.refreshTokenGrantRequest(
    tokenService,
    client,
    oauth.None(),
    token,
    insecureLocally,
  )
  try {
    return await oauth.processRefreshTokenResponse(tokenService, client, response)
  } catch (cause) {
    if (cause instanceof oauth.ResponseBodyError) return undefined
    throw cause
  }
}

/** Sent while the page is left, whose end it outlives. An answer helps no more: the token ends by itself at the latest. */
export async function revokeToken(token: string): Promise<void> {
  const body = new URLSearchParams({ token, token_type_hint: 'refresh_token', client_id: client.client_id })
  await fetch(tokenService.revocation_endpoint, { method: 'POST', body, keepalive: true }).catch(() => {})
}

export function describePerson(answer: oauth.TokenEndpointResponse): Person {
  const claims = { ...oauth.getValidatedIdTokenClaims(answer), ...readClaims(answer.access_token) }
  const text = (name: string) => (typeof claims[name] === 'string' ? (claims[name] as string) : '')
  return {
    id: text('oid'),
    tenantId: text('tid'),
    displayName: text('name') || text('preferred_username'),
    userPrincipalName: text('preferred_username'),
    permissions: new Set(text('scp').split(' ')),
    directoryRoles: new Set(Array.isArray(claims.wids) ? (claims.wids as string[]) : []),
  }
}

/** The portal shows pages by these claims; the service alone decides on rights. */
function readClaims(token: string): Record<string, unknown> {
  const payload = token.split('.')[1] ?? ''
  const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (c) =>
    c.charCodeAt(0),
  )
  return JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>
}
