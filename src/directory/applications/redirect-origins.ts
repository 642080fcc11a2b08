import type { Query } from '../../db/query.ts'
import { loopbackHosts } from '../../kernel/network.ts'
import { readSignInWays, type SignInProperties } from './redirect-uris.ts'

/**
 * The origin of a redirect address, for which people consent. Ports of a loopback address are not told apart: native
 * applications take any. Undefined: there is no address.
 */
export function readRedirectOrigin(uri: unknown): string | undefined {
  const url = typeof uri === 'string' ? URL.parse(uri) : null
  if (!url) return undefined
  return `${url.protocol}//${loopbackHosts.includes(url.hostname) ? url.hostname : url.host}`
}

/** The origins at which the application of a service principal is answered. */
async function listRedirectOrigins(
  tx: Query,
  tenantId: string,
  servicePrincipalId: string,
): Promise<string[]> {
  const rows = await tx<{ properties: SignInProperties }[]>`
    select application.properties from directory_object client
    join directory_object application on application.tenant_id = client.tenant_id
      and application.kind = 'application' and application.app_id = client.app_id
    where client.tenant_id = ${tenantId} and client.id = ${servicePrincipalId}`
  const uris = rows.flatMap(({ properties }) => readSignInWays(properties).redirectUris)
  return [...new Set(uris.map(readRedirectOrigin))].filter((origin) => origin !== undefined)
}

/**
 * The origins of a consent that an administrator gives. For one user it is for the addresses at which the
 * application is answered now, as if the user had given it there: one that is answered later is asked about on a page.
 */
export async function listOriginsFor(
  tx: Query,
  tenantId: string,
  servicePrincipalId: string,
  userId: string | null,
): Promise<string[]> {
  return userId === null ? [] : await listRedirectOrigins(tx, tenantId, servicePrincipalId)
}
