import { createPublicKey } from 'node:crypto'
import { compactVerify, type JWK } from 'jose'
import { type Client, errors, type KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { Query } from '../db/query.ts'
import { findSecret } from '../directory/applications/application-secret.ts'
import { findKeptProofs } from '../directory/applications/client-proofs.ts'
import { clientFactsOf } from './client-facts.ts'

/** Names the secret or certificate by which the client of a request proved itself. */
const provenBy = new WeakMap<object, string>()

function noteProof({ oidc }: KoaContextWithOIDC, client: Client, name: string): void {
  provenBy.set(oidc, `${clientFactsOf(client).applicationId}/${name}`)
}

/** Compares the secrets that clients send with the stored hashes. */
export function compareSecrets(provider: Provider, sql: Query, tenantId: string): void {
  const compareClientSecret = async function (this: Client, actual: string): Promise<boolean> {
    const keyId = await findSecret(sql, tenantId, clientFactsOf(this).applicationId, actual)
    if (keyId !== undefined && Provider.ctx) noteProof(Provider.ctx, this, keyId)
    return keyId !== undefined
  }
  Object.assign(provider.Client.prototype, { compareClientSecret })
}

/**
 * Notes the certificate that an assertion was signed for. The library does not tell which one that was, and accepts an assertion that
 * names one certificate and is signed by the key of another. Of certificates with one key the named one counts.
 */
export async function noteCertificate(
  ctx: KoaContextWithOIDC,
  client: Client,
  isNamed: (key: Readonly<Record<string, unknown>>) => boolean,
): Promise<void> {
  const assertion = String(ctx.oidc.params?.client_assertion)
  const keys = [...(client.jwks?.keys ?? [])] as (JWK & Record<string, unknown>)[]
  for (const key of keys.toSorted((a, b) => Number(isNamed(b)) - Number(isNamed(a))))
    if (await isSignedBy(assertion, key)) return noteProof(ctx, client, String(key['x5t#S256']))
  throw new errors.InvalidClientAuth('the assertion is signed by no certificate of the application')
}

async function isSignedBy(assertion: string, key: JWK): Promise<boolean> {
  try {
    await compactVerify(assertion, createPublicKey({ format: 'jwk', key }))
    return true
  } catch {
    return false
  }
}

/** The proof of the client of a request; undefined for a public client. Throws for any other client that has proven nothing. */
export function readProof({ oidc }: KoaContextWithOIDC, client: Client): string | undefined {
  const proof = provenBy.get(oidc)
  if (proof === undefined && client.clientAuthMethod !== 'none')
    throw new errors.InvalidClientAuth('the client has not proven itself')
  return proof
}

/**
 * How many seconds the secret or certificate of the client of a request lasts; undefined where the client proved itself by none. Throws
 * for less than a second: a token has at least one.
 */
export async function countSecondsOfProof(
  { oidc }: KoaContextWithOIDC,
  sql: Query,
  tenantId: string,
): Promise<number | undefined> {
  const proof = provenBy.get(oidc)
  if (proof === undefined) return undefined
  const endsAtMs = (await findKeptProofs(sql, tenantId, [proof])).get(proof) ?? 0
  const seconds = Math.floor((endsAtMs - Date.now()) / 1000)
  if (seconds < 1) throw new errors.InvalidClientAuth('the secret or certificate ends now, or was removed')
  return seconds
}

/** Refuses a client whose secret or certificate ended or was removed since it proved itself. */
export async function requireStandingProof(
  ctx: KoaContextWithOIDC,
  sql: Query,
  tenantId: string,
  client: Client,
): Promise<void> {
  const proof = readProof(ctx, client)
  if (proof !== undefined && !(await findKeptProofs(sql, tenantId, [proof])).has(proof))
    throw new errors.InvalidClientAuth('the secret or certificate has ended')
}
