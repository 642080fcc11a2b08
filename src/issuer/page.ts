import { createHash } from 'node:crypto'

/** Text that is safe between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

const style = `:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;margin:0;display:grid;min-height:100vh;place-items:center}
main{width:min(24rem,100% - 2rem);padding:2rem 0}
h1{font-size:1.5rem;line-height:1.2}
label{display:block;margin-top:1rem;font-weight:600}
input{box-sizing:border-box;width:100%;font:inherit;padding:.6rem;border:1px solid #767676;border-radius:.3rem}
button{font:inherit;margin:1.25rem .5rem 0 0;padding:.6rem 1.2rem;border:1px solid #767676;border-radius:.3rem;cursor:pointer}
button.main{background:#0b57d0;border-color:#0b57d0;color:#fff}
:focus-visible{outline:3px solid #f29900;outline-offset:2px}
.fault{border-left:.3rem solid #b3261e;padding:.2rem .8rem}
.code{font:600 1.5rem/1.4 ui-monospace,monospace;letter-spacing:.1em}`

const styleHash = createHash('sha256').update(style).digest('base64')

/** A whole page: no script, nothing from elsewhere. `body` is HTML. */
export function renderPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer"><meta name="robots" content="noindex">
<title>${escapeHtml(title)} · Masquerade</title><style>${style}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>
${body}</main></body></html>`
}

export function renderFault(text: string): string {
  return `<p class="fault" role="alert">${escapeHtml(text)}</p>`
}

export function renderHidden(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`)
    .join('')
}

/** Browsers hold a form to this list through the redirects that follow it, so the client's address is in it. */
export function contentSecurityPolicy(redirectUri?: unknown): string {
  const target = typeof redirectUri === 'string' ? sourceOf(redirectUri) : ''
  return `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'${target}; frame-ancestors 'none'; base-uri 'none'`
}

function sourceOf(redirectUri: string): string {
  const url = URL.parse(redirectUri)
  if (!url) return ''
  return url.origin === 'null' ? ` ${url.protocol}` : ` ${url.origin}`
}

/** For pages that the library writes: it adds the hash of its one script. */
export const libraryPagePolicy =
  "default-src 'none'; script-src 'none'; frame-ancestors 'none'; base-uri 'none'"
