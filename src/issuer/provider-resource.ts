import { errors, type KoaContextWithOIDC, type ResourceServer } from 'oidc-provider'
import type { Identity } from '../auth/identity.ts'
import { isKnownPermission } from '../auth/known-permissions.ts'
import { signingAlgorithm } from '../auth/signing-keys.ts'
import type { Query } from '../db/query.ts'
import { accessTokenLifetimeSeconds } from './access-token.ts'
import { permissionsIn, resourceScopes } from './choose-granted.ts'
import { countSecondsOfProof } from './client-proof.ts'

/**
 * The one resource that tokens are for; another one, or a permission that does not exist, is refused. Its tokens last no longer than the
 * secret or certificate of the client (TOK-170).
 */
export async function describeResource(
  ctx: KoaContextWithOIDC,
  resource: string,
  identity: Identity,
  sql: Query,
): Promise<ResourceServer> {
  if (resource !== identity.origin()) throw new errors.InvalidTarget('the resource is not known here')
  for (const name of permissionsIn(ctx.oidc.requestParamScopes))
    if (!isKnownPermission(name)) throw new errors.InvalidScope('there is no such permission', name)
  keepOfflineAccess(ctx)
  const secondsOfProof = await countSecondsOfProof(ctx, sql, identity.tenantId)
  return {
    scope: resourceScopes.join(' '),
    audience: resource,
    accessTokenTTL: Math.min(accessTokenLifetimeSeconds, secondsOfProof ?? accessTokenLifetimeSeconds),
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
