import { errors, type KoaContextWithOIDC, type ResourceServer } from 'oidc-provider'
import type { Identity } from '../auth/identity.ts'
import { isKnownPermission } from '../auth/known-permissions.ts'
import { signingAlgorithm } from '../auth/signing-keys.ts'
import { accessTokenLifetimeSeconds } from './access-token.ts'
import { permissionsIn, resourceScopes } from './choose-granted.ts'

/** The one resource that tokens are for; another one, or a permission that does not exist, is refused. */
export async function describeResource(
  ctx: KoaContextWithOIDC,
  resource: string,
  identity: Identity,
): Promise<ResourceServer> {
  if (resource !== identity.origin()) throw new errors.InvalidTarget('the resource is not known here')
  for (const name of permissionsIn(ctx.oidc.requestParamScopes))
    if (!isKnownPermission(name)) throw new errors.InvalidScope('there is no such permission', name)
  keepOfflineAccess(ctx)
  return {
    scope: resourceScopes.join(' '),
    audience: resource,
    accessTokenTTL: accessTokenLifetimeSeconds,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: signingAlgorithm } },
  }
}

/**
 * The library drops the scope from a request without `prompt=consent`. The common clients never send that; consent
 * is asked for here whenever it is missing, so the scope stays.
 */
function keepOfflineAccess(ctx: KoaContextWithOIDC): void {
  const { route, params, client } = ctx.oidc
  if (route !== 'authorization' || !params || !client?.grantTypeAllowed('refresh_token')) return
  const asked = typeof ctx.query.scope === 'string' ? ctx.query.scope.split(' ') : []
  if (asked.includes('offline_access') && !ctx.oidc.requestParamScopes.has('offline_access'))
    params.scope = [...ctx.oidc.requestParamScopes, 'offline_access'].join(' ')
}
