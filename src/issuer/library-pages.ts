import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { describeOutage } from './describe-outage.ts'
import { contentSecurityPolicy, escapeHtml, renderFault, renderHidden, renderPage } from './page.ts'

/** Shows the person an error that the library cannot send to the client: it does not trust the redirect address. */
export async function renderLibraryError(
  ctx: KoaContextWithOIDC,
  out: ErrorOut,
  failure?: unknown,
): Promise<void> {
  const outage = describeOutage(failure)
  show(ctx, renderErrorPage(outage?.error ?? out.error, outage?.description ?? out.error_description))
}

export function renderErrorPage(error: string, description = error): string {
  return renderPage(
    'This sign-in cannot go on',
    `${renderFault(`${description} (${error})`)}<p>Go back to the application and start again.</p>`,
  )
}

/** `form` comes from the library and holds its token; only that is taken over. */
export async function renderLogout(ctx: KoaContextWithOIDC, form: string): Promise<void> {
  const xsrf = /name="xsrf" value="([^"]*)"/.exec(form)?.[1] ?? ''
  const action = new URL(ctx.oidc.urlFor('end_session_confirm')).pathname
  show(
    ctx,
    renderPage(
      'Sign out?',
      `<form method="post" action="${escapeHtml(action)}">${renderHidden({ xsrf })}
<button class="main" type="submit" name="logout" value="yes">Sign out</button>
<button type="submit">Stay signed in</button></form>`,
    ),
    ctx.oidc.params?.post_logout_redirect_uri,
  )
}

export async function renderLogoutDone(ctx: KoaContextWithOIDC): Promise<void> {
  show(ctx, renderPage('You are signed out', '<p>This page can be closed.</p>'))
}

function show(ctx: KoaContextWithOIDC, html: string, redirectUri?: unknown): void {
  ctx.type = 'html'
  ctx.set('cache-control', 'no-store')
  ctx.set('content-security-policy', contentSecurityPolicy(redirectUri))
  ctx.body = html
}
