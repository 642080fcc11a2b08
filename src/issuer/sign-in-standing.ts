import {
  type AccessToken,
  type Client,
  type ClientCredentials,
  errors,
  type KoaContextWithOIDC,
} from 'oidc-provider'
import type { Query } from '../db/query.ts'
import { findActiveUser } from '../directory/accounts/find-active-user.ts'
import { isOlderThanPassword } from '../directory/accounts/password.ts'
import { devicePlace, nameAnyPort, namePlace } from '../directory/applications/client-proofs.ts'
import { readRedirectOrigin } from '../directory/applications/redirect-origins.ts'
import { clientFactsOf } from './client-facts.ts'
import { requireStandingProof } from './client-proof.ts'
import { deviceGrant } from './route.ts'
import { deviceOrigin, readSignInAddress, readSignInOrigin, readSource } from './sign-in-origin.ts'

/**
 * Refuses a token whose client or person was shut out since the request came. Call it behind `awaitRevocations` and once the contents of
 * the token were read: the library looked at both before the token had its time, so a revocation in between would not end the token.
 */
export async function requireStanding(
  ctx: KoaContextWithOIDC,
  sql: Query,
  tenantId: string,
  token: AccessToken | ClientCredentials,
): Promise<void> {
  const { client, provider } = ctx.oidc
  if (!client) throw new Error('a token without a client')
  const present = await provider.Client.find(client.clientId)
  if (!present) throw new errors.InvalidClientAuth('the application was disabled or deleted')
  requireStandingSignIn(ctx, present)
  if (clientFactsOf(present).shutOuts !== clientFactsOf(client).shutOuts)
    throw new errors.InvalidClientAuth('the application was disabled or deleted meanwhile')
  await requireStandingProof(ctx, sql, tenantId, client)
  if (token.kind === 'AccessToken') await requireStandingPerson(ctx, sql, tenantId, token.accountId)
}

/** An exchanged token has no code or refresh token behind it: the exchange asks whether its assertion was revoked. */
async function requireStandingPerson(
  ctx: KoaContextWithOIDC,
  sql: Query,
  tenantId: string,
  id: string,
): Promise<void> {
  const user = await findActiveUser(sql, tenantId, { id })
  if (!user) throw new errors.InvalidGrant('the account was disabled or deleted')
  const source = readSource(ctx)
  const { passwordChangedAt } = user
  if (source && passwordChangedAt && isOlderThanPassword(source.authTime ?? 0, passwordChangedAt))
    throw new errors.InvalidGrant('the sign-in has ended')
}

/**
 * Refuses tokens for a sign-in whose client was disabled, deleted or made anew since, or no longer has the address that it was answered
 * at: a caller who could add an address while the client had few permissions must not share what an administrator lets it do later.
 */
export function requireStandingSignIn(ctx: KoaContextWithOIDC, client: Client): void {
  const source = readSource(ctx)
  if (!source) return
  if ((source.shutOuts ?? 0) !== clientFactsOf(client).shutOuts)
    throw new errors.InvalidGrant('the application was disabled or deleted since the sign-in')
  if (!hasAddress(ctx, client))
    throw new errors.InvalidGrant('the application no longer has the address of the sign-in')
}

/**
 * Names the registered address that the sign-in of a request was answered at, as a proof of the token: it ends with the address. Undefined
 * where there is no sign-in, and for the product's own clients. Throws where the client has no such address.
 */
export function readAddressProof(ctx: KoaContextWithOIDC, client: Client): string | undefined {
  const { firstParty, applicationId } = clientFactsOf(client)
  if (firstParty || !readSource(ctx)) return undefined
  const place = readSignInOrigin(ctx) === deviceOrigin ? devicePlace : findPlace(ctx, client)
  if (place === undefined) throw new errors.InvalidGrant('the application has no address of the sign-in')
  return `${applicationId}/${namePlace(place)}`
}

/**
 * A native application is answered at any port of its registered loopback address. That is named apart from the address: it ends when the
 * application is no longer native.
 */
function findPlace(ctx: KoaContextWithOIDC, client: Client): string | undefined {
  const address = readSignInAddress(ctx)
  const uris = client.redirectUris ?? []
  if (address === undefined || uris.includes(address)) return address
  const withoutPort = (uri: string) => Object.assign(new URL(uri), { port: '' }).href
  const registered = uris.find((uri) => withoutPort(uri) === withoutPort(address))
  return registered && nameAnyPort(registered)
}

/** Callers cannot change the addresses of the product's own clients, and each node has those of the portal that it serves. */
function hasAddress(ctx: KoaContextWithOIDC, client: Client): boolean {
  if (clientFactsOf(client).firstParty) return true
  const origin = readSignInOrigin(ctx)
  if (origin === deviceOrigin) return client.grantTypeAllowed(deviceGrant)
  const address = readSignInAddress(ctx)
  if (address !== undefined) return client.redirectUriAllowed(address)
  // A sign-in of an earlier version has an origin, or nothing.
  return (client.redirectUris ?? []).some((uri) => readRedirectOrigin(uri) === origin)
}
