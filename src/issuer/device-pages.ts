import { escapeHtml, renderFault, renderHidden, renderPage } from './page.ts'

interface CodeForm {
  readonly action: string
  readonly xsrf: string
  readonly userCode: string
  readonly fault?: string
}

export function renderCodeInput({ action, xsrf, userCode, fault }: CodeForm): string {
  return renderPage(
    'Connect a device',
    `${fault ? renderFault(fault) : ''}
<form method="post" action="${escapeHtml(action)}">${renderHidden({ xsrf })}
<label for="code">Code that the device shows</label>
<input id="code" class="code" name="user_code" value="${escapeHtml(userCode)}" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="20">
<button class="main" type="submit">Continue</button></form>`,
  )
}

interface Client {
  readonly clientName: string
  readonly clientId: string
  /** An application of this service itself. */
  readonly isOwn: boolean
  /** The person who is signed in. */
  readonly userPrincipalName?: string | undefined
}

export function renderCodeConfirmation(form: CodeForm & Client): string {
  const { action, xsrf, userCode, clientName, clientId, isOwn, userPrincipalName: name } = form
  const account = name && `<p>It will be signed in as <strong>${escapeHtml(name)}</strong>.</p>`
  const whose = isOwn ? 'a part' : '<strong>not</strong> a part'
  return renderPage(
    'Is this your device?',
    `<p><strong><bdi>${escapeHtml(clientName)}</bdi></strong> on your device shows this code:</p>
<p class="code">${escapeHtml(userCode)}</p>
<p>It is ${whose} of Masquerade. Application id: <strong>${escapeHtml(clientId)}</strong>.</p>
${account ?? ''}
<p>Go on only if you started this yourself. A code that reached you by mail or telephone is an attempt to sign in as you.</p>
<form method="post" action="${escapeHtml(action)}">${renderHidden({ xsrf, user_code: userCode })}
<button class="main" type="submit" name="confirm" value="yes">Continue</button>
<button type="submit" name="abort" value="yes">Cancel</button></form>`,
  )
}

export function renderDeviceDone(): string {
  return renderPage('You are signed in', '<p>Go back to your device. This page can be closed.</p>')
}
