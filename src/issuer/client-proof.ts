import { type Client, errors, type KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { Query } from '../db/query.ts'
import { findSecret, isSecretKept } from '../directory/applications/application-secret.ts'
import { clientFactsOf } from './client-facts.ts'

/** The id of the secret by which the client of a request proved itself. */
const provenBy = new WeakMap<object, string>()

/** Compares the secrets that clients send with the stored hashes. */
export function compareSecrets(provider: Provider, sql: Query, tenantId: string): void {
  const compareClientSecret = async function (this: Client, actual: string): Promise<boolean> {
    const keyId = await findSecret(sql, tenantId, clientFactsOf(this).applicationId, actual)
    if (keyId !== undefined && Provider.ctx) provenBy.set(Provider.ctx.oidc, keyId)
    return keyId !== undefined
  }
  Object.assign(provider.Client.prototype, { compareClientSecret })
}

/**
 * Refuses a client whose secret or certificate was removed since it proved itself. `present`: the client as it is now. The library does
 * not tell which certificate an assertion was signed for, so the loss of any of them counts: a client that has another asks again.
 */
export async function requireStandingProof(
  { oidc }: KoaContextWithOIDC,
  sql: Query,
  tenantId: string,
  client: Client,
  present: Client,
): Promise<void> {
  const keyId = provenBy.get(oidc)
  const isKept =
    keyId === undefined || (await isSecretKept(sql, tenantId, clientFactsOf(client).applicationId, keyId))
  const kept = new Set(thumbprintsOf(present))
  if (!isKept || !thumbprintsOf(client).every((thumbprint) => kept.has(thumbprint)))
    throw new errors.InvalidClientAuth('the secret or certificate was removed')
}

/** Of the certificates of a client that sent an assertion; none for other clients. */
function thumbprintsOf({ jwks }: Client): unknown[] {
  return (jwks?.keys ?? []).map((key) => (key as Readonly<Record<string, unknown>>)['x5t#S256'])
}
