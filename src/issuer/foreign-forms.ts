import { randomBytes } from 'node:crypto'
import type { KoaContextWithOIDC, Provider } from 'oidc-provider'

/** Browsers say where a form comes from; ours come from the same origin. */
export function isCrossSite(ctx: KoaContextWithOIDC): boolean {
  const site = ctx.get('sec-fetch-site')
  return site !== '' && site !== 'same-origin' && site !== 'none'
}

/**
 * Gives a session another token for the library's forms when a person signs in. The one of before may be known to a
 * neighbour in the same domain, who gave the browser the session.
 */
export function renewFormTokens({ Session }: Provider): void {
  const { loginAccount } = Session.prototype
  Session.prototype.loginAccount = function (details) {
    if (this.state) this.state = { ...this.state, secret: randomBytes(24).toString('hex') }
    loginAccount.call(this, details)
  }
}
