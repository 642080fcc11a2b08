import { createHash, X509Certificate } from 'node:crypto'
import { decodeProtectedHeader, type ProtectedHeaderParameters } from 'jose'
import { type Client, errors, type KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { KeyCredential } from '../directory/applications/find-client-application.ts'
import { noteCertificate } from './client-proof.ts'

/** The algorithms that the official clients sign assertions with. */
export const assertionAlgorithms = ['RS256', 'PS256', 'ES256'] as const

/** An assertion that lives longer is refused: until its end its id is kept, and a stolen one works. */
const longestLifetimeSeconds = 60 * 60

/**
 * The part of a client's metadata for a request with an assertion: the certificates of the application that are valid now.
 * Undefined for other requests, and for an application without such a certificate, which then needs its secret.
 */
export function describeKeys(credentials: readonly KeyCredential[]) {
  const assertion = Provider.ctx?.oidc.params?.client_assertion
  if (typeof assertion !== 'string') return undefined
  const now = new Date().toISOString()
  const valid = credentials.filter((one) => one.startDateTime <= now && one.endDateTime > now)
  if (valid.length === 0) return undefined
  const header = readHeader(assertion)
  return {
    token_endpoint_auth_method: 'private_key_jwt' as const,
    jwks: { keys: valid.map((credential) => describeKey(credential, header)) },
  }
}

function readHeader(assertion: string): ProtectedHeaderParameters {
  try {
    return decodeProtectedHeader(assertion)
  } catch {
    return {}
  }
}

/** Clients name the certificate by its thumbprint, in one of several spellings; some do so in `kid` too. */
function describeKey({ key, keyId }: KeyCredential, { kid }: { readonly kid?: unknown }) {
  const certificate = new X509Certificate(Buffer.from(key, 'base64'))
  const thumbprint = createHash('sha1').update(certificate.raw).digest()
  const padded = thumbprint.toString('base64').replaceAll('+', '-').replaceAll('/', '_')
  const names = [padded, thumbprint.toString('base64url'), thumbprint.toString('hex'), keyId]
  const isNamed = typeof kid === 'string' && names.some((name) => name.toLowerCase() === kid.toLowerCase())
  return {
    ...certificate.publicKey.export({ format: 'jwk' }),
    use: 'sig',
    kid: isNamed ? kid : keyId,
    x5t: thumbprint.toString('base64url'),
    'x5t#S256': createHash('sha256').update(certificate.raw).digest('base64url'),
  }
}

/**
 * Refuses an assertion that names another certificate than those of the client, or that lives too long. The library has verified the
 * signature: what is left is to note by which certificate.
 */
export async function checkAssertion(
  ctx: KoaContextWithOIDC,
  { exp }: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>>,
  client: Client,
): Promise<void> {
  if (Number(exp) > Date.now() / 1000 + longestLifetimeSeconds)
    throw new errors.InvalidClientAuth('the assertion lives too long')
  const keys = (client.jwks?.keys ?? []) as readonly Readonly<Record<string, unknown>>[]
  const names = ['x5t', 'x5t#S256'].filter((name) => header[name] !== undefined)
  for (const name of names)
    if (!keys.some((key) => key[name] === asBase64Url(header[name])))
      throw new errors.InvalidClientAuth('the assertion names another certificate')
  await noteCertificate(ctx, client, (key) => names.every((name) => key[name] === asBase64Url(header[name])))
}

function asBase64Url(value: unknown): string {
  return Buffer.from(String(value), 'base64').toString('base64url')
}
