import type { AccessToken, Client, ClientCredentials, JWTStructured, KoaContextWithOIDC } from 'oidc-provider'
import type { Identity } from '../auth/identity.ts'
import { issueTimeClaim, readIssueTime } from '../auth/issue-time.ts'
import { clientProofsClaim, signInOriginClaim, writeExchanged } from '../auth/token-claims.ts'
import type { Query } from '../db/query.ts'
import { listDirectoryRoles } from '../directory/accounts/list-directory-roles.ts'
import { awaitRevocations } from '../directory/accounts/standing.ts'
import {
  listApplicationPermissions,
  listDelegatedPermissions,
} from '../directory/applications/granted-permissions.ts'
import type { ExchangedToken } from '../kernel/token-grounds.ts'
import { requireAssignment } from './app-roles.ts'
import { chooseGranted, permissionsIn } from './choose-granted.ts'
import { clientFactsOf } from './client-facts.ts'
import { readProof } from './client-proof.ts'
import type { IssuerSecret } from './issuer-secret.ts'
import { readSignInOrigin } from './sign-in-origin.ts'
import { readAddressProof, requireStanding } from './sign-in-standing.ts'

/** Documented in the decision on the token service: a permission taken away is gone after this at the latest. */
export const accessTokenLifetimeSeconds = 60 * 60

/** The token that another one was exchanged for. */
interface Origin {
  readonly signInId: string | undefined
  readonly signInOrigin: string | undefined
  readonly proofs: readonly string[]
  /** This token, and those that it was exchanged for itself. */
  readonly exchanged: readonly ExchangedToken[]
  /** In seconds. */
  readonly expiresAt: number
}

const origins = new WeakMap<object, Origin>()

/** Makes an exchanged token keep what the token that it was exchanged for rests on, and its lifetime. */
export function keepOrigin(token: object, origin: Origin): void {
  origins.set(token, origin)
}

/**
 * Replaces the library's claims by ours. What was granted is read here, from the tables, at each issue: a token
 * carries no more than stands there now, whatever an older code or refresh token was made for.
 */
export function writeAccessTokenClaims(sql: Query, identity: Identity, secret: IssuerSecret) {
  return async (
    ctx: KoaContextWithOIDC,
    token: AccessToken | ClientCredentials,
    jwt: JWTStructured,
  ): Promise<void> => {
    const client = ctx.oidc.client
    if (!client) throw new Error('a token without a client')
    const { jti, iat, exp } = jwt.payload
    const issuedAtMs = await readIssueTime(sql)
    const { servicePrincipalId } = clientFactsOf(client)
    const principalId = token.kind === 'AccessToken' ? token.accountId : servicePrincipalId
    await awaitRevocations(sql, identity.tenantId, principalId, servicePrincipalId)
    const origin = origins.get(token)
    const common = {
      iss: identity.issuer(),
      aud: identity.origin(),
      iat,
      nbf: iat,
      exp: Math.min(Number(exp), origin?.expiresAt ?? Number.POSITIVE_INFINITY),
      jti,
      tid: identity.tenantId,
      appid: client.clientId,
      azp: client.clientId,
      ver: '2.0',
      [issueTimeClaim]: issuedAtMs,
    }
    const signInOrigin = readSignInOrigin(ctx)
    const specific =
      token.kind === 'ClientCredentials'
        ? await describeApplication(sql, identity, client)
        : await describeUser(sql, identity, client, token, signInOrigin)
    // Once the consents were read: an address may have been removed before them, and after the request came.
    await requireStanding(ctx, sql, identity.tenantId, token)
    const sid =
      token.kind === 'AccessToken' && token.grantId ? secret.nameOf(token.grantId) : origin?.signInId
    const told = signInOrigin ?? origin?.signInOrigin
    const own = [readProof(ctx, client), readAddressProof(ctx, client)].filter((one) => one !== undefined)
    const proofs = [...new Set([...own, ...(origin?.proofs ?? [])])]
    jwt.payload = {
      ...common,
      ...(sid !== undefined && { sid }),
      ...(told !== undefined && { [signInOriginClaim]: told }),
      ...(proofs.length > 0 && { [clientProofsClaim]: proofs }),
      ...writeExchanged(origin?.exchanged ?? []),
      ...specific,
    }
  }
}

async function describeApplication(sql: Query, { tenantId }: Identity, client: Client) {
  const { servicePrincipalId } = clientFactsOf(client)
  return {
    idtyp: 'app',
    oid: servicePrincipalId,
    sub: servicePrincipalId,
    roles: await listApplicationPermissions(sql, tenantId, servicePrincipalId),
  }
}

async function describeUser(
  sql: Query,
  { tenantId }: Identity,
  client: Client,
  token: AccessToken,
  origin: string | undefined,
) {
  const userId = token.accountId
  await requireAssignment(sql, tenantId, client, userId)
  const granted = await listDelegatedPermissions(sql, { tenantId, userId, origin, ...clientFactsOf(client) })
  const carried = permissionsIn(chooseGranted(new Set(token.scope?.split(' ')), granted))
  return {
    idtyp: 'user',
    oid: userId,
    sub: userId,
    // A token for nothing but the sign-in is a delegated one all the same.
    scp: carried.join(' ') || 'openid',
    wids: await listDirectoryRoles(sql, tenantId, userId),
  }
}
