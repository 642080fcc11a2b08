import { issueOperatorToken } from '../issuer/operator-token.ts'
import { isSafeUrl } from '../kernel/network.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { isDirectoryPath } from '../kernel/surface.ts'
import { exitCodes } from './exit-codes.ts'
import { fetchOwn, type Sent } from './fetch-own.ts'
import { readInput } from './input.ts'
import { startCommand } from './invocation.ts'
import { currentToken } from './login.ts'
import { openOperatorAccess } from './operator.ts'
import { type RunFile, readRunFile } from './run-file.ts'
import { readSession } from './session.ts'
import { currentSettings, outputClosed } from './surroundings.ts'
import { trustCa } from './trust-ca.ts'

/** Options of every command that talks to the service. */
export const apiOptions = {
  json: { type: 'boolean' },
  url: { type: 'string' },
  token: { type: 'string' },
  ca: { type: 'string' },
  admin: { type: 'boolean' },
} as const

export const apiHelp = `
  --url URL        Where the service is. The one that was signed in to, or the one of this data directory, unless said.
  --token TOKEN    The access token to use; '-' reads it from the standard input.
  --ca FILE        PEM file of the CA to trust for https.
  --admin          Act as the administrator, even when a user is signed in. Needs a readable data directory.
  --json           Print the result as JSON.`

export interface Api {
  /** Throws what the service says when it refuses. */
  send<T>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ status: number; body: T; state: string | null; tag: string | null }>
}

/** A part of a request that the service refused, by its place in the body. */
export interface RefusedPart {
  readonly target?: string
  readonly message: string
}

export class Refused extends OperatorError {
  readonly status: number
  readonly parts: readonly RefusedPart[]
  constructor(message: string, status: number, parts: readonly RefusedPart[] = []) {
    super(message, { exitCode: exitCodeOf(status) })
    this.status = status
    this.parts = parts
  }
}

function exitCodeOf(status: number): number {
  if (status === 404) return exitCodes.notFound
  return status === 401 || status === 403 ? exitCodes.denied : exitCodes.failed
}

export interface ApiValues {
  readonly url?: string | undefined
  readonly token?: string | undefined
  readonly ca?: string | undefined
  readonly admin?: boolean | undefined
}

const apiVersion = 'api-version=2014-04-01'
const timeoutMs = 60_000

export async function openApi(values: ApiValues): Promise<Api> {
  let access = await chooseAccess(values)
  if (access.caFile) trustCa(access.caFile)
  const attempt = (
    method: string,
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>>,
  ) => {
    const sent: Sent = {
      method,
      headers: {
        ...headers,
        authorization: `Bearer ${access.token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    }
    const { at } = access
    return typeof at === 'string'
      ? reach(`${at}${withVersion(path)}`, { ...sent, redirect: 'error' })
      : fetchOwn(at, withVersion(path), sent)
  }
  return {
    async send<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
      let response = await attempt(method, path, body, headers)
      if (response.status === 401 && values.token === undefined) {
        // A command that runs for long outlives its token.
        access = await chooseAccess(values)
        response = await attempt(method, path, body, headers)
      }
      const answer = parse(await response.text())
      if (!response.ok)
        throw new Refused(complaintOf(answer, response.status), response.status, partsOf(answer))
      return {
        status: response.status,
        body: answer as T,
        state: response.headers.get('x-masquerade-enforcement'),
        tag: response.headers.get('etag'),
      }
    },
  }
}

export interface Page<T> {
  readonly value: readonly T[]
  readonly nextLink?: string
  readonly '@odata.nextLink'?: string
}

/** The entries of a list, page by page, as far as the reader of the output wants them. */
export async function* walk<T>(api: Api, path: string): AsyncGenerator<T> {
  for (let next: string | undefined = path; next !== undefined && !outputClosed().aborted; ) {
    const { body }: { body: Page<T> } = await api.send<Page<T>>('GET', next)
    yield* body.value
    next = nextOf(body)
  }
}

/** The path of the page that follows; undefined: it is the last. */
export function nextOf(page: Page<unknown>): string | undefined {
  const link = URL.parse(page.nextLink ?? page['@odata.nextLink'] ?? '')
  return link ? link.pathname + link.search : undefined
}

/** All entries, or the first `limit` of them. */
export async function listAll<T>(api: Api, path: string, limit = Number.POSITIVE_INFINITY): Promise<T[]> {
  const found: T[] = []
  for await (const entry of walk<T>(api, path)) {
    if (found.length >= limit) break
    found.push(entry)
  }
  return found
}

/** The directory API has its version in the path; a link to a next page names its own. */
function withVersion(path: string): string {
  if (isDirectoryPath(path) || /[?&]api-version=/.test(path)) return path
  return `${path}${path.includes('?') ? '&' : '?'}${apiVersion}`
}

interface Access {
  /** A URL, or the service of this data directory. */
  readonly at: string | RunFile
  readonly token: string
  readonly caFile: string | null
}

async function chooseAccess(values: ApiValues): Promise<Access> {
  const settings = currentSettings()
  const place = async () => {
    if (values.url !== undefined) return checkUrl(values.url)
    const run = await readRunFile(settings.dataDir)
    if (run) return run
    throw new OperatorError(
      `No service runs in ${settings.dataDir}. Start it with '${startCommand}', or say --url and --token.`,
      { exitCode: exitCodes.unreachable },
    )
  }
  const caFile = values.ca ?? null
  const sent = values.token === '-' ? (await readInput('-')).trim() : values.token
  if (sent !== undefined) return { at: await place(), token: sent, caFile }
  const session = values.admin ? null : await readSession()
  if (session && (values.url === undefined || values.url === session.url))
    return { at: session.url, token: await currentToken(), caFile: caFile ?? session.caFile }
  if (values.url !== undefined && !values.admin)
    throw new OperatorError(`Not signed in to ${values.url}. Say --token, or run 'masquerade login --url'.`, {
      exitCode: exitCodes.denied,
    })
  await using access = await openOperatorAccess(settings)
  const token = await issueOperatorToken(
    { ...access, sql: access.database.sql },
    { for: { kind: 'administrator' }, permissions: [], lifetimeSeconds: 600, audience: undefined },
  )
  return { at: await place(), token, caFile }
}

/** A token goes over the network only where it is encrypted. */
function checkUrl(url: string): string {
  if (isSafeUrl(url)) return url.replace(/\/+$/, '')
  throw new OperatorError(`'${url.slice(0, 200)}' is neither an https address nor one of this machine.`, {
    exitCode: 2,
  })
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (cause) {
    const code = ((cause as Error).cause as { code?: string } | undefined)?.code ?? (cause as Error).name
    throw new OperatorError(`${new URL(url).origin} cannot be reached (${code}).`, {
      exitCode: exitCodes.unreachable,
      cause,
    })
  }
}

function parse(answer: string): unknown {
  try {
    return answer === '' ? undefined : JSON.parse(answer)
  } catch {
    return undefined
  }
}

function complaintOf(answer: unknown, status: number): string {
  const error = (answer as { error?: { code?: unknown; message?: unknown } } | undefined)?.error
  return typeof error?.message === 'string' ? error.message : `The service answered with status ${status}.`
}

function partsOf(answer: unknown): readonly RefusedPart[] {
  const details = (answer as { error?: { details?: unknown } } | undefined)?.error?.details
  return Array.isArray(details) ? details.filter((one) => typeof one?.message === 'string') : []
}

/** `sub/group/server/database`, or a resource id. */
export function databasePathOf(text: string | undefined, command: string): string {
  if (text === undefined)
    throw new OperatorError(`Say which database: --database. See 'masquerade help ${command}'.`, {
      exitCode: 2,
    })
  const id =
    /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/[^/]+\/servers\/([^/]+)\/databases\/([^/]+)$/i.exec(
      text,
    )
  const names = id ? id.slice(1) : text.split('/')
  if (names.length !== 4 || names.some((name) => name.trim() === ''))
    throw new OperatorError(
      `'${text.slice(0, 200)}' is not a database: it must be subscription/group/server/database, or an id.`,
      { exitCode: 2 },
    )
  return `${serverPathOf(names.slice(0, 3))}/databases/${encodeURIComponent(names[3] ?? '')}`
}

export function serverPathOf(names: readonly string[]): string {
  const [subscription = '', group = '', server = ''] = names.map(encodeURIComponent)
  return `/subscriptions/${subscription}/resourceGroups/${group}/providers/Vendor.Sql/servers/${server}`
}
