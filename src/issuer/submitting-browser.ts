import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { KoaContextWithOIDC, Provider } from 'oidc-provider'
import { readUid, resumeRoutes } from './route.ts'

const name = 'masquerade_signed_in'
/** As long as a sign-in may take. */
const maxAge = 30 * 60 * 1000

/**
 * Marks the browser in which the password was entered, for the address that it is sent on to, and returns the mark that the
 * sign-in keeps. The cookie is this host's own: a site that can give a person cookies of another browser, as a neighbour in
 * the same domain can, cannot read it.
 */
export function markBrowser(ctx: KoaContextWithOIDC, returnTo: string): string {
  const secret = randomBytes(32).toString('base64url')
  ctx.cookies.set(name, secret, {
    path: new URL(returnTo).pathname,
    maxAge,
    httpOnly: true,
    sameSite: 'lax',
    secure: ctx.secure,
    signed: false,
  })
  return digest(secret)
}

/**
 * True for a request that goes on with a sign-in or consent whose form another browser has sent. The library goes on with
 * the sign-in that the signed cookie names, whatever the address does; where the two differ, this is true as well.
 */
export async function isOtherBrowser(ctx: KoaContextWithOIDC, provider: Provider): Promise<boolean> {
  const named = readUid(ctx.path, resumeRoutes)
  const uid = ctx.cookies.get(provider.cookieName('resume'), { signed: true })
  if (named !== undefined && named !== uid) return true
  const interaction = uid === undefined ? undefined : await provider.Interaction.find(uid)
  const result = interaction?.result as { error?: string; browser?: string } | undefined
  // A form that is sent at this moment would be found by the library alone: nothing goes on without one.
  if (!result) return named !== undefined
  if (result.error !== undefined) return false
  const expected = Buffer.from(result.browser ?? '')
  const offered = Buffer.from(digest(ctx.cookies.get(name, { signed: false }) ?? ''))
  return expected.length !== offered.length || !timingSafeEqual(expected, offered)
}

function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}
