/** Endpoints of the token service, as they stand behind the tenant's segment. */
export const routes = {
  authorization: '/oauth2/v2.0/authorize',
  token: '/oauth2/v2.0/token',
  device_authorization: '/oauth2/v2.0/devicecode',
  code_verification: '/oauth2/v2.0/device',
  revocation: '/oauth2/v2.0/revoke',
  end_session: '/oauth2/v2.0/logout',
  jwks: '/discovery/v2.0/keys',
} as const

export const onBehalfOfGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

export const interactionRoute = '/oauth2/v2.0/sign-in'

export interface Target {
  /** The tenant's segment as sent; undefined: the path has none. */
  readonly tenant: string | undefined
  /** Path and query behind it. */
  readonly url: string
  /** True for the token endpoint of the older clients. */
  readonly isFirstVersion: boolean
}

/** Tells clients which hosts are one authority. */
export const instanceRoute = '/discovery/instance'
/** Tells clients of the management API where everything else is. */
export const cloudRoute = '/metadata/endpoints'
/** Tells a client who signed in. */
export const userinfoRoute = '/oidc/userinfo'
const firstTokenRoute = '/oauth2/token'
const needsTenant: ReadonlySet<string> = new Set([instanceRoute, firstTokenRoute])

const documents = '/\\.well-known/(?:openid-configuration|oauth-authorization-server)'
const owned = new RegExp(
  `^(?:/(?<tenant>[^/?]{1,253}))?(?:(?<endpoint>/(?:oauth2/v2\\.0|discovery/v2\\.0)/[^?]*|${instanceRoute}|${userinfoRoute}|${firstTokenRoute})|(?:/v2\\.0)?(?<document>${documents}))(?<query>\\?.*)?$`,
)
/** RFC 8414 puts the well-known part before the issuer's path. */
const inserted = new RegExp(`^(?<document>${documents})/(?<tenant>[^/?]{1,253})/v2\\.0(?<query>\\?.*)?$`)

const ownedWithoutTenant = new RegExp(`^(?<endpoint>${cloudRoute})(?<query>\\?.*)?$`)

/** Where in the token service a URL leads; null when it is not the token service's. */
export function readTarget(url: string): Target | null {
  const groups = (inserted.exec(url) ?? ownedWithoutTenant.exec(url) ?? owned.exec(url))?.groups
  if (!groups || (groups.tenant === undefined && needsTenant.has(groups.endpoint ?? ''))) return null
  const isFirstVersion = groups.endpoint === firstTokenRoute
  const path = isFirstVersion ? routes.token : (groups.endpoint ?? groups.document ?? '')
  return { tenant: groups.tenant, url: path + (groups.query ?? ''), isFirstVersion }
}

/** Routes that the uid of one sign-in follows. */
export const resumeRoutes: readonly string[] = [routes.authorization, routes.code_verification]

const ofOneSignIn = [...resumeRoutes, interactionRoute]
const single: ReadonlySet<string> = new Set([
  ...Object.values(routes),
  `${routes.end_session}/confirm`,
  `${routes.end_session}/success`,
  instanceRoute,
  cloudRoute,
  userinfoRoute,
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
])

/**
 * True for the one spelling of each endpoint. The library also takes other cases and a slash at the end, which checks that
 * stand before it would miss.
 */
export function isEndpoint(path: string): boolean {
  return single.has(path) || readUid(path, ofOneSignIn) !== undefined
}

/** The uid behind one of the parents; undefined for every other path. */
export function readUid(path: string, parents: readonly string[]): string | undefined {
  const [, parent = '', uid] = /^(.+)\/([\w-]{10,60})$/.exec(path) ?? []
  return parents.includes(parent) ? uid : undefined
}

const reads = ['GET', 'HEAD'] as const
const pages = [...reads, 'POST'] as const

/** Methods of each endpoint but OPTIONS, which browsers send to all; paths of one sign-in are pages. */
const methods: Readonly<Record<string, readonly string[]>> = {
  [routes.token]: ['POST'],
  [routes.device_authorization]: ['POST'],
  [routes.revocation]: ['POST'],
  [`${routes.end_session}/confirm`]: ['POST'],
  [`${routes.end_session}/success`]: reads,
  [routes.jwks]: reads,
  [instanceRoute]: reads,
  [cloudRoute]: reads,
  '/.well-known/openid-configuration': reads,
  '/.well-known/oauth-authorization-server': reads,
}

/** The methods of an endpoint (`isEndpoint`). */
export function methodsOf(path: string): readonly string[] {
  return methods[path] ?? pages
}
