import type { KoaContextWithOIDC } from 'oidc-provider'
import { Problem } from '../kernel/problem.ts'
import { renderLibraryError } from './library-pages.ts'

const error = 'temporarily_unavailable'

/** The answer where the service's own database is away or full; undefined for every other failure. */
export function describeOutage(failure: unknown) {
  if (!(failure instanceof Problem) || (failure.status !== 503 && failure.status !== 507)) return undefined
  const { status, message, retryAfterSeconds = 1 } = failure
  return { status, error, description: message, retryAfter: String(retryAfterSeconds) }
}

/** The library answers every failure that it does not know with "oops" and 500. This replaces its answer. */
export function sayUnavailable(ctx: KoaContextWithOIDC, failure: unknown): void {
  const outage = describeOutage(failure)
  if (!outage) return
  const out = { error, error_description: outage.description }
  if (ctx.type === 'text/html') void renderLibraryError(ctx, out)
  else ctx.body = out
  ctx.status = outage.status
  ctx.set('retry-after', outage.retryAfter)
}
