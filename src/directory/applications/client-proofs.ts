import { createHash } from 'node:crypto'
import type { Fragment, Query } from '../../db/query.ts'

/** Stands in a proof for the right to sign in devices. No address is like it: each has a colon. */
export const devicePlace = 'device'

/** Names in a proof a registered address, or `devicePlace`. No certificate has such a thumbprint: none begins with these letters. */
export function namePlace(place: string): string {
  return createHash('sha256').update(`${placePrefix}${place}`).digest('base64url')
}

const placePrefix = 'address '

/**
 * Those of the proofs whose secret, certificate or address the application still has, expired ones included. A proof names the
 * application, and the keyId of a secret, the SHA-256 thumbprint of a certificate, or an address by `namePlace`.
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
      select from directory_object as application, lateral (
        select decode(certificate ->> 'key', 'base64')
        from jsonb_path_query(application.properties, '$.keyCredentials[*]') as certificate
        union all
        select convert_to(${placePrefix} || (address #>> '{}'), 'UTF8')
        from unnest(array['$.web', '$.spa', '$.publicClient']) as kind,
          jsonb_path_query(application.properties, (kind || '.redirectUris[*]')::jsonpath) as address
        union all
        select convert_to(${placePrefix + devicePlace}, 'UTF8')
        where application.properties -> 'isFallbackPublicClient' = 'true'
      ) as held (bytes)
      where application.tenant_id = ${tenantId} and application.id = named.application_id
        and application.kind = 'application'
        and translate(encode(sha256(held.bytes), 'base64'), '+/=', '-_') = named.name)`
  return new Set(rows.map(({ proof }) => proof))
}

/**
 * A condition for a larger statement: false only when the application has all the secrets. Certificates and addresses are always in doubt, as
 * the transaction that asks may have added them again.
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
