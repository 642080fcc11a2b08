import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from 'oidc-provider'
import type { Logger } from 'pino'
import type { Identity } from '../auth/identity.ts'
import type { Auth } from '../auth/open-auth.ts'
import type { SigningKeys } from '../auth/signing-keys.ts'
import type { Database } from '../db/database.ts'
import type { RequireRoom } from '../db/store-health.ts'
import { preparePasswords } from '../directory/accounts/password.ts'
import { isVerifiedDomain } from '../directory/accounts/verified-domain.ts'
import { ensureFirstParty } from '../directory/first-start/ensure-first-party.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { isSafeOrigin, originOf } from './address.ts'
import { describeOutage } from './describe-outage.ts'
import { loadIssuerSecret } from './issuer-secret.ts'
import { limitRequest } from './limit-request.ts'
import { normalizeRequest } from './normalize-request.ts'
import { createProvider } from './provider.ts'
import type { RecordSignIn } from './record-sign-ins.ts'
import { refuse, refuseLong } from './refuse.ts'
import {
  cloudRoute,
  instanceRoute,
  isEndpoint,
  methodsOf,
  readTarget,
  routes,
  type Target,
  userinfoRoute,
} from './route.ts'
import { sendCloud } from './send-cloud.ts'
import { purgeState } from './state-adapter.ts'
import { sendUserinfo } from './userinfo.ts'

export interface IssuerOptions extends Pick<Auth, 'gatekeeper' | 'findRevoked'> {
  readonly database: Database
  readonly identity: Identity
  readonly secretBox: SecretBox
  readonly signingKeys: SigningKeys
  /** Host names under which clients may reach the service. */
  readonly hostNames: readonly string[]
  /** Where the portal is served; known once the service listens. */
  readonly portalUris: () => readonly string[]
  readonly log: Logger
  readonly recordSignIn: RecordSignIn
  readonly requireRoom: RequireRoom
}

/** The token service. It gets requests before the APIs do, in their raw form. */
export interface Issuer {
  owns(url: string): boolean
  handle(request: IncomingMessage, response: ServerResponse): void
  close(): void
}

const purgeMs = 5 * 60 * 1000
/** Those that any path of the service has. */
const knownMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export async function openIssuer(options: IssuerOptions): Promise<Issuer> {
  const { database, identity, secretBox, signingKeys, log } = options
  await ensureFirstParty(database, identity.tenantId)
  await preparePasswords()
  const secret = await loadIssuerSecret(database.sql, secretBox)
  let current: { readonly name: string; readonly handle: ReturnType<Provider['callback']> } | undefined

  const handleByProvider = (request: IncomingMessage, response: ServerResponse) => {
    const key = signingKeys.current()
    const keys = [key, ...signingKeys.list().filter(({ kid }) => kid !== key.kid)]
    const name = [identity.issuer(), ...keys.map(({ kid }) => kid)].join(' ')
    if (current?.name !== name)
      current = {
        name,
        handle: createProvider({ ...options, secret }, keys).callback(),
      }
    return current.handle(request, response)
  }
  const purge = setInterval(() => {
    purgeState(database.sql).catch((err: unknown) =>
      log.warn({ err }, 'old sign-in state could not be purged'),
    )
  }, purgeMs)
  purge.unref()

  return {
    owns: (url) => readTarget(url) !== null,
    handle(request, response) {
      answer(options, handleByProvider, request, response).catch((err: unknown) => {
        log.error({ err }, 'unexpected error in the token service')
        if (response.headersSent) return response.destroy()
        const outage = describeOutage(err)
        if (!outage) return refuse(response, 500, 'server_error', 'Something went wrong.')
        response.setHeader('retry-after', outage.retryAfter)
        refuse(response, outage.status, outage.error, outage.description)
      })
    },
    close: () => clearInterval(purge),
  }
}

async function answer(
  options: IssuerOptions,
  handleByProvider: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { identity, hostNames, signingKeys } = options
  const target = readTarget(request.url ?? '')
  if (!target) throw new Error('a request that is not the token service’s')
  response.setHeader('x-content-type-options', 'nosniff')
  response.setHeader('referrer-policy', 'no-referrer')
  const [path = ''] = target.url.split('?', 1)
  const method = request.method ?? ''
  if (!knownMethods.includes(method))
    return refuse(response, 501, 'invalid_request', 'The service does not know this HTTP method.')
  if (!isEndpoint(path)) return refuse(response, 404, 'invalid_request', 'There is no such endpoint.')
  const origin = originOf(request, identity.origin(), hostNames)
  if (!isSafeOrigin(origin, identity.origin()))
    return refuse(
      response,
      400,
      'invalid_request',
      'Tokens are issued over HTTPS only. Behind a proxy, MASQUERADE_PUBLIC_URL names the address.',
    )
  if (!(await isOurTenant(options, target)))
    return refuse(response, 400, 'invalid_tenant', 'There is no such tenant here.')
  const allowed = methodsOf(path)
  if (method !== 'OPTIONS' && !allowed.includes(method)) {
    response.setHeader('allow', allowed.join(', '))
    return refuse(response, 405, 'invalid_request', `The endpoint takes ${allowed.join(', ')}.`)
  }
  if (path === routes.jwks && request.method === 'GET') return sendKeys(response, signingKeys)
  if (path === userinfoRoute)
    return sendUserinfo({ sql: options.database.sql, gatekeeper: options.gatekeeper }, request, response)
  if (path === cloudRoute) return sendCloud(response, target.url, origin)
  if (path === instanceRoute) return sendInstance(response, target.url, origin, identity)
  const limited = await limitRequest(request, target.url)
  if (!limited) return refuseLong(response, path)
  const normal = await normalizeRequest(limited, target, { identity, hostNames })
  await handleByProvider(readdress(normal.request, origin, target, normal.url, identity), response)
}

/** The library makes URLs from the mount path and these headers; a client's own forwarding headers end here. */
function readdress(
  request: IncomingMessage,
  origin: string,
  target: Target,
  url: string,
  identity: Identity,
): IncomingMessage {
  const isDocument = url.startsWith('/.well-known/')
  const mount = isDocument ? `/${identity.tenantId}` : target.tenant === undefined ? '' : `/${target.tenant}`
  const { protocol, host } = new URL(origin)
  delete request.headers['x-forwarded-for']
  request.headers['x-forwarded-proto'] = protocol.slice(0, -1)
  request.headers['x-forwarded-host'] = host
  request.url = url
  return Object.assign(request, { originalUrl: mount + url })
}

const anyTenant = ['common', 'organizations']

/** Our own id, a word for any tenant, or one of our verified domains. */
async function isOurTenant({ database, identity }: IssuerOptions, { tenant }: Target): Promise<boolean> {
  if (tenant === undefined || anyTenant.includes(tenant.toLowerCase())) return true
  if (tenant.toLowerCase() === identity.tenantId) return true
  return isVerifiedDomain(database.sql, identity.tenantId, tenant)
}

function sendKeys(response: ServerResponse, signingKeys: SigningKeys): void {
  response
    .writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'public, max-age=300',
      'access-control-allow-origin': '*',
    })
    .end(JSON.stringify(signingKeys.jwks()))
}

/** Answers which hosts are one authority: this one, for itself alone. */
function sendInstance(response: ServerResponse, url: string, origin: string, { tenantId }: Identity): void {
  const asked = new URL(url, origin).searchParams.get('authorization_endpoint') ?? ''
  const { host } = new URL(origin)
  if (URL.parse(asked)?.host !== host) {
    refuse(response, 400, 'invalid_instance', 'The authorization_endpoint is not of this service.')
    return
  }
  const body = {
    tenant_discovery_endpoint: `${origin}/${tenantId}/v2.0/.well-known/openid-configuration`,
    'api-version': '1.1',
    metadata: [{ preferred_network: host, preferred_cache: host, aliases: [host] }],
  }
  response
    .writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'access-control-allow-origin': '*' })
    .end(JSON.stringify(body))
}
