import type { Query } from '../../db/query.ts'
import { loopbackHosts } from '../../kernel/network.ts'
import type { JsonObject } from '../entities/property.ts'
import { isJsonObject } from '../entities/storable.ts'

/**
 * The origin of a redirect address, for which people consent. Ports of a loopback address are not told apart: native
 * applications take any. Undefined: there is no address.
 */
export function readRedirectOrigin(uri: unknown): string | undefined {
  const url = typeof uri === 'string' ? URL.parse(uri) : null
  if (!url) return undefined
  return `${url.protocol}//${loopbackHosts.includes(url.hostname) ? url.hostname : url.host}`
}

/** The origins that the application of a service principal has addresses at. */
async function listRedirectOrigins(
  tx: Query,
  tenantId: string,
  servicePrincipalId: string,
): Promise<string[]> {
  const rows = await tx<{ properties: JsonObject }[]>`
    select application.properties from directory_object client
    join directory_object application on application.tenant_id = client.tenant_id
      and application.kind = 'application' and application.app_id = client.app_id
    where client.tenant_id = ${tenantId} and client.id = ${servicePrincipalId}`
  const uris = rows.flatMap(({ properties: { web, spa, publicClient } }) =>
    [web, spa, publicClient].flatMap((kind) => (isJsonObject(kind) ? [kind.redirectUris].flat() : [])),
  )
  return [...new Set(uris.map(readRedirectOrigin))].filter((origin) => origin !== undefined)
}

/**
 * The origins of a consent that an administrator gives. For one user it is for the addresses that the application has
 * now, as if the user had given it there.
 */
export async function listOriginsFor(
  tx: Query,
  tenantId: string,
  servicePrincipalId: string,
  userId: string | null,
): Promise<string[]> {
  return userId === null ? [] : await listRedirectOrigins(tx, tenantId, servicePrincipalId)
}
