import * as oauth from 'oauth4webapi'
import { forgetPerson, keepFor } from './kept.ts'

const clientId = '5b8e0f27-92d4-4c63-8a0b-e14d6f9c7a35'
const scope = 'openid profile offline_access .default'
/** A token that is about to end would end on its way. */
const renewBeforeMs = 2 * 60 * 1000
const pendingKey = 'masquerade.sign-in'
const signedOutState = 'signed-out'

/** The person who is signed in, by the claims of their tokens. */
export interface Person {
  readonly id: string
  readonly tenantId: string
  readonly displayName: string
  readonly userPrincipalName: string
  /** Delegated permissions of the portal's token. */
  readonly permissions: ReadonlySet<string>
  /** Template ids of the directory roles. */
  readonly directoryRoles: ReadonlySet<string>
}

export type Opened =
  | { readonly kind: 'signed in'; readonly person: Person; readonly returnTo: string }
  | { readonly kind: 'signed out' }
  | { readonly kind: 'leaving' }
  | { readonly kind: 'failed'; readonly message: string }

interface Pending {
  readonly state: string
  readonly verifier: string
  readonly returnTo: string
}

/** Kept in memory only: a script of another page, or a copy of the browser's profile, finds no token. */
interface Tokens {
  readonly access: string
  readonly refresh: string | undefined
  readonly idToken: string | undefined
  readonly endsAtMs: number
}

const client: oauth.Client = { client_id: clientId }
const options = { [oauth.allowInsecureRequests]: location.protocol === 'http:' }
const redirectUri = `${location.origin}/`
let server: oauth.AuthorizationServer | undefined
let tokens: Tokens | undefined
let renewing: Promise<string> | undefined

export class SessionEnded extends Error {}

/** True for the address to which the token service sends the browser back. */
export function carriesAnswer({ pathname, searchParams }: URL): boolean {
  const isAnswered = searchParams.has('code') || searchParams.has('error')
  return pathname === '/' && searchParams.has('state') && isAnswered
}

/** Finishes a sign-in that the address carries, or begins one: the token service remembers a recent sign-in. */
export async function openSession(): Promise<Opened> {
  const here = new URL(location.href)
  if (here.pathname === '/' && here.searchParams.get('state') === signedOutState) {
    history.replaceState(null, '', '/')
    return { kind: 'signed out' }
  }
  try {
    if (carriesAnswer(here)) return await finishSignIn(here)
    await beginSignIn(here.pathname + here.search + here.hash)
    return { kind: 'leaving' }
  } catch (error) {
    history.replaceState(null, '', '/')
    return { kind: 'failed', message: explain(error) }
  }
}

export async function beginSignIn(returnTo: string): Promise<void> {
  const { authorization_endpoint: endpoint } = await findServer()
  if (!endpoint) throw new Error('the token service names no authorization endpoint')
  const pending: Pending = {
    state: oauth.generateRandomState(),
    verifier: oauth.generateRandomCodeVerifier(),
    returnTo,
  }
  sessionStorage.setItem(pendingKey, JSON.stringify(pending))
  const url = new URL(endpoint)
  url.search = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope,
    state: pending.state,
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
  }).toString()
  location.replace(url)
}

async function finishSignIn(here: URL): Promise<Opened> {
  const kept = sessionStorage.getItem(pendingKey)
  sessionStorage.removeItem(pendingKey)
  if (kept === null) {
    await beginSignIn('/')
    return { kind: 'leaving' }
  }
  const { state, verifier, returnTo } = JSON.parse(kept) as Pending
  const as = await findServer()
  const parameters = oauth.validateAuthResponse(as, client, here, state)
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    oauth.None(),
    parameters,
    redirectUri,
    verifier,
    options,
  )
  const answer = await oauth.processAuthorizationCodeResponse(as, client, response, { requireIdToken: true })
  keep(answer)
  const person = describePerson(answer)
  keepFor(person.id)
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

/** The same as `useHas`, for code outside of pages. */
export function holdsPermission(...names: readonly string[]): boolean {
  if (!tokens) return false
  const held = new Set(String(readClaims(tokens.access).scp ?? '').split(' '))
  return names.some((name) => held.has(name))
}

/** What the portal shows follows these claims; what it may do is decided by the service alone. */
function readClaims(token: string): Record<string, unknown> {
  const payload = token.split('.')[1] ?? ''
  const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (c) =>
    c.charCodeAt(0),
  )
  return JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>
}

async function findServer(): Promise<oauth.AuthorizationServer> {
  if (server) return server
  const response = await fetch('/.well-known/openid-configuration')
  if (!response.ok) throw new Error(`the token service answered ${response.status}`)
  server = (await response.json()) as oauth.AuthorizationServer
  return server
}

/** An access token with time left, renewed once for all requests that wait for it. */
export async function accessToken(): Promise<string> {
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
  const as = await findServer()
  if (!tokens?.refresh) throw new SessionEnded('the sign-in cannot be renewed')
  try {
    const response = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), tokens.refresh, options)
    keep(await oauth.processRefreshTokenResponse(as, client, response))
  } catch (cause) {
    if (cause instanceof oauth.ResponseBodyError) throw new SessionEnded('the sign-in has ended', { cause })
    throw cause
  }
  return tokens.access
}

export async function signOut(): Promise<void> {
  const { end_session_endpoint: endpoint } = await findServer()
  const url = new URL(endpoint ?? '/', location.origin)
  url.search = new URLSearchParams({
    ...(tokens?.idToken && { id_token_hint: tokens.idToken }),
    client_id: clientId,
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
