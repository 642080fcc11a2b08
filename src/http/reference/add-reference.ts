import { readFile } from 'node:fs/promises'
import fastify, { type FastifyInstance } from 'fastify'
import { firstPartyApplications } from '../../auth/first-party.ts'
import { type Compressed, compress, sendCompressed } from '../compress.ts'

// Scripts and requests from here alone. The reference writes styles into the page.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer"><title>API reference · Masquerade</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/docs/page.css"></head>
<body><div id="reference" data-client-id="${firstPartyApplications.portal.appId}"></div>
<noscript>The reference needs scripts. The same as data: <a href="/openapi.json">openapi.json</a>.</noscript>
<script src="/docs/reference.js" defer></script><script src="/docs/start.js" type="module"></script></body></html>`

/** The window of a sign-in ends here: the page that opened it reads the address and closes it. */
export const signedInPath = '/docs/signed-in'
const signedIn = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<title>Signed in · Masquerade</title><link rel="icon" href="data:,"></head><body>Signed in.</body></html>`

/** A file that is made when it is first asked for, and kept. */
interface Asset {
  readonly type: string
  readonly make: () => Promise<string>
}

const assets: Readonly<Record<string, Asset>> = {
  '/docs/reference.js': { type: 'text/javascript; charset=utf-8', make: readReference },
  '/docs/start.js': { type: 'text/javascript; charset=utf-8', make: () => readBeside('start.js') },
  '/docs/page.css': { type: 'text/css; charset=utf-8', make: () => readBeside('page.css') },
}

/** The API reference at `/docs`: a page that is served from here as a whole. */
export function addReference(app: FastifyInstance): void {
  for (const [path, html] of [
    ['/docs', page],
    [signedInPath, signedIn],
  ] as const)
    app.get(path, async (_request, reply) =>
      reply
        .type('text/html; charset=utf-8')
        .header('content-security-policy', policy)
        .header('referrer-policy', 'no-referrer')
        .send(html),
    )
  for (const [path, asset] of Object.entries(assets)) {
    let made: Promise<Compressed> | undefined
    app.get(path, async (request, reply) => {
      made ??= asset.make().then(compress)
      return sendCompressed(
        request,
        reply.type(asset.type).header('cache-control', 'max-age=3600'),
        await made,
      )
    })
  }
}

function readBeside(name: string): Promise<string> {
  return readFile(new URL(name, import.meta.url), 'utf8')
}

/** The package hands out its script by a route alone. It is loaded when a reader comes: it has four megabytes. */
async function readReference(): Promise<string> {
  const { default: plugin } = await import('@scalar/fastify-api-reference')
  const carrier = fastify()
  await carrier.register(plugin, { routePrefix: '/docs', configuration: { url: '/openapi.json' } })
  const { body } = await carrier.inject('/docs/js/scalar.js')
  await carrier.close()
  return body.replace(/\n\/\/# sourceMappingURL=.*$/, '')
}
