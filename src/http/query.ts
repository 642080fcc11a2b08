import type { Operation } from '../api/operation.ts'
import { fail } from '../kernel/problem.ts'
import type { ApiRequest } from './exchange.ts'

/**
 * Query options by name, as strings. An option the operation does not know is refused, never ignored: a filter that
 * silently does nothing shows more than was asked for.
 */
export function readQuery(operation: Operation, request: ApiRequest): Record<string, string> {
  const given = request.query
  if (isPlain(operation) && isEmpty(given)) return {}
  const sent = { ...given }
  if (operation.apiVersions) takeApiVersion(sent, operation.apiVersions)
  const known = operation.query?.properties ?? {}
  const names = new Map(Object.keys(known).map((name) => [name.toLowerCase(), name]))
  const query: Record<string, string> = {}
  for (const [option, value] of Object.entries(sent)) {
    // OData allows its own options with and without the dollar sign.
    const name = names.get(option.toLowerCase()) ?? names.get(`$${option.toLowerCase()}`)
    if (name === undefined)
      fail('InvalidQueryOption', { option: option.slice(0, 100), reason: 'is not supported here' })
    if (typeof value !== 'string' || query[name] !== undefined)
      fail('InvalidQueryOption', { option, reason: 'is given more than once' })
    query[name] = value
  }
  for (const name of operation.query?.required ?? [])
    if (query[name] === undefined) fail('InvalidQueryOption', { option: name, reason: 'is required' })
  return query
}

function isEmpty(options: object): boolean {
  for (const _name in options) return false
  return true
}

/** True when the operation asks for no option. */
function isPlain({ apiVersions, query }: Operation): boolean {
  return apiVersions === undefined && (query?.required ?? []).length === 0
}

/** The version comes first: which options there are depends on it. */
function takeApiVersion(sent: ApiRequest['query'], supported: readonly string[]): void {
  const name = Object.keys(sent).find((option) => option.toLowerCase() === 'api-version')
  const version = name === undefined ? undefined : sent[name]
  if (name === undefined || version === undefined || version === '')
    fail('MissingApiVersionParameter', { supported: supported.join(', ') })
  if (typeof version !== 'string')
    fail('InvalidQueryOption', { option: name, reason: 'is given more than once' })
  if (!supported.includes(version))
    fail('InvalidApiVersionParameter', { version: version.slice(0, 100), supported: supported.join(', ') })
  delete sent[name]
}
