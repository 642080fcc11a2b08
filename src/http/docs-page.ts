import type { Operation } from '../api/operation.ts'
import type { Surface } from '../kernel/surface.ts'
import { openApiPath } from './description/describe-operation.ts'
import { permissionInWords } from './description/describe-security.ts'

const titles: Record<Surface, string> = { masking: 'Masking API', directory: 'Directory API' }

/** The operations as one page for people: no script, nothing fetched from elsewhere. */
export function renderDocs(operations: readonly Operation<never>[], version: string): string {
  const parts = (['masking', 'directory'] as const)
    .map((surface) => ({ surface, list: operations.filter((operation) => operation.surface === surface) }))
    .filter(({ list }) => list.length > 0)
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Masquerade API</title><style>${style}</style>
<header><h1>Masquerade API</h1><p>Version ${escapeHtml(version)}. The same as data: <a href="/openapi.json">openapi.json</a>.
Every call carries <code>Authorization: Bearer &lt;token&gt;</code>; <code>masquerade token --admin</code> prints one.</p>
<nav>${parts.map(({ surface, list }) => renderIndex(surface, list)).join('')}</nav></header>
<main>${parts.map(({ surface, list }) => `<h2>${titles[surface]}</h2>${list.map(renderOperation).join('')}`).join('')}</main></html>`
}

function renderIndex(surface: Surface, list: readonly Operation<never>[]): string {
  const items = list.map(
    (operation) => `<li><a href="#${operation.name}">${escapeHtml(operation.summary)}</a></li>`,
  )
  return `<section><strong>${titles[surface]}</strong><ul>${items.join('')}</ul></section>`
}

function renderOperation(operation: Operation<never>): string {
  const paths = operation.paths.map(
    (path) => `<code><b>${operation.method}</b> ${escapeHtml(openApiPath(operation, path))}</code>`,
  )
  const answers = Object.keys(operation.answers).join(', ')
  const query = Object.keys(operation.query?.properties ?? {})
  return `<article id="${operation.name}"><h3>${escapeHtml(operation.summary)}</h3><p>${paths.join('<br>')}</p>
<p>${escapeHtml(permissionInWords(operation.permission))}</p>
${query.length > 0 ? `<p>Query: ${query.map((name) => `<code>${escapeHtml(name)}</code>`).join(', ')}</p>` : ''}
${operation.body ? `<details><summary>Body</summary><pre>${escapeHtml(JSON.stringify(operation.body, null, 2))}</pre></details>` : ''}
<p class="quiet">Success: ${answers}. Clause ${escapeHtml(operation.clause)}.</p></article>`
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

const style = `
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}
nav{display:grid;grid-template-columns:repeat(auto-fit,minmax(18rem,1fr));gap:1rem}nav ul{padding-left:1.2rem}
article{border-top:1px solid #8884;padding:.5rem 0}h3{margin:.5rem 0}code,pre{font:14px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}
pre{overflow:auto;background:#8881;padding:.7rem;border-radius:.4rem}.quiet{opacity:.7}`
