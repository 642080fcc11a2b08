import { type KoaContextWithOIDC, Provider } from 'oidc-provider'
import { readRedirectOrigin } from '../directory/applications/redirect-origins.ts'
import { clientFactsOf } from './client-facts.ts'

/** Facts of a sign-in that its codes and refresh tokens keep, and the library does not. */
export interface KeptFacts {
  /** Of the address; before addresses were kept, this alone. */
  origin?: string
  /** The address that the client was answered at. */
  address?: string
  /** How often the client had been shut out by then. */
  shutOuts?: number
}

/** Where devices are answered. No address has this origin: each of theirs has two slashes. */
export const deviceOrigin = 'device:'

/**
 * Makes codes and refresh tokens keep where the client was answered: what a person consents to at one origin of an application must
 * not come to a sign-in that went to another, and a sign-in ends with its address and its client.
 */
export function keepSignInFacts(provider: Provider): void {
  for (const model of [provider.AuthorizationCode, provider.DeviceCode, provider.RefreshToken]) {
    const { IN_PAYLOAD } = model as unknown as { readonly IN_PAYLOAD: readonly string[] }
    const names = [...IN_PAYLOAD, ...(['origin', 'address', 'shutOuts'] satisfies (keyof KeptFacts)[])]
    Object.defineProperty(model, 'IN_PAYLOAD', { get: () => names })
    const { save } = model.prototype
    model.prototype.save = function (this: KeptFacts, ...times: Parameters<typeof save>) {
      if (Provider.ctx) keepFacts(this, Provider.ctx)
      return save.apply(this, times)
    }
  }
}

function keepFacts(kept: KeptFacts, ctx: KoaContextWithOIDC): void {
  const { client } = ctx.oidc
  const origin = readSignInOrigin(ctx)
  const address = readSignInAddress(ctx)
  const shutOuts = readSource(ctx)?.shutOuts ?? (client && clientFactsOf(client).shutOuts)
  if (origin !== undefined) kept.origin ??= origin
  if (address !== undefined) kept.address ??= address
  if (shutOuts !== undefined) kept.shutOuts ??= shutOuts
}

interface Source extends KeptFacts {
  /** When the password was checked, in seconds. */
  readonly authTime?: number
}

/** The code or refresh token that the client brings. */
export function readSource({ oidc: { entities } }: KoaContextWithOIDC): Source | undefined {
  const { AuthorizationCode, DeviceCode, RotatedRefreshToken, RefreshToken } = entities
  return (AuthorizationCode ?? DeviceCode ?? RotatedRefreshToken ?? RefreshToken) as Source | undefined
}

/** The address that the sign-in was answered at; undefined for devices, and for sign-ins of earlier versions. */
export function readSignInAddress(ctx: KoaContextWithOIDC): string | undefined {
  return ctx.oidc.entities.AuthorizationCode?.redirectUri ?? readSource(ctx)?.address
}

/** The origin of the sign-in that a token is issued for; undefined for sign-ins of earlier versions. */
export function readSignInOrigin(ctx: KoaContextWithOIDC): string | undefined {
  if (ctx.oidc.entities.DeviceCode) return deviceOrigin
  return readRedirectOrigin(readSignInAddress(ctx)) ?? readSource(ctx)?.origin
}
