import type { Params } from '../auth/permission.ts'
import { fail } from '../kernel/problem.ts'

/** The path of a server. Names keep the case in which they were written. */
export interface ServerPlace {
  readonly subscriptionId: string
  readonly resourceGroupName: string
  readonly serverName: string
}

export interface DatabasePlace extends ServerPlace {
  readonly databaseName: string
}

export const canonicalNamespace = 'Vendor.Sql'

export const serverPath =
  '/subscriptions/:subscriptionId/resourceGroups/:resourceGroupName/providers/Vendor.Sql/servers/:serverName'
export const databasePath = `${serverPath}/databases/:databaseName`
export const policyPath = `${databasePath}/dataMaskingPolicies/Default`

export function readServerPlace(params: Params): ServerPlace {
  return {
    subscriptionId: checkName(params, 'subscriptionId'),
    resourceGroupName: checkName(params, 'resourceGroupName'),
    serverName: checkName(params, 'serverName'),
  }
}

export function readDatabasePlace(params: Params): DatabasePlace {
  return { ...readServerPlace(params), databaseName: checkName(params, 'databaseName') }
}

// Characters that make a path ambiguous or cannot be stored.
const forbidden = /[\p{Cc}\p{Cs}/\\?#%]/u

/** Names of everything but rules and mappings: they are parts of scopes, so a name must never read like a longer path. */
export function checkName(params: Params, parameter: string): string {
  const name = params[parameter] ?? ''
  const reason =
    name === '' || [...name].length > 128 || Buffer.byteLength(name) > 256
      ? 'it must have 1 to 128 characters, at most 256 bytes in UTF-8'
      : forbidden.test(name)
        ? 'control characters and / \\ ? # % are not allowed'
        : name.trim() !== name || /^\.+$/.test(name)
          ? 'it must not begin or end with a space, nor be of dots alone'
          : undefined
  if (reason) fail('InvalidResourceName', { parameter, reason }, { target: parameter })
  return name
}

/** Names of rules and mappings, which are parts of no scope: almost anything goes. */
export function checkFreeName(params: Params, parameter: string): string {
  const name = params[parameter] ?? ''
  const length = [...name].length
  const reason =
    length < 1 || length > 128
      ? 'it must have 1 to 128 characters'
      : /[\p{Cc}\p{Cs}]/u.test(name)
        ? 'control characters are not allowed'
        : undefined
  if (reason) fail('InvalidResourceName', { parameter, reason }, { target: parameter })
  return name
}

/** A name as part of an id: what would end or split a path segment is percent-encoded, all else stays readable. */
export function asSegment(name: string): string {
  return name.replaceAll(/[/\\?#%]/g, (character) => encodeURIComponent(character))
}

/** The scope that the path parameters name, as far as there are any; `/` without a subscription. */
export function scopeOf(params: Params, namespace = canonicalNamespace): string {
  const { subscriptionId, resourceGroupName, serverName, databaseName } = params
  if (subscriptionId === undefined) return '/'
  let scope = `/subscriptions/${asSegment(subscriptionId)}`
  if (resourceGroupName !== undefined) scope += `/resourceGroups/${asSegment(resourceGroupName)}`
  if (serverName !== undefined) scope += `/providers/${namespace}/servers/${asSegment(serverName)}`
  if (databaseName !== undefined) scope += `/databases/${asSegment(databaseName)}`
  return scope
}

/** The id of the resource at a path, under the namespace that the caller used. */
export function fillPath(path: string, values: Params, namespace: string): string {
  return path
    .replace(canonicalNamespace, () => namespace)
    .replaceAll(/:(\w+)/g, (_all, parameter: string) => asSegment(values[parameter] ?? ''))
}

export function idOf(place: ServerPlace | DatabasePlace, namespace: string): string {
  return scopeOf({ ...place }, namespace)
}

/** How a place is looked up: the canonical id in lower case. */
export function keyOf(place: ServerPlace | DatabasePlace): string {
  return fold(idOf(place, canonicalNamespace))
}

/** One folding for all names: that of JavaScript, on every node and database alike. */
export function fold(name: string): string {
  return name.toLowerCase()
}
