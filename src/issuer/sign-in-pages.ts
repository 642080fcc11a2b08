import { knownPermissions } from '../auth/known-permissions.ts'
import type { Registrar } from '../directory/applications/find-registrar.ts'
import { escapeHtml, renderFault, renderHidden, renderPage } from './page.ts'

const signInScopeWords: Readonly<Record<string, string>> = {
  openid: 'Sign you in',
  profile: 'See your name',
  email: 'See your e-mail address',
  offline_access: 'Stay signed in for you while you are away',
}

interface Form {
  /** Path that the form is sent to. */
  readonly action: string
  readonly formToken: string
}

export const refusedText = 'The user name or the password is not right.'

export interface SignInForm extends Form {
  readonly clientName: string
  readonly userPrincipalName: string
  readonly fault?: string
}

export function renderSignIn(form: SignInForm): string {
  return renderPage(
    'Sign in',
    `<p>to continue to <strong><bdi>${escapeHtml(form.clientName)}</bdi></strong></p>
${form.fault ? renderFault(form.fault) : ''}
<form method="post" action="${escapeHtml(form.action)}">${renderHidden({ step: 'sign in', token: form.formToken })}
<label for="user">User name</label>
<input id="user" name="user" value="${escapeHtml(form.userPrincipalName)}" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="320">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="256">
<button class="main" type="submit">Sign in</button>
<button type="submit" name="cancel" value="yes" formnovalidate>Cancel</button></form>`,
  )
}

export function renderNewPassword(form: Omit<SignInForm, 'clientName'>): string {
  return renderPage(
    'Choose a new password',
    `<p>The password of <strong>${escapeHtml(form.userPrincipalName)}</strong> has to be changed before you go on.</p>
${form.fault ? renderFault(form.fault) : ''}
<form method="post" action="${escapeHtml(form.action)}">${renderHidden({ step: 'new password', token: form.formToken, user: form.userPrincipalName })}
<label for="password">Present password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="256">
<label for="next">New password</label>
<input id="next" name="next" type="password" autocomplete="new-password" required maxlength="256">
<label for="again">New password again</label>
<input id="again" name="again" type="password" autocomplete="new-password" required maxlength="256">
<button class="main" type="submit">Change and sign in</button></form>`,
  )
}

/** Where an application comes from, by facts that its owner cannot make up. */
export interface ClientOrigin {
  readonly clientId: string
  /** An application of this service itself. */
  readonly isOwn: boolean
  /** Undefined: it is not known. */
  readonly registrar: Registrar | undefined
  readonly redirectUri?: string
}

export interface ConsentForm extends Form {
  readonly clientName: string
  readonly origin: ClientOrigin
  readonly userPrincipalName: string
  readonly scopes: readonly string[]
  /** The code of the device that waits for the sign-in. */
  readonly userCode?: string
}

export function renderConsent(form: ConsentForm): string {
  return renderPage(
    'Allow access?',
    `<p><strong><bdi>${escapeHtml(form.clientName)}</bdi></strong> wants to act for you, <strong>${escapeHtml(form.userPrincipalName)}</strong>:</p>
${renderScopes(form.scopes)}
${renderOrigin(form.origin)}
${form.userCode === undefined ? '' : renderDevice(form.userCode)}
<form method="post" action="${escapeHtml(form.action)}">${renderHidden({ step: 'consent', token: form.formToken })}
<button class="main" type="submit">Allow</button>
<button type="submit" name="cancel" value="yes">Cancel</button></form>`,
  )
}

function renderDevice(userCode: string): string {
  return `<p>It does so on the device that shows this code:</p>
<p class="code">${escapeHtml(userCode)}</p>
<p>Allow it only if you see the code on a device of your own. If a link brought you here, it is an attempt to sign in as you.</p>`
}

/** For permissions that only an administrator can consent to. */
export function renderApprovalNeeded(form: ConsentForm): string {
  return renderPage(
    'An administrator has to approve',
    `<p><strong><bdi>${escapeHtml(form.clientName)}</bdi></strong> asks for permissions that only an administrator can grant:</p>
${renderScopes(form.scopes)}
${renderOrigin(form.origin)}
<form method="post" action="${escapeHtml(form.action)}">${renderHidden({ step: 'consent', token: form.formToken })}
<button class="main" type="submit" name="cancel" value="yes">Back to the application</button></form>`,
  )
}

function renderOrigin({ clientId, isOwn, registrar, redirectUri }: ClientOrigin): string {
  const whose = isOwn
    ? 'It is a part of Masquerade.'
    : `It is <strong>not</strong> a part of Masquerade. ${renderRegistrar(registrar)} Its owners choose its name.`
  const answers = redirectUri === undefined ? '' : ` The answer goes to ${strong(nameTarget(redirectUri))}.`
  return `<p>${whose} Application id: ${strong(clientId)}.${answers}</p>`
}

function renderRegistrar(registrar: Registrar | undefined): string {
  if (!registrar) return 'It is not known who registered it here.'
  if (registrar.kind === 'operator') return 'It was registered here by an administrator.'
  if (registrar.kind === 'application')
    return `It was registered here by the application ${strong(registrar.appId)}.`
  const { userPrincipalName } = registrar
  return userPrincipalName === undefined
    ? 'It was registered here by a person who has no account any more.'
    : `It was registered here by ${strong(userPrincipalName)}.`
}

function strong(text: string): string {
  return `<strong>${escapeHtml(text)}</strong>`
}

/** The origin of a web address, and the scheme of one that a program registered. */
function nameTarget(redirectUri: string): string {
  const url = URL.parse(redirectUri)
  return url === null || url.origin === 'null' ? redirectUri.split(':', 1).join('') : url.origin
}

function renderScopes(scopes: readonly string[]): string {
  const items = scopes.map((name) => {
    const words = signInScopeWords[name] ?? knownPermissions[name]?.description
    return `<li>${words ? `${escapeHtml(words)} (${escapeHtml(name)})` : escapeHtml(name)}</li>`
  })
  return items.length > 0 ? `<ul>${items.join('')}</ul>` : ''
}

export function renderTooMany(waitSeconds: number): string {
  return renderPage(
    'Too many attempts',
    renderFault(`There were too many failed sign-ins. Try again in ${waitSeconds} seconds.`),
  )
}

export function renderExpired(): string {
  return renderPage(
    'This sign-in has expired',
    '<p>Go back to the application and start again. Cookies have to be allowed for this site.</p>',
  )
}
