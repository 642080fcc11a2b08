import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import type { Operation } from '../../src/api/operation.ts'
import { directoryRoom } from '../../src/directory/room.ts'
import { type DescribedRoom, describeApi } from '../../src/http/description/describe-api.ts'
import { openApiPath } from '../../src/http/description/describe-operation.ts'
import { normalizeUrl } from '../../src/http/normalize-url.ts'
import { castPattern, pathPrefix } from '../../src/kernel/surface.ts'
import { maskingRoom } from '../../src/masking/room.ts'

type Json = Record<string, unknown>

interface Response {
  readonly $ref?: string
  readonly content?: Record<string, { readonly schema: object }>
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { responses: Record<string, Response> }>>>>
  readonly components: { readonly responses: Readonly<Record<string, Response>> }
}

const require = createRequire(import.meta.url)

export const rooms: readonly DescribedRoom[] = [
  maskingRoom({ providerAliases: ['Microsoft.Sql'] } as never),
  directoryRoom({} as never),
]

let opened: { readonly document: Document; readonly ajv: Ajv2020 } | undefined

/** The description of the API and a validator that knows its schemas; objects have no property that it does not name. */
export function openDescription() {
  if (opened) return opened
  const { Ajv2020: Ajv } = require('ajv/dist/2020.js') as { Ajv2020: typeof Ajv2020 }
  const addFormats = require('ajv-formats') as (ajv: Ajv2020) => void
  const document = describeApi(rooms, { version: '0', origin: 'https://localhost' }) as Document
  const ajv = new Ajv({ strict: false, validateSchema: false, addUsedSchema: false })
  addFormats(ajv)
  ajv.addSchema(close(document) as object, 'api')
  opened = { document, ajv }
  return opened
}

/** Objects are closed where a schema names properties and does not say that there are others. */
function close(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(close)
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, close(part)])) as Json
  if (typeof inner.type === 'string' && inner.type !== 'object') return inner
  const isObject = [inner.type].flat().includes('object') && typeof inner.properties === 'object'
  return isObject && inner.additionalProperties === undefined
    ? { ...inner, additionalProperties: false }
    : inner
}

interface Step {
  readonly next: Map<string, Step>
  readonly found: Map<string, string>
}

const newStep = (): Step => ({ next: new Map(), found: new Map() })
const isCast = new RegExp(castPattern, 'i')
let routes: Step | undefined

function addRoute(root: Step, operation: Operation<never>, path: string, described: string): void {
  let step = root
  for (const segment of (pathPrefix[operation.surface] + path).toLowerCase().split('/')) {
    const key = segment === ':cast' ? segment : segment.startsWith(':') ? ':' : segment
    const next = step.next.get(key) ?? newStep()
    step.next.set(key, next)
    step = next
  }
  step.found.set(operation.method, described)
}

function openRoutes(): Step {
  const root = newStep()
  for (const operation of rooms.flatMap(({ operations }) => operations)) {
    for (const path of operation.paths) {
      // One spelling of the name of a type is described.
      const described = path.replace(/\/(?:microsoft\.)?graph\.(?=\w+(\/|$))/, '/vendor.graph.')
      addRoute(root, operation, path, openApiPath(operation, described))
    }
    const first = openApiPath(operation, operation.paths[0] ?? '')
    for (const path of operation.aliasPaths ?? []) addRoute(root, operation, path, first)
  }
  return root
}

/** The path in the description that serves a request; undefined where none does. */
function findPath(method: string, url: string): string | undefined {
  routes ??= openRoutes()
  const segments = (normalizeUrl(url).split('?', 1)[0] ?? '').replace(/\/$/, '').split('/')
  const walk = (step: Step, at: number): string | undefined => {
    if (at === segments.length) return step.found.get(method)
    const exact = step.next.get(decode(segments[at] ?? '').toLowerCase())
    const cast = isCast.test(segments[at] ?? '') ? step.next.get(':cast') : undefined
    const any = segments[at] === '' ? undefined : step.next.get(':')
    return (exact && walk(exact, at + 1)) ?? (cast && walk(cast, at + 1)) ?? (any && walk(any, at + 1))
  }
  return walk(routes, 0)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

interface Seen {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Fails unless the answer to a request is one that the description has: status, content type, shape. */
export function checkDescribed(method: string, url: string, { status, headers, text }: Seen): void {
  if (method === 'HEAD' || method === 'OPTIONS' || status === 405 || status === 501) return
  const path = findPath(method, url)
  if (path === undefined) return
  const { document, ajv } = openDescription()
  const title = `${method} ${path} → ${status}`
  const { responses } = document.paths[path]?.[method.toLowerCase()] ?? { responses: {} }
  const given = responses[status]
  assert.ok(given, `${title}: the description has no such status (${text.slice(0, 300)})`)
  const place = given.$ref ?? `#/paths/${escapePointer(path)}/${method.toLowerCase()}/responses/${status}`
  const { content } = given.$ref
    ? (document.components.responses[place.split('/').at(-1) ?? ''] ?? {})
    : given
  if (!content) assert.equal(text, '', `${title}: the description has no body`)
  if (!content) return
  const [media = ''] = Object.keys(content)
  assert.equal(headers.get('content-type')?.split(';')[0], media, `${title}: content type`)
  if (media === 'application/xml') return
  const validate = ajv.getSchema(`api${place}/content/${escapePointer(media)}/schema`)
  assert.ok(validate, `${title}: no schema at ${place}`)
  if (validate(JSON.parse(text))) return
  const faults = validate.errors?.map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
  assert.fail(`${title} is not as described: ${faults?.join('; ')}\n${text.slice(0, 600)}`)
}

function escapePointer(segment: string): string {
  return encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'))
}
