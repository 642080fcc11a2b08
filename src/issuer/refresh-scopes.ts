import { errors, type KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { Query } from '../db/query.ts'
import { listDelegatedPermissions } from '../directory/applications/granted-permissions.ts'
import { requireAssignment } from './app-roles.ts'
import { permissionsIn, resourceScopes } from './choose-granted.ts'
import { clientFactsOf } from './client-facts.ts'
import { readSignInOrigin } from './sign-in-origin.ts'
import { requireStandingSignIn } from './sign-in-standing.ts'

/**
 * Lets a refresh ask for other permissions than the sign-in did, as the official clients do for their second API. The
 * library holds a refresh to the scopes of the refresh token; `requireConsented` refuses what was not consented.
 */
export function widenRefreshScopes(provider: Provider): void {
  Object.defineProperty(provider.RefreshToken.prototype, 'scopes', {
    get(this: { scope?: string }): Set<string> {
      const own = this.scope?.split(' ') ?? []
      const params = Provider.ctx?.oidc.params
      const isRefresh = params?.grant_type === 'refresh_token' && typeof params.scope === 'string'
      return new Set(isRefresh ? [...own, ...resourceScopes] : own)
    },
  })
}

/**
 * Refuses a refresh for another resource, for permissions that the sign-in did not request and no consent covers, of a sign-in that no
 * longer stands, or of a person without a required assignment. It runs before the refresh token is used up: a refused client keeps the token and may send it again.
 */
export function requireConsented(sql: Query, tenantId: string) {
  return async (ctx: KoaContextWithOIDC): Promise<void> => {
    const { client, params, requestParamScopes } = ctx.oidc
    const token = ctx.oidc.entities.RefreshToken
    if (!client || !token?.accountId) throw new Error('a refresh without a client or a person')
    for (const resource of [params?.resource ?? []].flat())
      if (!token.resourceIndicators.has(String(resource))) throw new errors.InvalidTarget()
    requireStandingSignIn(ctx, client)
    await requireAssignment(sql, tenantId, client, token.accountId)
    const asked = token.scope?.split(' ') ?? []
    const added = permissionsIn(requestParamScopes).filter((name) => !asked.includes(name))
    const facts = clientFactsOf(client)
    const origin = readSignInOrigin(ctx)
    const granted = await listDelegatedPermissions(sql, {
      tenantId,
      userId: token.accountId,
      origin,
      ...facts,
    })
    if (granted.length === 0 && !facts.firstParty)
      throw new errors.InvalidGrant('every consent of the person was withdrawn')
    const lacking = added.filter((name) => !granted.includes(name))
    if (lacking.length > 0)
      throw new errors.InvalidScope('these permissions have no consent', lacking.join(' '))
  }
}
