import * as oauth from 'oauth4webapi'
import { forgetDrafts } from './drafts.ts'
import { forgetPerson, hasPerson, keepFor, type Person, watchPerson } from './kept.ts'
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
/** The object id of the person whom the page is drawn for. */
let signedInAs: string | undefined
let renewing: Promise<string> | undefined
/** A page that is drawn before the token service has answered sends its requests after this. */
const signedIn = Promise.withResolvers<void>()

export class SessionEnded extends Error {}

/** Called with whether the sign-in has ended, each time that it was to be renewed. */
type Watcher = (hasEnded: boolean) => void
const watchers = new Set<Watcher>()

/** Returns the function that ends the watch. */
export function watchSession(watcher: Watcher): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

/**
 * Ends the tokens of a tab whose person has left in another one. They may be of an earlier session of the browser, of which a sign-out
 * there knows nothing.
 */
function leave(): void {
  if (!tokens) return
  if (tokens.refresh) void revokeToken(tokens.refresh)
  tokens = undefined
  for (const watcher of watchers) watcher(true)
}
watchPerson(leave)

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
  // The person signed out in another tab.
  if (!hasPerson()) forgetDrafts()
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
  const answer = await askSilently(pending)
  return answer && finishSignIn(answer, pending)
}

async function finishSignIn(answered: URL, pending: Pending): Promise<Opened> {
  const answer = await exchangeCode(answered, pending)
  keep(answer)
  const person = describePerson(answer)
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
  // A browser tells a tab that it had put to sleep nothing of a sign-out meanwhile.
  if (!hasPerson()) leave()
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
    const answer = (await refreshTokens(tokens?.refresh)) ?? (await signInAgain())
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
  const pending = createPending('/')
  const answered = await askSilently(pending)
  const answer = answered && (await exchangeCode(answered, pending))
  const person = answer && describePerson(answer)
  if (!person || person.id !== signedInAs) throw new SessionEnded('the sign-in has ended')
  keepFor(person)
  return answer
}

export function signOut(): void {
  const url = new URL(tokenService.end_session_endpoint)
  url.search = new URLSearchParams({
    ...(tokens?.idToken && { id_token_hint: tokens.idToken }),
    client_id: client.client_id,
    post_logout_redirect_uri: redirectUri,
    state: signedOutState,
  }).toString()
  // The session of the browser may have ended long before: then its sign-out ends no token.
  if (tokens?.refresh) void revokeToken(tokens.refresh)
  tokens = undefined
  forgetPerson()
  location.replace(url)
}

function explain(error: unknown): string {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    return error.error_description ?? error.error
  return error instanceof Error ? error.message : String(error)
}
