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

const style = `:root{color-scheme:light dark;
--canvas:light-dark(#f8f8fa,#0e0e12);--surface:light-dark(#fff,#15151a);--border:light-dark(#e3e3e9,#2a2a34);
--control:light-dark(#8e8e9c,#6c6c7c);--hover:light-dark(#f1f1f5,#1f1f27);--text:light-dark(#1a1a21,#ededf2);
--text-2:light-dark(#53535f,#b1b1bf);--accent:light-dark(#4f46e5,#625af0);--bad:light-dark(#b42318,#ff9d92);
--bad-soft:light-dark(#fdeeec,#301714)}
*{box-sizing:border-box}
body{font:.875rem/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;margin:0;padding:1rem;display:grid;
min-height:100vh;place-items:center;background:var(--canvas);color:var(--text)}
main{width:min(24rem,100%);padding:2rem;border:1px solid var(--border);border-radius:.625rem;background:var(--surface);
box-shadow:0 8px 24px light-dark(rgb(20 20 40/8%),rgb(0 0 0/50%))}
.mark{display:block;width:2.25rem;height:2.25rem;margin-bottom:1rem}
h1{font-size:1.25rem;line-height:1.3;font-weight:600;letter-spacing:-.01em;margin:0 0 .25rem}
p{margin:.25rem 0 .75rem;color:var(--text-2)}strong{color:var(--text)}ul{padding-left:1.2rem;color:var(--text-2)}
label{display:block;margin:1rem 0 .25rem;font-size:.8125rem;font-weight:500}
input{width:100%;font:inherit;color:inherit;min-height:2.25rem;padding:.25rem .625rem;border:1px solid var(--control);
border-radius:.375rem;background:var(--surface)}
button{font:inherit;font-weight:500;color:inherit;min-height:2.25rem;margin:1.25rem .5rem 0 0;padding:0 1rem;
border:1px solid var(--control);border-radius:.375rem;background:var(--surface);cursor:pointer}
button:hover{background:var(--hover)}
button.main{background:var(--accent);border-color:transparent;color:#fff}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.fault{background:var(--bad-soft);color:var(--bad);padding:.5rem .75rem;border-radius:.375rem}
.fault strong{color:inherit}
.code{font:600 1.5rem/1.4 ui-monospace,monospace;letter-spacing:.1em;color:var(--text)}`

const styleHash = createHash('sha256').update(style).digest('base64')

/** The product's mark, drawn: the pages fetch nothing. */
const mark = `<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#4f46e5"/><path d="M5 12.5c3.6-2.2 7.2-2.2 11 0 3.8-2.2 7.4-2.2 11 0 .8 6.5-1.8 9.5-5.6 9.5-2.6 0-4.2-1.6-5.4-3.6-1.2 2-2.8 3.6-5.4 3.6C6.8 22 4.2 19 5 12.5Z" fill="#fff"/><ellipse cx="10.7" cy="15.6" rx="2.6" ry="1.7" fill="#4f46e5"/><ellipse cx="21.3" cy="15.6" rx="2.6" ry="1.7" fill="#4f46e5"/></svg>`

/** A whole page: no script, nothing from elsewhere. `body` is HTML. */
export function renderPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer"><meta name="robots" content="noindex">
<title>${escapeHtml(title)} · Masquerade</title><style>${style}</style></head>
<body><main>${mark}<h1>${escapeHtml(title)}</h1>
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
