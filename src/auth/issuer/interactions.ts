import { timingSafeEqual } from 'node:crypto'
import type { Interaction, KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { Logger } from 'pino'
import type { Database } from '../../db/database.ts'
import { Problem } from '../../kernel/problem.ts'
import { clientFactsOf } from './access-token.ts'
import { findUser } from './account.ts'
import { consentPermissions } from './applications.ts'
import { type MissingConsent, recordScopes } from './consent.ts'
import type { IssuerSecret } from './issuer-secret.ts'
import { contentSecurityPolicy } from './page.ts'
import { setPassword } from './password.ts'
import { readForm } from './read-form.ts'
import { interactionRoute } from './route.ts'
import {
  refusedText,
  renderApprovalNeeded,
  renderConsent,
  renderExpired,
  renderNewPassword,
  renderSignIn,
  renderTooMany,
} from './sign-in-pages.ts'
import { verifySignIn } from './verify-sign-in.ts'

export interface InteractionOptions {
  readonly database: Database
  readonly tenantId: string
  readonly secret: IssuerSecret
  readonly log: Logger
}

interface Visit {
  readonly ctx: KoaContextWithOIDC
  readonly provider: Provider
  readonly options: InteractionOptions
  readonly interaction: Interaction
  readonly clientName: string
  readonly action: string
  readonly formToken: string
}

const path = new RegExp(`^${interactionRoute}/([\\w-]{10,60})$`)

/** The pages on which a person signs in and consents. They stand before the library's own routes. */
export function answerInteractions(provider: Provider, options: InteractionOptions) {
  return async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    const uid = path.exec(ctx.path)?.[1]
    if (uid === undefined) return next()
    const visit = await openVisit(ctx, provider, options, uid)
    if (!visit) return show(ctx, 400, renderExpired())
    if (ctx.method === 'POST') return submit(visit)
    if (ctx.method === 'GET') return begin(visit)
    ctx.status = 405
  }
}

async function openVisit(
  ctx: KoaContextWithOIDC,
  provider: Provider,
  options: InteractionOptions,
  uid: string,
): Promise<Visit | null> {
  const interaction = await findInteraction(ctx, provider)
  if (interaction?.uid !== uid) return null
  const client = await provider.Client.find(String(interaction.params.client_id))
  if (!client) return null
  return {
    ctx,
    provider,
    options,
    interaction,
    clientName: client.clientName ?? client.clientId,
    action: (ctx.req as { originalUrl?: string }).originalUrl ?? ctx.path,
    formToken: options.secret.formToken(uid),
  }
}

/** Missing or foreign cookies and expired interactions all look the same. */
async function findInteraction(ctx: KoaContextWithOIDC, provider: Provider): Promise<Interaction | null> {
  try {
    return await provider.interactionDetails(ctx.req, ctx.res)
  } catch (error) {
    if ((error as { error?: string }).error === 'invalid_request') return null
    throw error
  }
}

async function begin(visit: Visit): Promise<void> {
  const { ctx, interaction, clientName, action, formToken } = visit
  if (interaction.prompt.name === 'consent') return askConsent(visit)
  const hint = interaction.params.login_hint
  const userPrincipalName = typeof hint === 'string' ? hint.slice(0, 320) : ''
  show(ctx, 200, renderSignIn({ clientName, action, formToken, userPrincipalName }), visit)
}

async function askConsent(visit: Visit): Promise<void> {
  const { ctx, options, interaction, clientName, action, formToken } = visit
  const user = await findUser(options.database.sql, options.tenantId, {
    id: interaction.session?.accountId ?? '',
  })
  if (!user) return show(ctx, 400, renderExpired())
  const form = { clientName, action, formToken, userPrincipalName: user.userPrincipalName }
  const { administratorOnly, consentable } = missingIn(interaction)
  if (administratorOnly.length > 0)
    return show(ctx, 403, renderApprovalNeeded({ ...form, scopes: administratorOnly }), visit)
  const asked = String(interaction.params.scope ?? '').split(' ')
  const scopes = consentable.length > 0 ? consentable : asked.filter((name) => name !== '.default')
  show(ctx, 200, renderConsent({ ...form, scopes }), visit)
}

function missingIn(interaction: Interaction): MissingConsent {
  const details = interaction.prompt.details as { missing?: MissingConsent }
  return details.missing ?? { consentable: [], administratorOnly: [] }
}

async function submit(visit: Visit): Promise<void> {
  const { ctx, interaction, formToken } = visit
  const form = await readForm(ctx.req)
  if (!form || !isSame(form.get('token') ?? '', formToken) || isCrossSite(ctx))
    return show(ctx, 400, renderExpired())
  if (form.has('cancel')) return finish(visit, { error: 'access_denied' })
  const isConsent = interaction.prompt.name === 'consent'
  if (isConsent && form.get('step') === 'consent') return consent(visit)
  if (!isConsent && form.get('step') === 'sign in') return signIn(visit, form)
  if (!isConsent && form.get('step') === 'new password') return changePassword(visit, form)
  show(ctx, 400, renderExpired())
}

async function signIn(visit: Visit, form: URLSearchParams): Promise<void> {
  const { ctx, clientName, action, formToken } = visit
  const userPrincipalName = form.get('user') ?? ''
  const outcome = await verify(visit, form)
  if (outcome.kind === 'too many') return showTooMany(ctx, outcome.waitSeconds)
  const base = { action, formToken, userPrincipalName }
  if (outcome.kind === 'refused')
    return show(ctx, 401, renderSignIn({ ...base, clientName, fault: refusedText }), visit)
  if (outcome.user.mustChangePassword) return show(ctx, 200, renderNewPassword(base), visit)
  await finishSignIn(visit, outcome.user.id)
}

/** The present password is asked again: between the two pages nothing is remembered of the first. */
async function changePassword(visit: Visit, form: URLSearchParams): Promise<void> {
  const { ctx, options, action, formToken } = visit
  const userPrincipalName = form.get('user') ?? ''
  const again = (status: number, fault: string) =>
    show(ctx, status, renderNewPassword({ action, formToken, userPrincipalName, fault }), visit)
  const outcome = await verify(visit, form)
  if (outcome.kind === 'too many') return showTooMany(ctx, outcome.waitSeconds)
  if (outcome.kind === 'refused') return again(401, refusedText)
  const next = form.get('next') ?? ''
  if (next !== form.get('again')) return again(400, 'The two new passwords are not the same.')
  if (next === form.get('password')) return again(400, 'The new password is the present one.')
  try {
    await options.database.transaction((tx) => setPassword(tx, options.tenantId, outcome.user.id, next))
  } catch (error) {
    if (error instanceof Problem && error.problem === 'PasswordTooWeak') return again(400, error.message)
    throw error
  }
  await finishSignIn(visit, outcome.user.id)
}

async function verify({ ctx, options }: Visit, form: URLSearchParams) {
  const outcome = await verifySignIn(options.database.sql, options.tenantId, {
    userPrincipalName: form.get('user') ?? '',
    password: form.get('password') ?? '',
    address: ctx.req.socket.remoteAddress ?? '',
  })
  if (outcome.kind !== 'signed in') options.log.info({ outcome: outcome.kind }, 'sign-in failed')
  return outcome
}

async function consent(visit: Visit): Promise<void> {
  const { provider, options, interaction } = visit
  const { administratorOnly, consentable } = missingIn(interaction)
  const userId = interaction.session?.accountId
  const client = await provider.Client.find(String(interaction.params.client_id))
  if (administratorOnly.length > 0 || !userId || !client) return finish(visit, { error: 'access_denied' })
  const { servicePrincipalId } = clientFactsOf(client)
  await options.database.transaction((tx) =>
    consentPermissions(tx, {
      tenantId: options.tenantId,
      servicePrincipalId,
      userId,
      permissions: consentable,
    }),
  )
  const grant = new provider.Grant({ accountId: userId, clientId: client.clientId })
  const scopes = new Set(
    String(interaction.params.scope ?? '')
      .split(' ')
      .filter(Boolean),
  )
  recordScopes(grant, interaction.params.resource, scopes)
  await finish(visit, { consent: { grantId: await grant.save() } })
}

function finishSignIn(visit: Visit, accountId: string): Promise<void> {
  // Both names: the page answers a wish to choose the account as well.
  return finish(visit, { select_account: {}, login: { accountId, remember: false, amr: ['pwd'] } })
}

async function finish({ ctx, provider }: Visit, result: Record<string, unknown>): Promise<void> {
  const returnTo = await provider.interactionResult(ctx.req, ctx.res, result, {
    mergeWithLastSubmission: !('error' in result),
  })
  ctx.status = 303
  ctx.set('location', returnTo)
  ctx.set('cache-control', 'no-store')
}

function showTooMany(ctx: KoaContextWithOIDC, waitSeconds: number): void {
  ctx.set('retry-after', String(waitSeconds))
  show(ctx, 429, renderTooMany(waitSeconds))
}

function show(ctx: KoaContextWithOIDC, status: number, html: string, visit?: Visit): void {
  ctx.status = status
  ctx.type = 'html'
  ctx.set('cache-control', 'no-store')
  ctx.set('content-security-policy', contentSecurityPolicy(visit?.interaction.params.redirect_uri))
  ctx.body = html
}

function isSame(offered: string, expected: string): boolean {
  const [a, b] = [Buffer.from(offered), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Browsers say where a form comes from; ours come from the same origin. */
function isCrossSite(ctx: KoaContextWithOIDC): boolean {
  const site = ctx.get('sec-fetch-site')
  return site !== '' && site !== 'same-origin' && site !== 'none'
}
