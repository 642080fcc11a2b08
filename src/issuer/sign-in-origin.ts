import { type KoaContextWithOIDC, Provider } from 'oidc-provider'
import { readRedirectOrigin } from '../directory/applications/redirect-origins.ts'

/** A refresh token with the origin of its sign-in, which the library does not keep. */
interface Kept {
  origin?: string
}

/** Where devices are answered. No address has this origin: each of theirs has two slashes. */
export const deviceOrigin = 'device:'

/**
 * Makes refresh tokens keep the origin that the client was answered at: what a person consents to at one origin of an
 * application must not come to a sign-in that went to another.
 */
export function keepSignInOrigin(provider: Provider): void {
  const model = provider.RefreshToken as unknown as { readonly IN_PAYLOAD: readonly string[] }
  const names = [...model.IN_PAYLOAD, 'origin' satisfies keyof Kept]
  Object.defineProperty(model, 'IN_PAYLOAD', { get: () => names })
  const { save } = provider.RefreshToken.prototype
  provider.RefreshToken.prototype.save = function (this: Kept, ...times) {
    const origin = this.origin ?? (Provider.ctx && readSignInOrigin(Provider.ctx))
    if (origin !== undefined) this.origin = origin
    return save.apply(this, times)
  }
}

/** The origin of the sign-in that a token is issued for; undefined for sign-ins of earlier versions. */
export function readSignInOrigin({ oidc: { entities } }: KoaContextWithOIDC): string | undefined {
  if (entities.DeviceCode) return deviceOrigin
  const refreshed = [entities.RefreshToken, entities.RotatedRefreshToken] as readonly (Kept | undefined)[]
  return (
    readRedirectOrigin(entities.AuthorizationCode?.redirectUri) ??
    refreshed.find((token) => token?.origin !== undefined)?.origin
  )
}
