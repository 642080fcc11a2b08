import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type BuiltFile, readBuilt } from './read-built.ts'
import { portalSections } from './sections.ts'

const noncePlaceholder = '__NONCE__'
const issuerPlaceholder = '__ISSUER__'
const yearSeconds = 365 * 24 * 60 * 60

type SendPage = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/**
 * Serves the portal: its page at its own addresses, and the built files under names that hold their hash. Returns what
 * answers a browser at `/`; undefined where there is no portal. The page names the issuer, which is known once the service
 * listens.
 */
export async function addPortal(
  app: FastifyInstance,
  folder: string | undefined,
  issuer: () => string,
): Promise<SendPage | undefined> {
  if (folder === undefined) return undefined
  const { page, files } = await readBuilt(folder)
  const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
    if (!wantsPage(request)) return reply.callNotFound()
    const nonce = randomBytes(16).toString('base64')
    return reply
      .type('text/html; charset=utf-8')
      .headers({
        'content-security-policy': contentSecurityPolicy(nonce),
        'cross-origin-opener-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        vary: 'accept',
      })
      .send(page.replace(noncePlaceholder, nonce).replace(issuerPlaceholder, () => issuer()))
  }
  for (const section of portalSections) {
    app.get(`/${section}`, sendPage)
    app.get(`/${section}/*`, sendPage)
  }
  for (const [path, file] of files)
    app.get(path, async (request, reply) => sendFile(request, reply, path, file))
  return sendPage
}

/** Programs that ask for JSON at these addresses get the same answer as at any unknown one. */
function wantsPage({ headers }: FastifyRequest): boolean {
  return /\btext\/html\b/i.test(headers.accept ?? '')
}

/** The libraries of the portal that make style elements at run time mark them with the nonce; nothing else is inline. */
function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

function sendFile(request: FastifyRequest, reply: FastifyReply, path: string, file: BuiltFile) {
  const accepted = String(request.headers['accept-encoding'] ?? '')
  const encoding = (['br', 'gzip'] as const).find((name) => file[name] && accepted.includes(name))
  const isHashed = path.startsWith('/assets/')
  if (encoding) reply.header('content-encoding', encoding)
  return reply
    .type(file.contentType)
    .header('vary', 'accept-encoding')
    .header('cache-control', isHashed ? `public, max-age=${yearSeconds}, immutable` : 'public, max-age=3600')
    .send(encoding ? file[encoding] : file.plain)
}
