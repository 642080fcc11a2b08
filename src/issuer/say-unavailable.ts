import type { KoaContextWithOIDC } from 'oidc-provider'
import { describeOutage } from './describe-outage.ts'
import { renderLibraryError } from './library-pages.ts'

/** The library answers every failure that it does not know with "oops" and 500. This replaces its answer. */
export function sayUnavailable(ctx: KoaContextWithOIDC, failure: unknown): void {
  const outage = describeOutage(failure)
  if (!outage) return
  const out = { error: outage.error, error_description: outage.description }
  if (ctx.type === 'text/html') void renderLibraryError(ctx, out)
  else ctx.body = out
  ctx.status = outage.status
  ctx.set('retry-after', outage.retryAfter)
}
