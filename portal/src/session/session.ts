import * as oauth from 'oauth4webapi'
import { forgetDrafts } from './drafts.ts'
import { forgetPerson, hasPerson, keepFor, type Person, readOwner, watchOwner } from './kept.ts'
import { askSilently, describePerson, exchangeCode, refreshTokens, revokeToken } from './token-answers.ts'
import {
  client,
  createPending,
  describeRequest,
  type Pending,
  redirectUri,
  tokenService,
} from './token-service.ts'

/** A token that is about to end would end on its way. */
const renewBeforeMs = 2 * 60 * 1000
const pendingKey = 'masquerade.sign-in'
/** The state of a sign-out that was begun: any page can link to an address with another one. */
const signOutKey = 'masquerade.sign-out'

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
/** The object id of the person whom the page is drawn for. */
let signedInAs: string | undefined
/** True once that person has left the browser: until it is loaded anew, the page has no tokens and asks for none. */
let isLeft = false
let renewing: Promise<string> | undefined
/** A page that is drawn before the token service has answered sends its requests after this. */
const signedIn = Promise.withResolvers<void>()

export class SessionEnded extends Error {}

/** Called with whether the sign-in has ended, each time that it was to be renewed, and when the person has left. */
type Watcher = (hasEnded: boolean) => void
const watchers = new Set<Watcher>()

/** Returns the function that ends the watch. */
export function watchSession(watcher: Watcher): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

/** True where the person signed out in another tab, or another person signed in there: what the page shows is not for them. */
export function hasLeft(): boolean {
  return isLeft
}

/**
 * Ends the tab of a person who is the browser's no more. Its tokens may be of an earlier session of the browser, of which a sign-out in
 * another tab knows nothing.
 */
function leaveUnless(ownerId: string | null): void {
  if (isLeft || signedInAs === undefined || ownerId === signedInAs) return
  dropTokens()
  forgetDrafts()
  for (const watcher of watchers) watcher(true)
}
watchOwner(leaveUnless)

function dropTokens(): void {
  isLeft = true
  if (tokens?.refresh) void revokeToken(tokens.refresh)
  tokens = undefined
}

/** Refuses to go on in a tab whose person has left, and revokes what the token service answered meanwhile. */
function requireOwner(answer?: oauth.TokenEndpointResponse): void {
  leaveUnless(readOwner())
  if (!isLeft) return
  if (answer?.refresh_token) void revokeToken(answer.refresh_token)
  throw new SessionEnded('the person has left this browser')
}

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
  if (isSignedOut(here)) {
    history.replaceState(null, '', '/')
    // Another tab may have signed in by the cookie before the token service confirmed the sign-out.
    forgetPerson()
    return { kind: 'signed out' }
  }
  // The person signed out in another tab.
  if (!hasPerson()) forgetDrafts()
  const isAnswer = carriesAnswer(here)
  const returnTo = isAnswer ? '/' : here.pathname + here.search + here.hash
  const ownerId = readOwner()
  try {
    const pending = isAnswer ? takePending() : undefined
    if (pending) return await finishSignIn(here, pending, ownerId)
    const resumed = ownerId === null ? undefined : await resumeSignIn(returnTo, ownerId)
    if (resumed) return resumed
    await beginSignIn(returnTo)
    return { kind: 'leaving' }
  } catch (error) {
    history.replaceState(null, '', '/')
    return { kind: 'failed', message: explain(error) }
  }
}

/** True, once, in the tab that began the sign-out. */
function isSignedOut({ pathname, searchParams }: URL): boolean {
  const state = sessionStorage.getItem(signOutKey)
  const isAnswer = state !== null && pathname === '/' && searchParams.get('state') === state
  if (isAnswer) sessionStorage.removeItem(signOutKey)
  return isAnswer
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
async function resumeSignIn(returnTo: string, ownerId: string): Promise<Opened | undefined> {
  const pending = createPending(returnTo)
  const answer = await askSilently(pending)
  return answer && finishSignIn(answer, pending, ownerId)
}

/** `ownerId` is the last person of the browser when the page was opened. */
async function finishSignIn(answered: URL, pending: Pending, ownerId: string | null): Promise<Opened> {
  const answer = await exchangeCode(answered, pending)
  const person = describePerson(answer)
  const ownerNow = readOwner()
  // Meanwhile this person signed out in another tab, or another person signed in there.
  if (ownerNow !== ownerId && ownerNow !== person.id) {
    if (answer.refresh_token) void revokeToken(answer.refresh_token)
    history.replaceState(null, '', '/')
    return { kind: 'signed out' }
  }
  keep(answer)
  signedInAs = person.id
  keepFor(person)
  signedIn.resolve()
  return { kind: 'signed in', person, returnTo: pending.returnTo }
}

function keep(answer: oauth.TokenEndpointResponse): void {
  tokens = {
    access: answer.access_token,
    refresh: answer.refresh_token ?? tokens?.refresh,
    idToken: answer.id_token ?? tokens?.idToken,
    endsAtMs: Date.now() + (answer.expires_in ?? 0) * 1000,
  }
}

/** An access token with time left, renewed once for all requests that wait for it. */
export async function accessToken(): Promise<string> {
  await signedIn.promise
  requireOwner()
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

/**
 * By the refresh token, or else by the cookie: a person who signed in again in another tab goes on here, with everything that
 * they typed.
 */
async function renew(): Promise<string> {
  try {
    requireOwner()
    const answer = (await refreshTokens(tokens?.refresh)) ?? (await signInAgain())
    requireOwner(answer)
    keep(answer)
    for (const watcher of watchers) watcher(false)
    return answer.access_token
  } catch (error) {
    if (error instanceof SessionEnded) for (const watcher of watchers) watcher(true)
    throw error
  }
}

/** For the same person alone: the page shows what the last one may see. */
async function signInAgain(): Promise<oauth.TokenEndpointResponse> {
  requireOwner()
  const pending = createPending('/')
  const answered = await askSilently(pending)
  const answer = answered && (await exchangeCode(answered, pending))
  const person = answer && describePerson(answer)
  // Tokens of another person are not revoked: that would end the tab in which that person has signed in.
  requireOwner(person?.id === signedInAs ? answer : undefined)
  if (!person || person.id !== signedInAs) throw new SessionEnded('the sign-in has ended')
  keepFor(person)
  return answer
}

export function signOut(): void {
  const state = oauth.generateRandomState()
  sessionStorage.setItem(signOutKey, state)
  const url = new URL(tokenService.end_session_endpoint)
  url.search = new URLSearchParams({
    ...(tokens?.idToken && { id_token_hint: tokens.idToken }),
    client_id: client.client_id,
    post_logout_redirect_uri: redirectUri,
    state,
  }).toString()
  // The session of the browser may have ended long before: then its sign-out ends no token.
  dropTokens()
  forgetPerson()
  location.replace(url)
}

function explain(error: unknown): string {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    return error.error_description ?? error.error
  return error instanceof Error ? error.message : String(error)
}
