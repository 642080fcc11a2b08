import { type Static, Type } from 'typebox'
import type { InnerAnswer, InnerRequest } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { isDirectoryPath, pathPrefix } from '../../kernel/surface.ts'

export const mostRequests = 20
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

// The server limits the head of a request from the network to the same order.
const longestUrl = 65_536
const longestHeader = 8_192

const ids = Type.Optional(Type.Union([Type.Array(Type.String(), { maxItems: mostRequests }), Type.Null()]))

/** Python's client writes `depends_on` where the others write `dependsOn`. */
export const batchedRequest = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 256 }),
    method: Type.String({ description: methods.join(', ') }),
    url: Type.String({ maxLength: longestUrl, description: 'Relative, with or without /v1.0.' }),
    headers: Type.Optional(
      Type.Union([Type.Record(Type.String(), Type.String({ maxLength: longestHeader })), Type.Null()]),
    ),
    body: Type.Optional(Type.Unknown({ description: 'JSON, or text in base64.' })),
    dependsOn: ids,
    depends_on: ids,
  },
  { additionalProperties: false },
)
export type BatchedRequest = Static<typeof batchedRequest>

/** Headers that count inside a batch. The others are about the connection, which is the batch's own. */
const knownHeaders: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'client-request-id',
  'consistencylevel',
  'content-encoding',
  'content-type',
  'if-match',
  'if-none-match',
  'prefer',
])

/** `baseUrl` is the address of the API as the client of the batch has it. */
export function readInner({ method, url, headers, body }: BatchedRequest, baseUrl: string): InnerRequest {
  const verb = method.toUpperCase()
  if (!methods.includes(verb)) refuse(`the method must be one of ${methods.join(', ')}`)
  const known = Object.entries(headers ?? {})
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => knownHeaders.has(name))
  for (const [name, value] of known)
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      refuse(`the header ${name} has a character that no header can have`)
  const sent = Object.fromEntries(known)
  return {
    method: verb,
    url: readUrl(url, baseUrl),
    headers: sent,
    body: readBody(body, sent['content-type'] ?? ''),
  }
}

/** The URL with the prefix of the directory. Dots in the path must not lead out of it. */
function readUrl(sent: string, baseUrl: string): string {
  const url = sent.startsWith(`${baseUrl}/`) ? sent.slice(baseUrl.length) : sent
  if (/^[a-z][a-z0-9+.-]*:|^[/\\]{2}/i.test(url)) refuse('the url is not relative')
  const path = url.startsWith('/') ? url : `/${url}`
  const parsed = URL.parse(
    isDirectoryPath(path.split('?', 1)[0] ?? '') ? path : pathPrefix.directory + path,
    'http://inner',
  )
  if (parsed?.host !== 'inner' || !isDirectoryPath(parsed.pathname))
    return refuse('the url does not lead into the directory API')
  return parsed.pathname + parsed.search
}

/** A string is text in base64, unless the type says that it is plain text; any other value is JSON. */
function readBody(body: unknown, contentType: string): string | undefined {
  if (body === undefined || body === null) return undefined
  if (typeof body !== 'string') return JSON.stringify(body)
  if (/^\s*text\//i.test(contentType)) return body
  if (!/^[\w+/-]*={0,2}$/.test(body)) refuse('a body that is a string must be in base64')
  return Buffer.from(body, 'base64').toString('utf8')
}

function refuse(reason: string): never {
  return fail('InvalidBatchedRequest', { reason })
}

// The length and the connection are the batch's.
const ownHeaders = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding'])

/** An answer as it stands in the answer to the batch. */
export function showAnswer({ id }: BatchedRequest, { status, headers, body }: InnerAnswer) {
  const shown = Object.entries(headers).filter(([name]) => !ownHeaders.has(name))
  const isJson = /^application\/json\b/i.test(headers['content-type'] ?? '')
  return {
    id,
    status,
    headers: Object.fromEntries(shown.map(([name, value]) => [spellHeader(name), value])),
    ...(body !== '' && { body: isJson ? (JSON.parse(body) as unknown) : body }),
  }
}

const spellings: Readonly<Record<string, string>> = { etag: 'ETag', 'odata-version': 'OData-Version' }

/** Clients look for `Content-Type` in these very letters: names in JSON are exact, those of HTTP are not. */
function spellHeader(name: string): string {
  if (name.startsWith('x-') || name.endsWith('request-id')) return name
  return spellings[name] ?? name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())
}
