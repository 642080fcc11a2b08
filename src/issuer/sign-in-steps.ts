import type { KoaContextWithOIDC } from 'oidc-provider'
import { setPassword } from '../directory/accounts/password.ts'
import type { SignInFailure } from '../directory/audit-logs/sign-in-attempt.ts'
import { clientAddressOf } from '../kernel/client-address.ts'
import { Problem } from '../kernel/problem.ts'
import { readKnownBrowser, rememberBrowser } from './known-browser.ts'
import { describeClient } from './record-sign-ins.ts'
import { refusedText, renderNewPassword, renderSignIn, renderTooMany } from './sign-in-pages.ts'
import { verifySignIn } from './verify-sign-in.ts'
import { finish, noteChange, show, type Visit } from './visit.ts'

export async function signIn(visit: Visit, form: URLSearchParams): Promise<void> {
  const { ctx, clientName, action, formToken } = visit
  const userPrincipalName = form.get('user') ?? ''
  const outcome = await verify(visit, form)
  if (outcome.kind === 'too many') return showTooMany(ctx, outcome.waitSeconds)
  const base = { action, formToken, userPrincipalName }
  if (outcome.kind === 'refused')
    return show(ctx, 401, renderSignIn({ ...base, clientName, fault: refusedText }), visit)
  if (outcome.user.mustChangePassword) {
    record(visit, outcome.user.id, 'mustChangePassword')
    return show(ctx, 200, renderNewPassword(base), visit)
  }
  await finishSignIn(visit, outcome.user.id, outcome.at)
}

/** The present password is asked again: between the two pages nothing is remembered of the first. */
export async function changePassword(visit: Visit, form: URLSearchParams): Promise<void> {
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
    await options.database.transaction(async (tx) => {
      const replaces = outcome.user.passwordHash ?? ''
      await setPassword(tx, options.identity.tenantId, outcome.user.id, next, { replaces })
      const target = `/users/${outcome.user.id}`
      await noteChange(visit, tx, outcome.user.id, { action: 'change password', target })
    })
  } catch (error) {
    if (error instanceof Problem && error.problem === 'PasswordTooWeak') return again(400, error.message)
    if (error instanceof Problem && error.problem === 'WrongPassword') return again(401, refusedText)
    throw error
  }
  const renewed = await verify(visit, new URLSearchParams({ user: userPrincipalName, password: next }))
  if (renewed.kind !== 'signed in') return again(401, refusedText)
  await finishSignIn(visit, outcome.user.id, renewed.at)
}

async function verify(visit: Visit, form: URLSearchParams) {
  const { ctx, options } = visit
  const userPrincipalName = form.get('user') ?? ''
  const outcome = await verifySignIn(options.database.sql, options.identity.tenantId, {
    userPrincipalName,
    password: form.get('password') ?? '',
    address: clientAddressOf(ctx.req),
    browser: readKnownBrowser(ctx, options.secret, userPrincipalName),
  })
  if (outcome.kind === 'signed in') rememberBrowser(ctx, options.secret, userPrincipalName, outcome.at)
  else {
    options.log.info({ outcome: outcome.kind }, 'sign-in failed')
    record(visit, userPrincipalName, outcome.kind === 'refused' ? 'wrongPassword' : 'tooManyAttempts')
  }
  return outcome
}

function record({ ctx, options, interaction }: Visit, user: string, failure?: SignInFailure): void {
  const application = String(interaction.params.client_id)
  const correlationId = interaction.uid
  options.recordSignIn({ by: 'page', user, application, failure, ...describeClient(ctx), correlationId })
}

function finishSignIn(visit: Visit, accountId: string, at: number): Promise<void> {
  record(visit, accountId)
  // Both names: the page answers a wish to choose the account as well. Without `ts` the sign-in would count from when the
  // browser follows the redirect, which may be after the password was changed.
  return finish(visit, { select_account: {}, login: { accountId, remember: false, amr: ['pwd'], ts: at } })
}

function showTooMany(ctx: KoaContextWithOIDC, waitSeconds: number): void {
  ctx.set('retry-after', String(waitSeconds))
  show(ctx, 429, renderTooMany(waitSeconds))
}
