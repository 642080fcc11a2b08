import { accessToken, renewToken } from '../session/session.ts'

/** A part of a request that the service refused, by its place in the body. */
export interface FaultPart {
  readonly code?: string
  readonly target?: string
  readonly message: string
}

/** A refusal of the service in its own words, with the id under which its log has the request. */
export class Fault extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly target: string | undefined
  readonly details: readonly FaultPart[]

  constructor(status: number, body: ErrorBody | undefined, requestId: string | undefined) {
    super(body?.error?.message ?? `The service answered ${status}.`)
    this.status = status
    this.code = body?.error?.code ?? String(status)
    this.target = body?.error?.target
    this.details = body?.error?.details ?? []
    this.requestId = requestId
  }
}

interface ErrorBody {
  readonly error?: {
    readonly code?: string
    readonly message?: string
    readonly target?: string
    readonly details?: readonly FaultPart[]
  }
}

export interface CallOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

export interface Answer<T> {
  readonly status: number
  readonly body: T
  readonly headers: Headers
}

const apiVersion = '2014-04-01'

/** One request of either API as the signed-in person. A token that the service no longer takes is renewed once. */
export async function send<T>(method: string, path: string, options: CallOptions = {}): Promise<Answer<T>> {
  let response = await attempt(method, path, options, await accessToken())
  if (response.status === 401) response = await attempt(method, path, options, await renewToken())
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true
  const body = isJson && text !== '' ? (JSON.parse(text) as unknown) : text
  if (response.ok) return { status: response.status, body: body as T, headers: response.headers }
  const requestId = response.headers.get('request-id') ?? response.headers.get('x-ms-request-id') ?? undefined
  throw new Fault(response.status, isJson ? (body as ErrorBody) : undefined, requestId)
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await send<T>('GET', path, { signal })).body
}

function attempt(method: string, path: string, { body, headers, signal }: CallOptions, token: string) {
  return fetch(withVersion(path), {
    method,
    headers: {
      accept: 'application/json',
      ...headers,
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  })
}

/**
 * The directory API has its version in the path, the masking API in the query; links to a next page are whole. A path that
 * the browser would resolve to another one is refused: the page shows the names in it.
 */
function withVersion(path: string): string {
  const segments = path.split('?', 1).join().split(/[/\\]/)
  if (segments.some((segment) => /^(\.|%2e){1,2}$/i.test(segment))) throw new Fault(400, undefined, undefined)
  const url = new URL(path, location.origin)
  const isMasking = !url.pathname.startsWith('/v1.0')
  if (isMasking && !url.searchParams.has('api-version')) url.searchParams.set('api-version', apiVersion)
  return url.pathname + url.search
}
