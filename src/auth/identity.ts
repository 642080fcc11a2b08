import { bracketHost, isEveryInterface, loopbackHosts } from '../kernel/network.ts'

/** Personal accounts belong to this tenant, whatever directory they visit. */
export const consumerTenantId = '9188040d-6c67-4c5b-b112-36a304b66dad'

/** The tenant, issuer and audiences that our own tokens name. */
export interface Identity {
  readonly tenantId: string
  /** Origin in whose name tokens are issued. */
  origin(): string
  /** `iss` of our tokens, and the base of the discovery document. */
  issuer(): string
  /** True for a resource that a token may be for; a trailing slash makes no difference. */
  isAudience(resource: string): boolean
}

export interface Place {
  readonly publicUrl: string | undefined
  readonly host: string
  readonly httpsPort: number
}

/** The official clients speak HTTPS only, so that is the origin we go by. */
export function publicOrigin({ publicUrl, host, httpsPort }: Place): string {
  if (publicUrl !== undefined) return new URL(publicUrl).origin
  const name = bracketHost(host)
  const isLocal = isEveryInterface(host) || loopbackHosts.includes(name)
  return new URL(`https://${isLocal ? 'localhost' : name}:${httpsPort}`).origin
}

export function issuerOf(origin: string, tenantId: string): string {
  return `${origin}/${tenantId}/v2.0`
}

/** `origin` is asked each time: with port 0 it is known only once the service listens. */
export function createIdentity(
  tenantId: string,
  origin: () => string,
  audiences: readonly string[],
): Identity {
  const accepted = new Set(audiences.map(withoutSlash))
  return {
    tenantId,
    origin,
    issuer: () => issuerOf(origin(), tenantId),
    isAudience: (resource) => accepted.has(withoutSlash(resource)) || withoutSlash(resource) === origin(),
  }
}

function withoutSlash(resource: string): string {
  return resource.replace(/\/$/, '')
}
