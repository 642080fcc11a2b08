import type { KoaContextWithOIDC, Provider } from 'oidc-provider'
import { isFirstParty } from '../auth/first-party.ts'
import type { Query } from '../db/query.ts'
import { clientAddressOf } from '../kernel/client-address.ts'
import { renderCodeConfirmation, renderCodeInput, renderDeviceDone } from './device-pages.ts'
import { isCrossSite } from './foreign-forms.ts'
import { contentSecurityPolicy } from './page.ts'
import { routes } from './route.ts'
import { renderExpired, renderTooMany } from './sign-in-pages.ts'
import { returnAttempt, takeAttempt } from './sign-in-throttle.ts'

/** The pages on which a person enters the code that a device shows. `findName` gives the userPrincipalName of an account. */
export function createDeviceFlow(findName: (accountId: string) => Promise<string | undefined>) {
  return {
    enabled: true,
    charset: 'base-20' as const,
    mask: '****-****',
    deviceInfo: () => ({}),

    userCodeInputSource: async (ctx: KoaContextWithOIDC, _form: string, _out?: unknown, err?: unknown) => {
      const { userCode, name } = (err ?? {}) as { userCode?: string; name?: string }
      const fault = err ? describeFault(name ?? '') : undefined
      show(
        ctx,
        renderCodeInput({
          ...formOf(ctx),
          userCode: userCode ?? String(ctx.state.userCode ?? ''),
          ...(fault && { fault }),
        }),
      )
    },

    userCodeConfirmSource: async (
      ctx: KoaContextWithOIDC,
      _form: string,
      client: { clientName?: string | undefined; clientId: string },
      _deviceInfo: unknown,
      userCode: string,
    ) => {
      const accountId = ctx.oidc.session?.accountId
      show(
        ctx,
        renderCodeConfirmation({
          ...formOf(ctx),
          userCode,
          clientName: client.clientName ?? client.clientId,
          clientId: client.clientId,
          isOwn: isFirstParty(client.clientId),
          userPrincipalName: accountId === undefined ? undefined : await findName(accountId),
        }),
      )
    },

    successSource: async (ctx: KoaContextWithOIDC) => show(ctx, renderDeviceDone()),
  }
}

const pollSeconds = 5

/** Members that the official clients read besides the standard ones: the polling interval and a text for the person. */
export function describeDeviceCode(answer: { verification_uri?: unknown; user_code?: unknown }) {
  return {
    interval: pollSeconds,
    message: `To sign in, open ${answer.verification_uri} in a browser and enter the code ${answer.user_code}.`,
  }
}

function formOf(ctx: KoaContextWithOIDC) {
  const state = ctx.oidc.session?.state as { secret?: string } | undefined
  return { action: new URL(ctx.oidc.urlFor('code_verification')).pathname, xsrf: state?.secret ?? '' }
}

function describeFault(name: string): string {
  if (name === 'AbortedError') return 'The sign-in was cancelled. You can close this page.'
  if (name === 'NotFoundError' || name === 'NoCodeError')
    return 'There is no such code. Check it and try again.'
  if (name === 'ExpiredError') return 'This code has expired. Start again on the device.'
  if (name === 'AlreadyUsedError') return 'This code was used already. Start again on the device.'
  return 'This did not work. Start again on the device.'
}

function show(ctx: KoaContextWithOIDC, html: string): void {
  ctx.type = 'html'
  ctx.set('cache-control', 'no-store')
  ctx.set('content-security-policy', contentSecurityPolicy())
  ctx.body = html
}

/**
 * User codes are short, so guesses are counted like those of a password. A code that came with the link is put into
 * the form for the person to see and send: the library would send it by a script.
 */
export function guardUserCodes(sql: Query, provider: Provider) {
  return async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    if (ctx.path.startsWith(`${routes.code_verification}/`) && !(await hasSession(ctx, provider)))
      return showExpired(ctx)
    if (ctx.path !== routes.code_verification) return next()
    if (ctx.method === 'GET' || ctx.method === 'HEAD') {
      ctx.state.userCode = typeof ctx.query.user_code === 'string' ? ctx.query.user_code.slice(0, 20) : ''
      ctx.querystring = ''
      return next()
    }
    if (ctx.method !== 'POST') {
      ctx.status = 405
      ctx.set('allow', 'GET, HEAD, POST')
      return
    }
    if (isCrossSite(ctx) || !(await hasSession(ctx, provider))) return showExpired(ctx)
    const subjects = { address: clientAddressOf(ctx.req) }
    const waitSeconds = await takeAttempt(sql, subjects)
    if (waitSeconds > 0) {
      ctx.status = 429
      ctx.set('retry-after', String(waitSeconds))
      return show(ctx, renderTooMany(waitSeconds))
    }
    await next()
    if (ctx.oidc.entities.DeviceCode) await returnAttempt(sql, subjects)
  }
}

function showExpired(ctx: KoaContextWithOIDC): void {
  ctx.status = 400
  show(ctx, renderExpired())
}

/** The page with the form gave the browser a session. The library fails without one. */
async function hasSession(ctx: KoaContextWithOIDC, provider: Provider): Promise<boolean> {
  const id = ctx.cookies.get(provider.cookieName('session'), { signed: true })
  return id !== undefined && (await provider.Session.find(id)) !== undefined
}
