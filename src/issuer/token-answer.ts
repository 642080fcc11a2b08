import { decodeJwt } from 'jose'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { defaultScope } from '../auth/known-permissions.ts'
import { permissionsIn } from './choose-granted.ts'
import { routes, userinfoRoute } from './route.ts'

const discoveryRoute = '/.well-known/openid-configuration'

/** The request of a client in its own words, which the answer speaks too. */
export interface AskedFor {
  readonly scope: string
  readonly resource: string | null
  /** The endpoint of the older clients, which name a resource and no scopes. */
  readonly isFirstVersion: boolean
  /** MSAL asks which account the tokens are of, to keep them by it. */
  readonly wantsClientInfo: boolean
}

const askedFor = new WeakMap<object, AskedFor>()

export function rememberAskedFor(request: object, asked: AskedFor): void {
  askedFor.set(request, asked)
}

/** The parameter in which a device code keeps the scopes that the device asked for. */
export const askedScopeParameter = 'asked_scope'

interface TokenAnswer {
  scope?: string
  readonly access_token?: string
  readonly expires_in?: number
  readonly id_token?: string
}

/**
 * Gives answers the form that the official clients keep tokens by: an application's has no scopes, a person's has the
 * full names that the client asked for. A client that finds other names does not find the token again.
 */
export async function shapeTokenAnswer(ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> {
  await next()
  if (ctx.path === discoveryRoute && ctx.status === 200) addUserinfo(ctx.body as { token_endpoint: string })
  if (ctx.path !== routes.token || ctx.status !== 200) return
  const answer = ctx.body as TokenAnswer
  const asked = askedFor.get(ctx.req)
  const { scope, ...rest } = answer
  if (ctx.oidc.params?.grant_type === 'client_credentials') ctx.body = rest
  else ctx.body = { ...rest, scope: nameScopes(answer, asked?.scope || scopeOfDevice(ctx)) }
  if (asked?.wantsClientInfo && rest.id_token)
    Object.assign(ctx.body as object, { client_info: describeAccount(rest.id_token) })
  if (asked?.isFirstVersion) Object.assign(ctx.body as object, describeFirstVersion(rest, asked.resource))
}

/** The account in the two parts that MSAL joins: the person's id, and the tenant's. */
function describeAccount(idToken: string): string {
  const { oid, tid } = decodeJwt(idToken)
  return Buffer.from(JSON.stringify({ uid: oid, utid: tid })).toString('base64url')
}

/** The endpoint is ours: the library's own knows nothing of tokens that are for a resource. */
function addUserinfo(document: { token_endpoint: string; userinfo_endpoint?: string }): void {
  document.userinfo_endpoint = document.token_endpoint.replace(routes.token, userinfoRoute)
}

function scopeOfDevice({ oidc }: KoaContextWithOIDC): string {
  const params = oidc.entities.DeviceCode?.params as Record<string, unknown> | undefined
  return String(params?.[askedScopeParameter] ?? '')
}

function nameScopes({ scope = '', access_token: token = '' }: TokenAnswer, asked: string): string {
  const pieces = asked.split(' ').filter(Boolean)
  const defaults = pieces.filter((piece) => piece.endsWith(`/${defaultScope}`))
  const permissions = new Set(permissionsIn(String(decodeJwt(token).scp ?? '').split(' ')))
  const named = [...permissions].map(
    (name) =>
      pieces.find((piece) => piece.endsWith(`/${name}`)) ??
      (defaults[0]?.slice(0, -defaultScope.length) ?? '') + name,
  )
  const signIn = scope
    .split(' ')
    .filter((name) => permissionsIn([name]).length === 0 && name !== defaultScope)
  return [...named, ...defaults, ...signIn].join(' ')
}

/** Members of the older answer, in which numbers are texts. */
function describeFirstVersion({ expires_in = 0 }: TokenAnswer, resource: string | null) {
  const now = Math.floor(Date.now() / 1000)
  return {
    expires_in: String(expires_in),
    ext_expires_in: String(expires_in),
    not_before: String(now),
    expires_on: String(now + expires_in),
    ...(resource !== null && { resource }),
  }
}
