import { decodeJwt } from 'jose'
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider'
import { defaultScope } from '../auth/known-permissions.ts'
import type { Auth } from '../auth/open-auth.ts'
import type { Query } from '../db/query.ts'
import { findActiveUser } from '../directory/accounts/find-active-user.ts'
import { listDelegatedPermissions } from '../directory/applications/granted-permissions.ts'
import { Problem } from '../kernel/problem.ts'
import type { ExchangedToken, TokenGrounds } from '../kernel/token-grounds.ts'
import { accessTokenLifetimeSeconds, keepOrigin } from './access-token.ts'
import { describeAccount } from './account.ts'
import { listAppRoles } from './app-roles.ts'
import { permissionsIn } from './choose-granted.ts'
import { clientFactsOf } from './client-facts.ts'
import { describeResource } from './provider-resource.ts'
import { onBehalfOfGrant } from './route.ts'

export interface AssertionCheck extends Pick<Auth, 'identity' | 'findRevoked'> {
  readonly sql: Query
  readonly openSession: Auth['gatekeeper']['openSession']
}

type Session = Awaited<ReturnType<AssertionCheck['openSession']>>

/**
 * Lets a confidential client that was called with the token of a person get one of its own for that person. It carries no
 * permission that the person's token lacks or that the client has no consent for, and lives no longer: otherwise a client
 * could turn any token that reaches it into all that it was ever consented.
 */
export function allowOnBehalfOf(provider: Provider, check: AssertionCheck): void {
  const issue = async (ctx: KoaContextWithOIDC) => {
    const { params, client } = ctx.oidc
    if (!client) throw new Error('a grant without a client')
    if (params?.requested_token_use !== 'on_behalf_of')
      throw new errors.InvalidRequest('requested_token_use must be on_behalf_of')
    const assertion = String(params.assertion ?? '')
    const session = await openSession(check, assertion)
    const expiresAt = readExpiry(assertion)
    const secondsLeft = expiresAt - Math.floor(Date.now() / 1000)
    // Tokens are taken some seconds after their end, for clocks that differ: exchanged in that time, one would begin anew.
    if (secondsLeft <= 0) throw new errors.InvalidGrant('the assertion has expired')
    const resource = check.identity.origin()
    const info = await describeResource(ctx, String(params.resource ?? resource), check.identity, check.sql)
    const chosen = await choosePermissions(check, ctx, session)
    const token = new provider.AccessToken({
      accountId: session.caller.objectId,
      client,
      gty: 'on_behalf_of',
      // It belongs to the sign-in of the assertion, whose grant is another client's.
      grantId: '',
      scope: chosen.join(' '),
      expiresIn: Math.min(info.accessTokenTTL ?? accessTokenLifetimeSeconds, secondsLeft),
    })
    token.resourceServer = new provider.ResourceServer(resource, info)
    const { signInOrigin } = session.caller
    const { signInId, proofs } = session.grounds
    const exchanged = listExchangedBy(session.grounds)
    keepOrigin(token, { signInId, signInOrigin, proofs, exchanged, expiresAt })
    ctx.oidc.entity('AccessToken', token)
    const value = await token.save()
    const idToken = await issueIdToken(provider, ctx, check, session)
    // Asked once the new token has its time: a revocation since then ends the new token by itself.
    const [isRevoked] = await check.findRevoked([session.grounds])
    if (isRevoked !== false) throw new errors.InvalidGrant('the assertion was revoked')
    ctx.body = {
      access_token: value,
      expires_in: token.expiration,
      ...(idToken !== undefined && { id_token: idToken }),
      token_type: 'Bearer',
      scope: token.scope,
    }
  }
  provider.registerGrantType(onBehalfOfGrant, issue, [
    'assertion',
    'requested_token_use',
    'scope',
    'resource',
  ])
}

/** The token of a person that this service issued; tokens of applications and of outside issuers are refused. */
async function openSession(check: AssertionCheck, assertion: string): Promise<Session> {
  try {
    const session = await check.openSession(`Bearer ${assertion}`)
    const { caller, grounds } = session
    if (grounds.isOurs && caller.kind === 'delegated' && !caller.personal) return session
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 401) throw error
  }
  throw new errors.InvalidGrant('the assertion is not a valid token of a person')
}

async function choosePermissions(
  { sql, identity: { tenantId } }: AssertionCheck,
  ctx: KoaContextWithOIDC,
  { caller }: Session,
): Promise<string[]> {
  const { client, requestParamScopes } = ctx.oidc
  if (!client) throw new Error('a grant without a client')
  const facts = clientFactsOf(client)
  const granted = await listDelegatedPermissions(sql, { tenantId, userId: caller.objectId, ...facts })
  const usable = permissionsIn(granted).filter((name) => caller.permissions.has(name))
  const asked = permissionsIn(requestParamScopes)
  const lacking = asked.filter((name) => !usable.includes(name))
  if (lacking.length > 0)
    throw new errors.InvalidScope(
      'the client has no consent for these permissions, or the assertion lacks them',
      lacking.join(' '),
    )
  const chosen = requestParamScopes.has(defaultScope) ? usable : asked
  if (chosen.length === 0) throw new errors.InvalidScope('no permission is left', defaultScope)
  return chosen
}

/**
 * An id token for a client that asks for one: MSAL finds an exchanged token again by the account in it. Ids are in the
 * access token anyway; names take the client's consent for `profile` at the origin of the sign-in.
 */
async function issueIdToken(
  provider: Provider,
  ctx: KoaContextWithOIDC,
  { sql, identity: { tenantId } }: AssertionCheck,
  { caller: { objectId: id, signInOrigin: origin } }: Session,
): Promise<string | undefined> {
  const { client, requestParamScopes } = ctx.oidc
  if (!client || !requestParamScopes.has('openid')) return undefined
  const user = await findActiveUser(sql, tenantId, { id })
  if (!user) throw new errors.InvalidGrant('the person of the assertion is gone')
  const delegation = { tenantId, userId: id, origin, ...clientFactsOf(client) }
  const granted = await listDelegatedPermissions(sql, delegation)
  const named = requestParamScopes.has('profile') && granted.includes('profile')
  const scope = named ? 'openid profile' : 'openid'
  const account = describeAccount(user, tenantId, {
    readRoles: () => listAppRoles(ctx, sql, tenantId, id),
    mayTellName: async () => named,
  })
  const claims = await account.claims('id_token', scope, {}, [])
  return Object.assign(new provider.IdToken(claims, { ctx }), { scope }).issue({ use: 'idtoken' })
}

/**
 * The token that is exchanged now, and those before it, by their own times: a revocation under way is later than these. Of one client
 * the earliest counts, as later revocations end all of its tokens.
 */
function listExchangedBy(grounds: TokenGrounds): readonly ExchangedToken[] {
  const { applicationId, issuedAtMs, isTimeExact, exchanged } = grounds
  if (exchanged.some((earlier) => earlier.applicationId === applicationId)) return exchanged
  return [...exchanged, { applicationId, issuedAtMs: isTimeExact ? issuedAtMs : issuedAtMs + 1000 }]
}

/** In seconds. */
function readExpiry(assertion: string): number {
  return decodeJwt(assertion).exp ?? 0
}
