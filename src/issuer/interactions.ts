import { timingSafeEqual } from 'node:crypto'
import type { Interaction, KoaContextWithOIDC, Provider } from 'oidc-provider'
import { askConsent, consent } from './consent-steps.ts'
import { isCrossSite } from './foreign-forms.ts'
import { readForm } from './read-form.ts'
import { interactionRoute, readUid } from './route.ts'
import { renderExpired, renderSignIn } from './sign-in-pages.ts'
import { changePassword, signIn } from './sign-in-steps.ts'
import { isOtherBrowser } from './submitting-browser.ts'
import { finish, type InteractionOptions, show, type Visit } from './visit.ts'

/** The pages on which a person signs in and consents. They stand before the library's own routes. */
export function answerInteractions(provider: Provider, options: InteractionOptions) {
  return async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    if (await isOtherBrowser(ctx, provider)) return show(ctx, 400, renderExpired())
    const uid = readUid(ctx.path, [interactionRoute])
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

function isSame(offered: string, expected: string): boolean {
  const [a, b] = [Buffer.from(offered), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
