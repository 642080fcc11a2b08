import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { foldPrincipalName } from '../kernel/fold-principal-name.ts'
import type { IssuerSecret } from './issuer-secret.ts'

const rememberedDays = 90

/**
 * The id of a browser in which a person has signed in to this account before; undefined for any other. Its failures are
 * counted by themselves: strangers who guess at the account do not make the person wait. It proves nothing else.
 */
export function readKnownBrowser(
  ctx: KoaContextWithOIDC,
  secret: IssuerSecret,
  account: string,
): string | undefined {
  const [id = '', expiry = '', proof = ''] =
    ctx.cookies.get(nameCookie(account), { signed: false })?.split('.') ?? []
  const expected = Buffer.from(secret.browserProof(describe(id, expiry, account)))
  const offered = Buffer.from(proof)
  const isProven = offered.length === expected.length && timingSafeEqual(offered, expected)
  return isProven && Number(expiry) * 1000 > Date.now() ? id : undefined
}

/** After a sign-in. The id stays, so that the browser does not get a new allowance by each. */
export function rememberBrowser(ctx: KoaContextWithOIDC, secret: IssuerSecret, account: string): void {
  const id = readKnownBrowser(ctx, secret, account) ?? randomUUID()
  const maxAge = rememberedDays * 24 * 60 * 60 * 1000
  const expiry = String(Math.floor((Date.now() + maxAge) / 1000))
  const value = [id, expiry, secret.browserProof(describe(id, expiry, account))].join('.')
  ctx.cookies.set(nameCookie(account), value, {
    maxAge,
    httpOnly: true,
    sameSite: 'lax',
    secure: ctx.secure,
    signed: false,
  })
}

/** One for each account: people share browsers. */
function nameCookie(account: string): string {
  const digest = createHash('sha256').update(foldPrincipalName(account.trim())).digest('hex')
  return `masquerade_known_${digest.slice(0, 12)}`
}

function describe(id: string, expiry: string, account: string): string {
  return `${id} ${expiry} ${foldPrincipalName(account.trim())}`
}
