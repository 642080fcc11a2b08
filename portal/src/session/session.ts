import * as oauth from 'oauth4webapi'
import { forgetDrafts } from './drafts.ts'
import { forgetPerson, hasPerson, keepFor, type Person, personOf, readStay, watchStay } from './kept.ts'
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
/** The stay of the person whom the page is drawn for. */
let ownStay: string | undefined
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

/** True where the person signed out in another tab, or another person signed in there: the page must not show its data any more. */
export function hasLeft(): boolean {
  return isLeft
}

/**
 * Ends the tab of a stay that is over. Its tokens may be of an earlier session of the browser, of which a sign-out in another tab
 * knows nothing.
 */
function leaveUnless(stay: string | null): void {
  if (isLeft || ownStay === undefined || stay === ownStay) return
  dropTokens()
  forgetDrafts()
  for (const watcher of watchers) watcher(true)
}
watchStay(leaveUnless)

function dropTokens(): void {
  isLeft = true
  if (tokens?.refresh) void revokeToken(tokens.refresh)
  tokens = undefined
}

/** Refuses to go on in a tab whose person has left, and revokes what the token service answered meanwhile. */
function requireStay(answer?: oauth.TokenEndpointResponse): void {
  leaveUnless(readStay())
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
  const before = readStay()
  try {
    const pending = isAnswer ? takePending() : undefined
    if (pending) return await finishSignIn(here, pending, before)
    const resumed = before === null ? undefined : await resumeSignIn(returnTo, before)
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
async function resumeSignIn(returnTo: string, before: string): Promise<Opened | undefined> {
  const pending = createPending(returnTo)
  const answer = await askSilently(pending)
  return answer && finishSignIn(answer, pending, before)
}

/** `before` is the stay of the last person of the browser when the page was opened. */
async function finishSignIn(answered: URL, pending: Pending, before: string | null): Promise<Opened> {
  const answer = await exchangeCode(answered, pending)
  const person = describePerson(answer)
  const now = readStay()
  const hasBegun = personOf(now) === person.id && personOf(before) !== person.id
  // Meanwhile this person signed out in another tab, or another person signed in there.
  if (now !== before && !hasBegun) {
    if (answer.refresh_token) void revokeToken(answer.refresh_token)
    history.replaceState(null, '', '/')
    return { kind: 'signed out' }
  }
  keep(answer)
  ownStay = keepFor(person)
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
  requireStay()
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
    requireStay()
    const answer = (await refreshTokens(tokens?.refresh)) ?? (await signInAgain())
    requireStay(answer)
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
  requireStay()
  const pending = createPending('/')
  const answered = await askSilently(pending)
  const answer = answered && (await exchangeCode(answered, pending))
  const person = answer && describePerson(answer)
  const isSame = person?.id === personOf(ownStay ?? null)
  // Tokens of another person are not revoked: that would end the tab in which that person has signed in.
  requireStay(isSame ? answer : undefined)
  if (!person || !isSame) throw new SessionEnded('the sign-in has ended')
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
