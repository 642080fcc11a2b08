import type { Interaction, KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { Logger } from 'pino'
import type { Identity } from '../auth/identity.ts'
import { writeAudit } from '../db/audit.ts'
import type { Database, Tx } from '../db/database.ts'
import type { IssuerSecret } from './issuer-secret.ts'
import { contentSecurityPolicy } from './page.ts'
import type { RecordSignIn } from './record-sign-ins.ts'
import { markBrowser } from './submitting-browser.ts'

export interface InteractionOptions {
  readonly database: Database
  readonly identity: Identity
  readonly secret: IssuerSecret
  readonly log: Logger
  readonly recordSignIn: RecordSignIn
}

/** One request to a page of a sign-in under way. */
export interface Visit {
  readonly ctx: KoaContextWithOIDC
  readonly provider: Provider
  readonly options: InteractionOptions
  readonly interaction: Interaction
  readonly clientName: string
  readonly action: string
  readonly formToken: string
}

export function show(ctx: KoaContextWithOIDC, status: number, html: string, visit?: Visit): void {
  ctx.status = status
  ctx.type = 'html'
  ctx.set('cache-control', 'no-store')
  ctx.set('content-security-policy', contentSecurityPolicy(visit?.interaction.params.redirect_uri))
  ctx.body = html
}

export async function finish(visit: Visit, result: Record<string, unknown>): Promise<void> {
  const { ctx, provider, interaction } = visit
  const isRefusal = 'error' in result
  const marked = isRefusal ? result : { ...result, browser: markBrowser(ctx, interaction.returnTo) }
  const returnTo = await provider.interactionResult(ctx.req, ctx.res, marked, {
    mergeWithLastSubmission: !isRefusal,
  })
  ctx.status = 303
  ctx.set('location', returnTo)
  ctx.set('cache-control', 'no-store')
}

/** Audits a change that a person makes on these pages, like one made through the API. */
export function noteChange(
  { options, interaction }: Visit,
  tx: Tx,
  userId: string,
  entry: { action: string; target: string; after?: unknown },
): Promise<void> {
  const applicationId = String(interaction.params.client_id)
  return writeAudit(
    tx,
    { kind: 'delegated', tenantId: options.identity.tenantId, objectId: userId, applicationId },
    interaction.uid,
    entry,
  )
}
