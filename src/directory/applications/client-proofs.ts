import type { Fragment, Query } from '../../db/query.ts'

/**
 * Those of the proofs whose secret or certificate the application still has, expired ones included. A proof names the application,
 * and the keyId of a secret or the SHA-256 thumbprint of a certificate.
 */
export async function findKeptProofs(
  sql: Query,
  tenantId: string,
  proofs: readonly string[],
): Promise<Set<string>> {
  const rows = await sql<{ proof: string }[]>`
    select proof from unnest(${proofs}::text[]) as proof,
      lateral (select split_part(proof, '/', 1)::uuid as application_id, split_part(proof, '/', 2) as name) as named
    where ${hasSecret(sql, tenantId)} or exists (
      select from directory_object as application,
        jsonb_path_query(application.properties, '$.keyCredentials[*]') as certificate
      where application.tenant_id = ${tenantId} and application.id = named.application_id
        and application.kind = 'application' and translate(
          encode(sha256(decode(certificate ->> 'key', 'base64')), 'base64'), '+/=', '-_') = named.name)`
  return new Set(rows.map(({ proof }) => proof))
}

/**
 * A condition for a larger statement: false only when the application has all the secrets. A certificate is always in doubt, as the
 * transaction that asks may have added it again.
 */
export function mayLackProof(sql: Query, tenantId: string, proofs: readonly string[]): Fragment {
  return sql`exists (
    select from unnest(${proofs}::text[]) as proof,
      lateral (select split_part(proof, '/', 1)::uuid as application_id, split_part(proof, '/', 2) as name) as named
    where not ${hasSecret(sql, tenantId)})`
}

function hasSecret(sql: Query, tenantId: string): Fragment {
  return sql`exists (
    select from application_secret as secret
    where secret.tenant_id = ${tenantId} and secret.application_id = named.application_id
      and secret.key_id::text = named.name)`
}
