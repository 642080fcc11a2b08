import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { KoaContextWithOIDC, Provider } from 'oidc-provider'
import { routes } from './route.ts'

const name = 'masquerade_signed_in'
/** As long as a sign-in may take. */
const maxAge = 30 * 60 * 1000
const resumed = new RegExp(`^(?:${routes.authorization}|${routes.code_verification})/([\\w-]{10,60})$`)

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

/** True for a request that goes on with a sign-in which another browser has entered the password for. */
export async function isOtherBrowser(ctx: KoaContextWithOIDC, provider: Provider): Promise<boolean> {
  const uid = resumed.exec(ctx.path)?.[1]
  const interaction = uid === undefined ? undefined : await provider.Interaction.find(uid)
  const result = interaction?.result as { login?: object; browser?: string } | undefined
  if (!result?.login) return false
  const expected = Buffer.from(result.browser ?? '')
  const offered = Buffer.from(digest(ctx.cookies.get(name, { signed: false }) ?? ''))
  return expected.length !== offered.length || !timingSafeEqual(expected, offered)
}

function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}
