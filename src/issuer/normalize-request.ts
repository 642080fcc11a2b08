import type { IncomingMessage } from 'node:http'
import type { Identity } from '../auth/identity.ts'
import { defaultScope } from '../auth/known-permissions.ts'
import { isOwnHost } from './address.ts'
import { readForm } from './read-form.ts'
import { readScopes } from './read-scopes.ts'
import { replaceBody } from './replace-body.ts'
import { deviceGrant, onBehalfOfGrant, routes, type Target } from './route.ts'
import { askedScopeParameter, rememberAskedFor } from './token-answer.ts'

export interface ResourceNames {
  readonly identity: Identity
  readonly hostNames: readonly string[]
}

/** Grants whose scopes say what the token is to be for. */
const scopedGrants = ['client_credentials', 'refresh_token', onBehalfOfGrant]

/**
 * Clients name the resource inside the scopes (`https://graph.microsoft.com/User.Read`); the library wants bare
 * scopes and a resource beside them. All our names are one resource. A name that is not ours stays as it is, for the
 * library to refuse in the way of the flow.
 */
export async function normalizeRequest(
  request: IncomingMessage,
  { url, isFirstVersion }: Pick<Target, 'url' | 'isFirstVersion'>,
  names: ResourceNames,
): Promise<{ request: IncomingMessage; url: string }> {
  const [path = '', query = ''] = url.split('?', 2)
  if (path === routes.authorization && request.method === 'GET') {
    const parameters = new URLSearchParams(query)
    normalizeParameters(parameters, names)
    return { request, url: `${path}?${parameters}` }
  }
  const isForm = path === routes.token || path === routes.device_authorization
  if (!isForm || request.method !== 'POST') return { request, url }
  const form = await readForm(request)
  if (!form) return { request, url }
  // The official clients' older name for it.
  if (form.get('grant_type') === 'device_code') form.set('grant_type', deviceGrant)
  const grant = form.get('grant_type') ?? ''
  const [scope, resource] = [form.get('scope') ?? '', form.get('resource')]
  form.delete(askedScopeParameter)
  if (path === routes.device_authorization) form.set(askedScopeParameter, scope)
  if (path === routes.device_authorization || scopedGrants.includes(grant))
    normalizeParameters(form, names, grant)
  const normal = replaceBody(request, Buffer.from(form.toString()))
  const wantsClientInfo = form.get('client_info') === '1'
  rememberAskedFor(normal, { scope, resource, isFirstVersion, wantsClientInfo })
  return { request: normal, url }
}

export function normalizeParameters(
  parameters: URLSearchParams,
  { identity, hostNames }: ResourceNames,
  grant = '',
): void {
  // Given twice, a parameter is refused by the library; which of the two would be meant?
  if (parameters.getAll('scope').length > 1) return
  const { names, resources } = readScopes(parameters.get('scope') ?? '')
  const asked = [...parameters.getAll('resource'), ...resources]
  parameters.delete('resource')
  const isOurs = (resource: string) =>
    identity.isAudience(resource) || isOwnHost(URL.parse(resource)?.hostname ?? '', hostNames)
  const foreign = asked.filter((resource) => !isOurs(resource))
  for (const resource of foreign.length > 0 ? foreign : [identity.origin()])
    parameters.append('resource', resource)
  if (names.length > 0) parameters.set('scope', names.join(' '))
  else if (grant === 'client_credentials') parameters.set('scope', defaultScope)
}
