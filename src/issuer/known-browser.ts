import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { foldPrincipalName } from '../kernel/fold-principal-name.ts'
import type { IssuerSecret } from './issuer-secret.ts'

const rememberedSeconds = 90 * 24 * 60 * 60

/**
 * A browser in which a person has signed in to an account before. Its failures are counted by themselves: strangers who
 * guess at the account do not make the person wait. It proves nothing else.
 */
export interface KnownBrowser {
  readonly id: string
  /** The time of the last sign-in, in seconds. */
  readonly signedInAt: number
}

/** Undefined for a browser without a valid cookie for this account. */
export function readKnownBrowser(
  ctx: KoaContextWithOIDC,
  secret: IssuerSecret,
  account: string,
): KnownBrowser | undefined {
  const [id = '', expiry = '', proof = ''] =
    ctx.cookies.get(nameCookie(account), { signed: false })?.split('.') ?? []
  const expected = Buffer.from(secret.browserProof(describe(id, expiry, account)))
  const offered = Buffer.from(proof)
  const isProven = offered.length === expected.length && timingSafeEqual(offered, expected)
  const isCurrent = isProven && Number(expiry) * 1000 > Date.now()
  return isCurrent ? { id, signedInAt: Number(expiry) - rememberedSeconds } : undefined
}

/** After a sign-in. The id stays, so that the browser does not get a new allowance by each. */
export function rememberBrowser(
  ctx: KoaContextWithOIDC,
  secret: IssuerSecret,
  account: string,
  signedInAt: number,
): void {
  const id = readKnownBrowser(ctx, secret, account)?.id ?? randomUUID()
  const expiry = String(signedInAt + rememberedSeconds)
  const value = [id, expiry, secret.browserProof(describe(id, expiry, account))].join('.')
  ctx.cookies.set(nameCookie(account), value, {
    maxAge: rememberedSeconds * 1000,
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
