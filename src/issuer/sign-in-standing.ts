import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider'
import { readRedirectOrigin } from '../directory/applications/redirect-origins.ts'
import { clientFactsOf } from './client-facts.ts'
import { deviceGrant } from './route.ts'
import { deviceOrigin, readSignInAddress, readSignInOrigin, readSource } from './sign-in-origin.ts'

/**
 * Refuses tokens for a sign-in whose client was disabled, deleted or made anew since, or no longer has the address that it was answered
 * at: a caller who could add an address while the client had few permissions must not share what an administrator lets it do later.
 */
export function requireStandingSignIn(ctx: KoaContextWithOIDC, client = ctx.oidc.client): void {
  const source = readSource(ctx)
  if (!client || !source) return
  if ((source.shutOuts ?? 0) !== clientFactsOf(client).shutOuts)
    throw new errors.InvalidGrant('the application was disabled or deleted since the sign-in')
  if (!hasAddress(ctx, client))
    throw new errors.InvalidGrant('the application no longer has the address of the sign-in')
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
