import * as oauth from 'oauth4webapi'
import { forgetPerson, hasPerson, keepFor, type Person } from './kept.ts'
import {
  client,
  createPending,
  describeRequest,
  insecureLocally,
  type Pending,
  redirectUri,
  tokenService,
} from './token-service.ts'

/** A token that is about to end would end on its way. */
const renewBeforeMs = 2 * 60 * 1000
const pendingKey = 'masquerade.sign-in'
const signedOutState = 'signed-out'

export type { Person } from './kept.ts'

export type Opened =
  | { readonly kind: 'signed in'; readonly person: Person; readonly returnTo: string }
  | { readonly kind: 'signed out' }
  | { readonly kind: 'leaving' }
  | { readonly kind: 'failed'; readonly message: string }

/** Kept in memory only: a script of another page, or a copy of the browser's profile, finds no token. */
interface Tokens {
  readonly access: string
  readonly refresh: string | undefined
  readonly idToken: string | undefined
  readonly endsAtMs: number
}

let tokens: Tokens | undefined
let renewing: Promise<string> | undefined
/** A page that is drawn before the token service has answered sends its requests after this. */
const signedIn = Promise.withResolvers<void>()

export class SessionEnded extends Error {}

/** True for the address to which the token service sends the browser back. */
export function carriesAnswer({ pathname, searchParams }: URL): boolean {
  const isAnswered = searchParams.has('code') || searchParams.has('error')
  return pathname === '/' && searchParams.has('state') && isAnswered
}

/**
 * Finishes a sign-in that the address carries, or begins one: the token service remembers a recent sign-in. Where a person
 * used the portal before, it is asked without leaving the page.
 */
export async function openSession(): Promise<Opened> {
  const here = new URL(location.href)
  if (here.pathname === '/' && here.searchParams.get('state') === signedOutState) {
    history.replaceState(null, '', '/')
    // An answer that came while the page was left may have been kept after all.
    forgetPerson()
    return { kind: 'signed out' }
  }
  const isAnswer = carriesAnswer(here)
  const returnTo = isAnswer ? '/' : here.pathname + here.search + here.hash
  try {
    const pending = isAnswer ? takePending() : undefined
    if (pending) return await finishSignIn(here, pending)
    const resumed = hasPerson() ? await resumeSignIn(returnTo) : undefined
    if (resumed) return resumed
    await beginSignIn(returnTo)
    return { kind: 'leaving' }
  } catch (error) {
    history.replaceState(null, '', '/')
    return { kind: 'failed', message: explain(error) }
  }
}

export async function beginSignIn(returnTo: string): Promise<void> {
  const pending = createPending(returnTo)
  sessionStorage.setItem(pendingKey, JSON.stringify(pending))
  location.replace(await describeRequest(pending))
}

function takePending(): Pending | undefined {
  const kept = sessionStorage.getItem(pendingKey)
  sessionStorage.removeItem(pendingKey)
  return kept === null ? undefined : (JSON.parse(kept) as Pending)
}

/** Signs in by the cookie of the token service. Undefined: the person has to see one of its pages. */
async function resumeSignIn(returnTo: string): Promise<Opened | undefined> {
  const pending = createPending(returnTo)
  const request = await describeRequest(pending, { prompt: 'none' })
  const response = await fetch(request, { headers: { accept: 'text/html' } })
  // The code is in the address. The page behind it is read all the same: the connection is free only then.
  void response.text()
  const answer = new URL(response.url)
  return answer.searchParams.has('code') ? finishSignIn(answer, pending) : undefined
}

async function finishSignIn(answered: URL, { state, verifier, returnTo }: Pending): Promise<Opened> {
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
  const answer = await oauth.processAuthorizationCodeResponse(tokenService, client, response, {
    requireIdToken: true,
  })
  keep(answer)
  const person = describePerson(answer)
  keepFor(person)
  signedIn.resolve()
  return { kind: 'signed in', person, returnTo }
}

function keep(answer: oauth.TokenEndpointResponse): void {
  tokens = {
    access: answer.access_token,
    refresh: answer.refresh_token ?? tokens?.refresh,
    idToken: answer.id_token ?? tokens?.idToken,
    endsAtMs: Date.now() + (answer.expires_in ?? 0) * 1000,
  }
}

function describePerson(answer: oauth.TokenEndpointResponse): Person {
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

/** An access token with time left, renewed once for all requests that wait for it. */
export async function accessToken(): Promise<string> {
  await signedIn.promise
  if (!tokens) throw new SessionEnded('nobody is signed in')
  if (tokens.endsAtMs - Date.now() > renewBeforeMs) return tokens.access
  return renewToken()
}

export function renewToken(): Promise<string> {
  renewing ??= renew().finally(() => {
    renewing = undefined
  })
  return renewing
}

async function renew(): Promise<string> {
  if (!tokens?.refresh) throw new SessionEnded('the sign-in cannot be renewed')
  try {
    const response = await oauth.refreshTokenGrantRequest(
      tokenService,
      client,
      oauth.None(),
      tokens.refresh,
      insecureLocally,
    )
    keep(await oauth.processRefreshTokenResponse(tokenService, client, response))
  } catch (cause) {
    if (cause instanceof oauth.ResponseBodyError) throw new SessionEnded('the sign-in has ended', { cause })
    throw cause
  }
  return tokens.access
}

export function signOut(): void {
  const url = new URL(tokenService.end_session_endpoint)
  url.search = new URLSearchParams({
    ...(tokens?.idToken && { id_token_hint: tokens.idToken }),
    client_id: client.client_id,
    post_logout_redirect_uri: redirectUri,
    state: signedOutState,
  }).toString()
  tokens = undefined
  forgetPerson()
  location.replace(url)
}

function explain(error: unknown): string {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    return error.error_description ?? error.error
  return error instanceof Error ? error.message : String(error)
}
