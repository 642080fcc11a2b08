import * as oauth from 'oauth4webapi'

const scope = 'openid profile offline_access .default'
export const client: oauth.Client = { client_id: '5b8e0f27-92d4-4c63-8a0b-e14d6f9c7a35' }
export const redirectUri = `${location.origin}/`
export const insecureLocally = { [oauth.allowInsecureRequests]: location.protocol === 'http:' }

/** The page names the issuer, and the endpoints are those of its own origin: a sign-in begins without asking for them. */
const issuer = document.querySelector<HTMLMetaElement>('meta[name="issuer"]')?.content ?? ''
const tenant = URL.parse(issuer)?.pathname.split('/')[1] ?? 'common'
const endpoints = `${location.origin}/${tenant}/oauth2/v2.0`

export const tokenService = {
  issuer,
  authorization_endpoint: `${endpoints}/authorize`,
  token_endpoint: `${endpoints}/token`,
  end_session_endpoint: `${endpoints}/logout`,
  revocation_endpoint: `${endpoints}/revoke`,
  authorization_response_iss_parameter_supported: true,
  id_token_signing_alg_values_supported: ['ES256'],
} satisfies oauth.AuthorizationServer

/** A sign-in that was begun; the answer must belong to it. */
export interface Pending {
  readonly state: string
  readonly verifier: string
  readonly returnTo: string
}

export function createPending(returnTo: string): Pending {
  return { state: oauth.generateRandomState(), verifier: oauth.generateRandomCodeVerifier(), returnTo }
}

/** The address at which the token service answers with a code, after its own pages where it has to show any. */
export async function describeRequest(
  { state, verifier }: Pending,
  more: Readonly<Record<string, string>> = {},
): Promise<URL> {
  const url = new URL(tokenService.authorization_endpoint)
  url.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...more,
  }).toString()
  return url
}
